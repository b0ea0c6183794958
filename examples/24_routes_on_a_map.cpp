// SPDX-License-Identifier: Apache-2.0
//
// The shortest way through a map, by breadth-first search: free places are vertices, neighbours have edges. Reads a binary
// PGM file of 8 bits, in which dark is wall; without one it builds walls with gates. Goes from the first free place to
// the farthest, and draws the way: bright, on a background that darkens with the distance.
// usage: 24_routes_on_a_map [map.pgm [route.pgm]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/memory/csr_graph.hpp>

struct picture {
  int width = 61, height = 21;
  std::vector<std::uint8_t> samples;
};
picture read(const char* path) {
  picture p;
  std::ifstream file(path, std::ios::binary);
  char magic[3] = {};
  int most = 0;
  file.read(magic, 2) >> p.width >> p.height >> most;
  const bool ok = file && magic[0] == 'P' && magic[1] == '5' && most == 255 && p.width > 0 && p.height > 0;
  file.get();
  if (ok) p.samples.resize(std::size_t(p.width) * std::size_t(p.height));
  if (!ok || !file.read(reinterpret_cast<char*>(p.samples.data()), std::streamsize(p.samples.size())))
    throw std::runtime_error(std::string(path) + " is no binary PGM file of 8 bits");
  return p;
}
picture walls_with_gates() {
  picture p;
  for (int y = 0; y < p.height; ++y)
    for (int x = 0; x < p.width; ++x) p.samples.push_back(x % 6 == 5 && y != x / 6 * 13 % p.height ? 0 : 255);
  return p;
}

int main(int argc, char** argv) try {
  picture map = argc > 1 ? read(argv[1]) : walls_with_gates();
  const int places = map.width * map.height;
  const auto is_free = [&](int place) { return map.samples[std::size_t(place)] >= 128; };
  std::vector<pmpp::edge<>> steps;
  for (int i = 0; i < places; ++i) {
    if (is_free(i) && i % map.width + 1 < map.width && is_free(i + 1)) steps.push_back({i, i + 1});
    if (is_free(i) && i + map.width < places && is_free(i + map.width)) steps.push_back({i, i + map.width});
  }
  int start = 0;
  while (start < places && !is_free(start)) ++start;
  if (start == places) throw std::runtime_error("the map has no free place");
  // [route]
  const pmpp::device_csr_graph graph(pmpp::csr_graph<>::from_edges(places, steps, pmpp::edges::both_ways));
  pmpp::device_buffer<int> distances(places), parents(places);
  pmpp::bfs(pmpp::device, pmpp::undirected(graph), start, distances, parents);
  const std::vector<int> distance = pmpp::to_host(distances), parent = pmpp::to_host(parents);
  const auto farthest = std::max_element(distance.begin(), distance.end());
  std::vector<int> route{int(farthest - distance.begin())};
  while (route.back() != start) route.push_back(parent[std::size_t(route.back())]);
  // [end]
  for (int i = 0; i < places; ++i)
    if (is_free(i)) map.samples[std::size_t(i)] = std::uint8_t(200 - 150 * distance[std::size_t(i)] / (*farthest + 1));
  for (const int place : route) map.samples[std::size_t(place)] = 255;
  if (argc > 2)
    std::ofstream(argv[2], std::ios::binary) << "P5\n"
                                             << map.width << ' ' << map.height << "\n255\n"
                                             << std::string(map.samples.begin(), map.samples.end());
  for (std::size_t i = 0; i < map.samples.size() && map.width <= 120; ++i)
    std::printf("%c%s",
                map.samples[i] == 255 ? '*'
                : map.samples[i] < 50 ? '#'
                                      : ' ',
                (int(i) + 1) % map.width == 0 ? "\n" : "");
  std::printf("%d steps\n", *farthest);
  return int(route.size()) == *farthest + 1 ? 0 : 1;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 1;
}
