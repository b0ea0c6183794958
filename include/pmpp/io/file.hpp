// SPDX-License-Identifier: Apache-2.0
//
// Files, whole: for the formats beside this one.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A file, closed at the end of its scope.
class file {
public:
  file(const std::string& path, const char* mode) : path_(path), handle_(std::fopen(path.c_str(), mode)) {
    if (handle_ == nullptr) throw std::runtime_error(path + ": cannot be opened");
  }
  ~file() {
    if (handle_ != nullptr) std::fclose(handle_);
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  std::string read() {
    std::string text;
    char piece[65536];
    for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, handle_)) > 0;) text.append(piece, got);
    if (std::ferror(handle_) != 0) throw std::runtime_error(path_ + ": cannot be read");
    return text;
  }
  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), handle_) != text.size()) fail_to_write();
  }
  /// What is written may fail as late as here.
  void close() {
    if (std::fclose(std::exchange(handle_, nullptr)) != 0) fail_to_write();
  }

private:
  [[noreturn]] void fail_to_write() const { throw std::runtime_error(path_ + ": cannot be written"); }

  std::string path_;
  std::FILE* handle_;
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
