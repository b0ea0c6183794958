// SPDX-License-Identifier: Apache-2.0
//
// Readers: Matrix Market (.mtx), PGM and PPM (.pgm, .ppm, binary, 8 bits), any text; each also compressed (.gz) where
// the program was built with zlib. Malformed content is a std::runtime_error that says what is wrong, and in which
// line; no reader believes a number in the file before it has checked it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "inputs.hpp"

namespace demo {

/// The content of a file, unpacked if its name ends in .gz. \throws std::runtime_error; also for more than 1 GB.
std::string read_file(const std::filesystem::path& path);

/// Coordinate and array format; real, integer or pattern (values 1); symmetric halves are mirrored.
matrix parse_matrix_market(std::string name, const std::string& content);

picture parse_pnm(std::string name, const std::string& content);

}  // namespace demo
