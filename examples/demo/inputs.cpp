// SPDX-License-Identifier: Apache-2.0
#include "inputs.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "read_files.hpp"

namespace fs = std::filesystem;

namespace demo {
namespace {

std::vector<std::uint8_t> bytes_of(const std::string& s) { return {s.begin(), s.end()}; }

/// The files in a folder and below it, in the order of their names.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
  while (!error && it != end) {
    std::error_code unknown;
    if (it->is_regular_file(unknown) && !unknown) files.push_back(it->path());
    it.increment(error);
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A file as one text, a folder as one text of all files below it.
text text_of(const fs::path& path) {
  std::string content;
  if (fs::is_directory(path))
    for (const fs::path& file : files_below(path)) content += read_file(file);
  else
    content = read_file(path);
  return {path.filename().string() + (fs::is_directory(path) ? " (sources)" : ""), bytes_of(content)};
}

/// The 5-point Laplace operator on a side x side grid, row by row.
matrix poisson(int side) {
  matrix m;
  m.name = "Poisson " + std::to_string(side) + " x " + std::to_string(side);
  m.rows = m.cols = std::int64_t(side) * side;
  m.offsets.push_back(0);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const auto add = [&](int dx, int dy, double value) {
        if (x + dx < 0 || x + dx >= side || y + dy < 0 || y + dy >= side) return;
        m.columns.push_back((y + dy) * side + x + dx);
        m.values.push_back(value);
      };
      add(0, -1, -1);
      add(-1, 0, -1);
      add(0, 0, 4);
      add(1, 0, -1);
      add(0, 1, -1);
      m.offsets.push_back(int(m.columns.size()));
    }
  return m;
}

/// Three lit spheres over a chequered floor.
picture spheres(int width, int height) {
  picture p{"spheres " + std::to_string(width) + " x " + std::to_string(height), width, height, 3, {}};
  p.samples.reserve(std::size_t(width) * std::size_t(height) * 3);
  struct sphere {
    double x, y, z, radius, colour[3];
  };
  const sphere scene[] = {{-1.2, 0.0, 5.0, 1.0, {1.0, 0.3, 0.2}},
                          {0.9, -0.2, 4.0, 0.8, {0.3, 0.9, 0.3}},
                          {0.2, 0.5, 7.0, 1.5, {0.3, 0.4, 1}}};
  const double light[] = {-0.5, 0.7, -0.5};
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      const double dx = (column - width / 2.0) / height, dy = (height / 2.0 - row) / height, dz = 1;
      const double length = std::sqrt(dx * dx + dy * dy + dz * dz), ux = dx / length, uy = dy / length,
                   uz = dz / length;
      double nearest = 1e9, colour[3] = {0.5, 0.7 + 0.3 * uy, 1.0};
      if (uy < 0) {  // the floor, at y = -1
        nearest = -1 / uy;
        const bool dark = (std::llround(ux * nearest) + std::llround(uz * nearest)) % 2 != 0;
        for (double& c : colour) c = (dark ? 0.2 : 0.8) / (1 + 0.02 * nearest);
      }
      for (const sphere& s : scene) {
        const double along = ux * s.x + uy * s.y + uz * s.z;
        const double inside = along * along - (s.x * s.x + s.y * s.y + s.z * s.z - s.radius * s.radius);
        const double t = inside < 0 ? 1e9 : along - std::sqrt(inside);
        if (t >= nearest) continue;
        nearest = t;
        const double nx = (t * ux - s.x) / s.radius, ny = (t * uy - s.y) / s.radius, nz = (t * uz - s.z) / s.radius;
        const double lit = std::max(0.15, nx * light[0] + ny * light[1] + nz * light[2]);
        for (int c = 0; c < 3; ++c) colour[c] = lit * s.colour[c];
      }
      for (const double c : colour) p.samples.push_back(std::uint8_t(255 * std::clamp(c, 0.0, 1.0)));
    }
  return p;
}

void largest_first(inputs& in) {
  const auto sort = [](auto& list, auto size) {
    std::stable_sort(list.begin(), list.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
  };
  sort(in.texts, [](const text& t) { return t.bytes.size(); });
  sort(in.matrices, [](const matrix& m) { return m.values.size(); });
  sort(in.pictures, [](const picture& p) { return p.samples.size(); });
}

}  // namespace

inputs default_inputs() {
  inputs in;
  const std::string list = DEMO_TEXTS;  // paths, separated by |
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t to = std::min(list.find('|', from), list.size());
    const fs::path path = list.substr(from, to - from);
    try {
      if (text t = text_of(path); !t.bytes.empty()) in.texts.push_back(std::move(t));
    } catch (const std::exception& e) {  // the sources have moved since the program was built
      in.skipped.push_back(path.string() + ": " + e.what());
    }
    from = to + 1;
  }
  in.matrices.push_back(poisson(512));
  in.pictures.push_back(spheres(1920, 1080));
  largest_first(in);
  return in;
}

inputs inputs_from(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw std::runtime_error(folder + " is not a folder");
  inputs in;
  std::map<std::string, int> others;
  for (const fs::path& path : files_below(folder)) {
    const std::string name = path.lexically_relative(folder).string();
    const std::string kind = (path.extension() == ".gz" ? path.stem() : path).extension().string();
    try {
      if (kind == ".mtx") {
        in.matrices.push_back(parse_matrix_market(name, read_file(path)));
      } else if (kind == ".pgm" || kind == ".ppm") {
        in.pictures.push_back(parse_pnm(name, read_file(path)));
      } else if (kind == ".txt") {
        text t{name, bytes_of(read_file(path))};
        if (t.bytes.empty()) throw std::runtime_error("empty");
        in.texts.push_back(std::move(t));
      } else {
        ++others[kind.empty() ? "no ending" : kind];
      }
    } catch (const std::exception& e) {
      in.skipped.push_back(name + ": " + e.what());
    }
  }
  for (const auto& [kind, count] : others) in.not_read += " " + kind + " (" + std::to_string(count) + ")";
  largest_first(in);
  return in;
}

}  // namespace demo
