// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of io/png.hpp: pictures of 8 and 16 bits come back as they were written, grey and coloured, from
// views with strides too; files of every depth and kind of colour, interlaced or not, are read as libpng's own functions
// wrote them; what is wrong with a file is said with a byte; files that are cut off anywhere, files with bytes changed at
// random, and headers that promise pictures of 2^62 pixels are refused without taking memory for them.
#include "support/data.hpp"

#include <doctest/doctest.h>

#if !TEST_HAS_PNG
TEST_CASE("PNG files") { MESSAGE("skipped: built without libpng"); }
#else
#include <pmpp/io/png.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include "support/mutants.hpp"
#include "support/pictures.hpp"

using pmpp::image;
using pmpp::matrix_view;
using pmpp::rgb;
using test::random_picture;

namespace {

using byte = std::uint8_t;
using word = std::uint16_t;

template <class Pixel>
void check_round_trip(std::int64_t width, std::int64_t height) {
  const auto p = random_picture<Pixel>(width, height);
  const auto again = pmpp::parse_png<Pixel>(pmpp::to_png(p));
  CHECK(again.width == width);
  CHECK(again.height == height);
  CHECK(again.pixels == p.pixels);
}

/// A file of any kind, written by libpng's low-level functions; sample i of a row has the value value(y, i).
template <class F>
std::string written(int width, int height, int bits, int colours, int interlace, F value, bool transparent = false) {
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &out,
      [](png_structp p, png_bytep data, std::size_t n) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), n);
      },
      nullptr);
  png_set_IHDR(png, info, png_uint_32(width), png_uint_32(height), bits, colours, interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[256]{};
  for (int i = 0; i < 256; ++i) palette[i] = {png_byte(i), png_byte(255 - i), png_byte(i / 2)};
  if (colours == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 1 << bits);
  const png_byte alpha[2] = {0, 128};
  if (transparent) png_set_tRNS(png, info, alpha, 2, nullptr);
  png_write_info(png, info);
  const int channels = png_get_channels(png, info);
  std::vector<std::vector<png_byte>> rows(std::size_t(height), std::vector<png_byte>(png_get_rowbytes(png, info)));
  std::vector<png_bytep> pointers;
  for (int y = 0; y < height; ++y) {
    png_byte* row = rows[std::size_t(y)].data();
    for (int i = 0; i < width * channels; ++i) {
      const unsigned v = value(y, i) & ((1u << bits) - 1);
      if (bits == 16) {
        row[2 * i] = png_byte(v >> 8);
        row[2 * i + 1] = png_byte(v);
      } else {
        row[i * bits / 8] = png_byte(row[i * bits / 8] | v << (8 - bits - i * bits % 8));
      }
    }
    pointers.push_back(row);
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

unsigned pattern(int y, int i) { return unsigned(y * 7919 + i * 104729 + y * i * 31) >> 3; }

/// What parse_png says of a file.
template <class Pixel = byte>
std::string refusal(std::string_view content) {
  try {
    pmpp::parse_png<Pixel>(content, "file");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

/// Reads a file that may be anything. True if it was read.
bool survives(const std::string& content) {
  // A copy that ends where the content does, so that a sanitizer sees reads after it.
  const std::vector<char> exact(content.begin(), content.end());
  try {
    const auto p = pmpp::parse_png<rgb<byte>>(std::string_view(exact.data(), exact.size()), "file");
    CHECK(p.pixels.size() == static_cast<std::size_t>(p.width * p.height));
    CHECK(p.pixels.size() <= content.size() * 1032 * 8);
    return true;
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()).starts_with("file: byte "));
    CHECK(test::fit_for_a_log(e.what()));
    return false;
  }
}

/// The checksum of a chunk.
std::uint32_t crc(std::string_view bytes) {
  std::uint32_t c = 0xffffffffu;
  for (const char b : bytes) {
    c ^= static_cast<unsigned char>(b);
    for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
  }
  return ~c;
}
void put32(std::string& s, std::size_t at, std::uint32_t x) {
  for (int k = 0; k < 4; ++k) s[at + std::size_t(k)] = static_cast<char>(x >> (24 - 8 * k));
}
/// The file with another size in its header, which stands at byte 16; its checksum fits.
std::string resized(std::string file, std::uint32_t width, std::uint32_t height) {
  put32(file, 16, width);
  put32(file, 20, height);
  put32(file, 29, crc(std::string_view(file).substr(12, 17)));
  return file;
}

}  // namespace

TEST_CASE("pictures come back as they were written") {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {10, 1}, {11, 3}, {300, 70}}) {
    check_round_trip<byte>(width, height);
    check_round_trip<word>(width, height);
    check_round_trip<rgb<byte>>(width, height);
    check_round_trip<rgb<word>>(width, height);
  }
}

