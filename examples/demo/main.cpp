// SPDX-License-Identifier: Apache-2.0
//
// The demonstration: runs every primitive of the library on real input, on every policy that this program has, checks
// each result against a plain loop and prints a table of times.
//
//   demo            texts of this library, a Poisson matrix, a picture that the program makes itself
//   demo FOLDER     the matrices (.mtx), pictures (.pgm, .ppm) and texts (.txt) in FOLDER and below it, also as .gz
//
// Exit status: 0 when every result is right, 1 when one is wrong, 2 when there is no input, 77 when a program for CUDA
// finds no GPU.
#include <cstdio>
#include <exception>
#include <string>

#include <pmpp/core/version.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/occupancy.hpp>

#include "inputs.hpp"
#include "primitives.hpp"
#include "table.hpp"

namespace {

std::string name_of_device() {
  try {
    return pmpp::device_info().name;
  } catch (const pmpp::cuda_error& e) {
    std::printf("skipped: no GPU that this program can use: %s\n", e.what());
    return {};
  }
}

int show(const demo::inputs& in, const std::string& device) {
  const int threads = static_cast<int>(pmpp::host_loop::thread_count(pmpp::host));
  std::printf("pmpp %d.%d.%d; seq: one thread; host: %d thread%s; %s\n", pmpp::version_major, pmpp::version_minor,
              pmpp::version_patch, threads, threads == 1 ? "" : "s",
              PMPP_CUDA ? ("device: " + device).c_str() : "no CUDA in this program: device is the emulator");
  std::printf("%zu texts, %zu matrices, %zu pictures\n", in.texts.size(), in.matrices.size(), in.pictures.size());
  for (const std::string& file : in.skipped) std::printf("skipped %s\n", file.c_str());
  if (!in.not_read.empty()) std::printf("files of other kinds, not read:%s\n", in.not_read.c_str());
  std::printf("\n");
  if (in.texts.empty() && in.matrices.empty() && in.pictures.empty()) {
    std::printf("there is nothing to work on\n");
    return 2;
  }
  demo::table out;
  for (const auto show_primitive : demo::shown) show_primitive(in, out);
  return out.finish() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string device = name_of_device();
  if (device.empty()) return 77;
  return show(argc > 1 ? demo::inputs_from(argv[1]) : demo::default_inputs(), device);
} catch (const std::exception& e) {
  std::fprintf(stderr, "demo: %s\n", e.what());
  return 2;
}
