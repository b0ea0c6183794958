// SPDX-License-Identifier: Apache-2.0
//
// The input of the demonstration: texts, sparse matrices and pictures, in host memory, the largest of each kind first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

struct text {
  std::string name;
  std::vector<std::uint8_t> bytes;  ///< at least one
};

/// A sparse matrix in compressed rows; see pmpp::csr_view. All values are finite.
struct matrix {
  std::string name;
  std::int64_t rows = 0, cols = 0;
  std::vector<int> offsets;  ///< rows + 1
  std::vector<int> columns;
  std::vector<double> values;
};

struct picture {
  std::string name;
  int width = 0, height = 0, channels = 0;  ///< 1: grey, 3: red, green, blue, interleaved
  std::vector<std::uint8_t> samples;        ///< height * width * channels
};

struct inputs {
  std::vector<text> texts;
  std::vector<matrix> matrices;
  std::vector<picture> pictures;
  std::vector<std::string> skipped;  ///< "file: reason"
  std::string not_read;              ///< files of other kinds, in one sentence
};

/// The input that needs no folder: texts of this library, a Poisson matrix, a picture of spheres.
inputs default_inputs();

/// All that can be read in `folder` and below it. A file that is malformed ends up in `skipped`, with the reason.
/// \throws std::runtime_error if there is no such folder.
inputs inputs_from(const std::string& folder);

}  // namespace demo