TEST_CASE("views with strides, fractions") {
  const auto p = random_picture<byte>(20, 10);
  const matrix_view<const byte> part(p.pixels.data() + 3, 5, 7, 20);
  const auto again = pmpp::parse_png<byte>(pmpp::to_png(part));
  for (std::int64_t y = 0; y < 5; ++y)
    for (std::int64_t x = 0; x < 7; ++x) CHECK(again.view()(y, x) == part(y, x));

  const image<float> f{4, 1, {-1.0f, 0.25f, 1.0f, 7.0f}};
  CHECK(pmpp::parse_png<word>(pmpp::to_png(f)).pixels == std::vector<word>{0, 16384, 65535, 65535});
  CHECK(pmpp::parse_png<byte>(pmpp::to_png(f)).pixels == std::vector<byte>{0, 64, 255, 255});
  CHECK(pmpp::parse_png<double>(pmpp::to_png(image<byte>{3, 1, {0, 51, 255}})).pixels ==
        std::vector<double>{0, 0.2, 1});
  CHECK(pmpp::parse_png<rgb<byte>>(pmpp::to_png(image<byte>{1, 1, {9}})).pixels[0] == rgb<byte>{9, 9, 9});
}

TEST_CASE("every depth and kind of colour, interlaced or not") {
  const int width = 13, height = 11;
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    for (const int bits : {1, 2, 4, 8, 16}) {
      const unsigned full = (1u << bits) - 1;
      const auto p =
          pmpp::parse_png<word>(written(width, height, bits, PNG_COLOR_TYPE_GRAY, interlace, pattern), "grey");
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) CHECK(p.view()(y, x) == (pattern(y, x) & full) * (65535 / full));
    }
    for (const int bits : {1, 2, 4, 8})
      for (const bool transparent : {false, true}) {
        const auto file = written(width, height, bits, PNG_COLOR_TYPE_PALETTE, interlace, pattern, transparent);
        const auto p = pmpp::parse_png<rgb<byte>>(file, "palette");
        for (int y = 0; y < height; ++y)
          for (int x = 0; x < width; ++x) {
            const auto i = static_cast<byte>(pattern(y, x) & ((1u << bits) - 1));
            CHECK(p.view()(y, x) == rgb<byte>{i, static_cast<byte>(255 - i), static_cast<byte>(i / 2)});
          }
        CHECK(refusal<byte>(file).find("the picture has colours") != std::string::npos);
      }
    for (const int bits : {8, 16}) {
      const auto at = [=](int y, int i) {
        return static_cast<word>((pattern(y, i) & ((1u << bits) - 1)) * (bits == 8 ? 257 : 1));
      };
      const auto a =
          pmpp::parse_png<word>(written(width, height, bits, PNG_COLOR_TYPE_GRAY_ALPHA, interlace, pattern), "alpha");
      const auto b = pmpp::parse_png<rgb<word>>(written(width, height, bits, PNG_COLOR_TYPE_RGB, interlace, pattern));
      const auto c =
          pmpp::parse_png<rgb<word>>(written(width, height, bits, PNG_COLOR_TYPE_RGB_ALPHA, interlace, pattern));
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
          CHECK(a.view()(y, x) == at(y, 2 * x));
          CHECK(b.view()(y, x) == rgb<word>{at(y, 3 * x), at(y, 3 * x + 1), at(y, 3 * x + 2)});
          CHECK(c.view()(y, x) == rgb<word>{at(y, 4 * x), at(y, 4 * x + 1), at(y, 4 * x + 2)});
        }
    }
  }
}

TEST_CASE("files that are cut off or changed are refused or read, with a byte") {
  const std::string plain = pmpp::to_png(random_picture<rgb<byte>>(9, 7)),
                    laced = written(9, 7, 4, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_ADAM7, pattern);
  for (const std::string& file : {plain, laced}) {
    CHECK(survives(file));
    for (std::size_t n = 0; n < file.size(); ++n) CHECK(!survives(file.substr(0, n)));
    for (int k = 0; k < 3000; ++k) {
      std::string changed = file;
      for (std::uint64_t left = 1 + test::generator()() % 4; left > 0; --left)
        changed[test::generator()() % changed.size()] = static_cast<char>(test::generator()() >> 40);
      survives(changed);
    }
    CHECK(survives(file + "something after the picture"));
  }
}

TEST_CASE("headers that promise more than the file can hold") {
  const std::string file = pmpp::to_png(random_picture<byte>(9, 7));
  CHECK(refusal(resized(file, 9, 7)).empty());
  for (const auto& [width, height] :
       {std::pair{0x7fffffffu, 0x7fffffffu}, {0x7fffffffu, 1u}, {1u, 0x7fffffffu}, {60000u, 60000u}}) {
    const std::string said = refusal(resized(file, width, height));
    CHECK_MESSAGE(said.find(std::to_string(width) + " x " + std::to_string(height) + " pixels cannot come from") !=
                      std::string::npos,
                  said);
  }
  CHECK(!refusal(resized(file, 90, 70)).empty());  // could be, but is not
  CHECK(!refusal(resized(file, 0, 7)).empty());
  CHECK(!refusal(resized(file, 0x80000000u, 7)).empty());
}

TEST_CASE("the caller says how many pixels it takes") {
  for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    const auto file = written(300, 200, 1, PNG_COLOR_TYPE_PALETTE, interlace, [](int, int) { return 0u; });
    CHECK(pmpp::parse_png<rgb<byte>>(file, "file", 60000).pixels.size() == 60000);
    CHECK_THROWS_WITH_AS(
        pmpp::parse_png<rgb<byte>>(file, "file", 59999),
        doctest::Contains("300 x 200 pixels are more than the 59999 that the caller takes (most_pixels)"),
        std::runtime_error);
  }
  CHECK_THROWS_AS(pmpp::parse_png<byte>("", "file", -1), std::invalid_argument);
  // 2^30 pixels of one bit in a header of a file that is large enough for them.
  const std::string large = pmpp::to_png(image<byte>{400, 400, std::vector<byte>(160000)}) + std::string(1 << 18, 'x');
  CHECK(refusal(resized(large, 16385, 8192)).find("pixels are more than the 134217728") != std::string::npos);
}

TEST_CASE("what is not the picture takes no memory") {
  const std::string plain = pmpp::to_png(random_picture<byte>(9, 7));
  // A text of 4 MB, which is 4 KB in the file, 50 times, in front of the picture.
  std::string file;
  {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(
        png, &file,
        [](png_structp p, png_bytep data, std::size_t n) {
          static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), n);
        },
        nullptr);
    png_set_IHDR(png, info, 9, 7, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    std::string text(4 << 20, 'a'), key = "Comment";
    png_text one{};
    one.compression = PNG_TEXT_COMPRESSION_zTXt;
    one.key = key.data();
    one.text = text.data();
    one.text_length = text.size();
    png_set_text(png, info, &one, 1);
    png_write_info(png, info);
    png_destroy_write_struct(&png, &info);
  }
  const std::size_t begin = 33, length = file.size() - begin;  // after signature and header
  std::string bomb = plain.substr(0, begin);
  for (int i = 0; i < 50; ++i) bomb += file.substr(begin, length);
  bomb += plain.substr(begin);
  CHECK(bomb.size() < 300000);
  const auto peak = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;  // KiB
  };
  const long before = peak();
  CHECK(pmpp::parse_png<byte>(bomb).pixels == pmpp::parse_png<byte>(plain).pixels);
  CHECK(peak() - before < 64 * 1024);  // not 200 MB
}

TEST_CASE("what is not a PNG file") {
  CHECK(refusal("") == "file: byte 0: the file ends before its picture");
  CHECK(refusal("P5 1 1 255\n.") == "file: byte 8: Not a PNG file");
  CHECK_THROWS_AS(pmpp::read_png<byte>("/nowhere/at.png"), std::runtime_error);
  CHECK_THROWS_AS(pmpp::to_png(image<byte>{}), std::invalid_argument);
  const byte one = 1;
  CHECK_THROWS_AS(pmpp::to_png(matrix_view<const byte>(&one, std::int64_t(1) << 31, 1)), std::invalid_argument);

  const char* folder = std::getenv("PMPP_TEST_DATA_DIR");
  if (folder == nullptr) {
    MESSAGE("skipped: PMPP_TEST_DATA_DIR is not set");
    return;
  }
  for (const char* part : {"malformed", "small", "photos"})
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / part))
      CHECK_THROWS_AS(pmpp::read_png<byte>(entry.path().string()), std::runtime_error);
}

TEST_CASE("files") {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / "pmpp_test_photo.png").string(), copy = (folder / "pmpp_test_copy.png").string();
  const auto original = random_picture<rgb<byte>>(31, 17);
  pmpp::write_png(path, original);
  // [png]
  const pmpp::image<pmpp::rgb<std::uint8_t>> photo = pmpp::read_png<pmpp::rgb<std::uint8_t>>(path);
  pmpp::write_png(copy, photo);
  // [end]
  CHECK(photo.pixels == original.pixels);
  CHECK(pmpp::read_png<rgb<byte>>(copy).pixels == original.pixels);
  std::filesystem::remove(path);
  std::filesystem::remove(copy);
  CHECK_THROWS_AS(pmpp::write_png("/nowhere/at.png", photo), std::runtime_error);
}
#endif
