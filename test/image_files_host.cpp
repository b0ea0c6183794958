// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of io/image.hpp: pictures of 8 and 16 bits come back as they were written, binary and as text,
// grey and coloured, from views with strides too; every kind of header that the format allows is read, samples are scaled
// to the range of the type; what is wrong with a file is said with its byte; files that are cut off anywhere, and files
// with bytes changed at random, are read or refused, without crashing or taking more memory than they have samples for;
// real photographs are read, in PMPP_TEST_DATA_DIR.
#include <pmpp/io/image.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/data.hpp"
#include "support/mutants.hpp"
#include "support/pictures.hpp"
#if TEST_HAS_ZLIB
#include <zlib.h>
#endif

using pmpp::image;
using pmpp::matrix_view;
using pmpp::netpbm;
using pmpp::rgb;
using test::random_picture;

namespace {

using byte = std::uint8_t;
using word = std::uint16_t;

template <class Pixel>
void check_round_trip(std::int64_t width, std::int64_t height) {
  const auto p = random_picture<Pixel>(width, height);
  for (const netpbm how : {netpbm::binary, netpbm::text}) {
    const auto content = pmpp::to_netpbm(p, how);
    const auto again = pmpp::parse_image<Pixel>(content);
    CHECK(again.width == width);
    CHECK(again.height == height);
    CHECK(again.pixels == p.pixels);
    if (how == netpbm::text) {
      std::size_t longest = 0, begin = 0;
      for (std::size_t end; (end = content.find('\n', begin)) != std::string::npos; begin = end + 1)
        longest = std::max(longest, end - begin);
      CHECK(longest <= 70);
    }
  }
}

/// What parse_image says of a file.
template <class Pixel = byte>
std::string refusal(std::string_view content) {
  try {
    pmpp::parse_image<Pixel>(content, "file");
  } catch (const std::runtime_error& e) {
    CHECK(test::fit_for_a_log(e.what()));
    return e.what();
  }
  return "";
}

/// Reads a file that may be anything. True if it was read.
template <class Pixel>
bool survives(const std::string& content) {
  // A copy that ends where the content does, so that a sanitizer sees reads after it.
  const std::vector<char> exact(content.begin(), content.end());
  try {
    const auto p = pmpp::parse_image<Pixel>(std::string_view(exact.data(), exact.size()), "file");
    CHECK(p.width > 0);
    CHECK(p.height > 0);
    CHECK(p.pixels.size() == static_cast<std::size_t>(p.width * p.height));
    CHECK(p.pixels.size() <= content.size());
    return true;
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()).starts_with("file: byte "));
    CHECK(test::fit_for_a_log(e.what()));
    return false;
  }
}

#if TEST_HAS_ZLIB
std::string unpacked(const std::filesystem::path& path) {
  std::string content;
  char piece[65536];
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  for (int got; (got = gzread(file, piece, sizeof piece)) > 0;) content.append(piece, static_cast<std::size_t>(got));
  gzclose(file);
  return content;
}
#endif

}  // namespace

TEST_CASE("pictures come back as they were written") {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {10, 1}, {11, 3}, {64, 7}}) {
    check_round_trip<byte>(width, height);
    check_round_trip<word>(width, height);
    check_round_trip<rgb<byte>>(width, height);
    check_round_trip<rgb<word>>(width, height);
  }
  const auto p = random_picture<byte>(12, 8);
  const auto turned = pmpp::parse_image<byte>(pmpp::to_netpbm(transposed(p.view())));
  CHECK(turned.width == 8);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 12; ++x) CHECK(turned.view()(x, y) == p.view()(y, x));
}

TEST_CASE("files") {
  const std::string path = (std::filesystem::temp_directory_path() / "pmpp_image_test.ppm").string();
  const auto p = random_picture<rgb<byte>>(20, 10);
  pmpp::write_image(path, p);
  CHECK(pmpp::read_image<rgb<byte>>(path).pixels == p.pixels);
  pmpp::write_image(path, p.view().subview(2, 3, 4, 5), netpbm::text);
  CHECK(pmpp::read_image<rgb<byte>>(path).pixels[0] == p.view()(2, 3));
  std::remove(path.c_str());
  CHECK_THROWS_WITH_AS(pmpp::read_image<byte>(path), (path + ": cannot be opened").c_str(), std::runtime_error);
  CHECK_THROWS_AS(pmpp::write_image("/no such folder/x.pgm", random_picture<byte>(2, 2)), std::runtime_error);
  CHECK_THROWS_AS(pmpp::to_netpbm(matrix_view<const byte>()), std::invalid_argument);
}

TEST_CASE("every header that the format allows") {
  const std::vector<byte> wanted = {1, 2, 3, 4, 5, 6};
  for (const char* text :
       {"P2 3 2 255 1 2 3 4 5 6", "P2\n# a comment\n3 2\n#\n255\n1 2 3\n4 5 6\n",
        "P2#c\r\n3 2# 9 9\n255\r\n1 2 3 # not a sample 7\n4\t5\v6 # the end", "P2 003 02 0255\n01 2 3 4 5 006"}) {
    const auto p = pmpp::parse_image<byte>(text);
    CHECK(p.width == 3);
    CHECK(p.height == 2);
    CHECK(p.pixels == wanted);
  }
  CHECK(pmpp::parse_image<byte>("P5 3 2 255 \1\2\3\4\5\6").pixels == wanted);
  CHECK(pmpp::parse_image<byte>("P5 3 2 255 \1\2\3\4\5\6\n").pixels == wanted);
  CHECK(pmpp::parse_image<byte>("P5 2 1 255\n#\n").pixels == std::vector<byte>{'#', '\n'});  // no comment
  CHECK(pmpp::parse_image<word>(std::string_view("P5 2 1 65535\n\1\2\xff\0", 17)).pixels ==
        std::vector<word>{0x0102, 0xff00});
}

TEST_CASE("samples are scaled to the type's range, grey files are read as rgb") {
  CHECK(pmpp::parse_image<byte>("P2 4 1 15 0 1 7 15").pixels == std::vector<byte>{0, 17, 119, 255});
  CHECK(pmpp::parse_image<byte>("P2 3 1 65535 0 32768 65535").pixels == std::vector<byte>{0, 128, 255});
  CHECK(pmpp::parse_image<word>("P2 3 1 255 0 1 255").pixels == std::vector<word>{0, 257, 65535});
  CHECK(pmpp::parse_image<float>("P2 3 1 4 0 1 4").pixels == std::vector<float>{0, 0.25f, 1});
  CHECK(pmpp::parse_image<rgb<byte>>("P2 1 1 255 9").pixels == std::vector<rgb<byte>>{{9, 9, 9}});
  CHECK(pmpp::parse_image<rgb<double>>("P3 1 1 2 0 1 2").pixels == std::vector<rgb<double>>{{0, 0.5, 1}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> bright = {-1, 0, 0.5f, 1, 7, nan};
  CHECK(pmpp::parse_image<word>(pmpp::to_netpbm(matrix_view<const float>(bright.data(), 1, 6))).pixels ==
        std::vector<word>{0, 0, 32768, 65535, 65535, 0});
}

TEST_CASE("what is wrong is said, with the byte") {
  CHECK(refusal("") == "file: byte 0: a PGM or PPM file begins with P2, P3, P5 or P6");
  CHECK(refusal("GIF89a") == "file: byte 0: a PGM or PPM file begins with P2, P3, P5 or P6");
  CHECK(refusal("P4 1 1 \1") == "file: byte 0: P4 is a bitmap, which is not read");
  CHECK(refusal("P7\n") == "file: byte 0: P7 is a PAM file, which is not read");
  CHECK(refusal("P3 1 1 255 1 2 3") ==
        "file: byte 0: the picture has colours; read it as rgb and let rgb_to_gray make it grey");
  CHECK(refusal("P5") == "file: byte 2: the file ends before the width");
  CHECK(refusal("P53 2 255 ") == "file: byte 2: no white space before the width");
  CHECK(refusal("P5 x") == "file: byte 3: the width is not a number");
  CHECK(refusal("P5 -3 2 255 ") == "file: byte 3: the width is -3, outside of [1, 2147483647]");
  CHECK(refusal("P5 3 0 255 ") == "file: byte 5: the height is 0, outside of [1, 2147483647]");
  CHECK(refusal("P5 99999999999999999999 1 255 ") ==
        "file: byte 3: the width is 99999999999999999999, outside of [1, 2147483647]");
  CHECK(refusal("P5 1 1 65536 ") == "file: byte 7: the sample of full brightness is 65536, outside of [1, 65535]");
  CHECK(refusal("P5 1 1 255") == "file: byte 10: the file ends before its samples");
  CHECK(refusal("P5 1 1 255x") == "file: byte 10: white space stands between header and samples");
  CHECK(refusal("P5 3 2 255 12345") == "file: byte 11: 3 x 2 pixels do not fit into the 5 bytes that are left");
  CHECK(refusal<rgb<byte>>("P6 1 2 255 12345") ==
        "file: byte 11: 1 x 2 pixels do not fit into the 5 bytes that are left");
  CHECK(refusal("P5 2147483647 2147483647 65535 1") ==
        "file: byte 31: 2147483647 x 2147483647 pixels do not fit into the 1 bytes that are left");
  CHECK(refusal("P2 100000 100000 255 1 2 3") ==
        "file: byte 21: 100000 x 100000 pixels do not fit into the 5 bytes that are left");
  CHECK(refusal("P5 1 1 255 12") == "file: byte 12: there is more than the samples of one picture");
  CHECK(refusal("P5 1 1 99 z") == "file: byte 10: a sample is 122, above full brightness, 99");
  CHECK(refusal("P2 2 1 99 1 100") == "file: byte 12: a sample is 100, outside of [0, 99]");
  CHECK(refusal("P2 2 1 99 1 2.5") == "file: byte 13: a sample is not a number");
  CHECK(refusal("P2 2 1 99 1    ") == "file: byte 15: the file ends before a sample");
}

TEST_CASE("files that are cut off anywhere, and files with bytes changed") {
  const auto gray = random_picture<byte>(7, 5);
  const auto colours = random_picture<rgb<word>>(4, 3);
  const std::string files[] = {pmpp::to_netpbm(gray), pmpp::to_netpbm(gray, netpbm::text), pmpp::to_netpbm(colours),
                               pmpp::to_netpbm(colours, netpbm::text),
                               "P2 # comment\n4 # another\n2 255\n1 2 3 4 # rows\n5 6 7 8\n"};
  const auto judge = [](const std::string& content) {
    survives<byte>(content);
    survives<rgb<word>>(content);
    survives<float>(content);
  };
  for (const std::string& whole : files) {
    CHECK(survives<rgb<word>>(whole));
    const std::size_t last = whole.find_last_not_of(" \n");
    for (std::size_t n = 0; n < whole.size(); ++n) {
      judge(whole.substr(0, n));
      if (n + 1 < last && n < 20) CHECK(!survives<rgb<word>>(whole.substr(0, n)));
    }
    for (int round = 0; round < 1000; ++round) judge(test::mutant(whole));
  }
}

TEST_CASE("photographs") {
  const char* folder = std::getenv("PMPP_TEST_DATA_DIR");
  if (folder == nullptr || !TEST_HAS_ZLIB) {
    MESSAGE("skipped: PMPP_TEST_DATA_DIR is not set, or there is no zlib");
    return;
  }
#if TEST_HAS_ZLIB
  const auto photos = std::filesystem::path(folder) / "photos";
  const std::string camera = unpacked(photos / "camera.pgm.gz"), coffee = unpacked(photos / "coffee.ppm.gz");
  const auto gray = pmpp::parse_image<byte>(camera, "camera.pgm");
  CHECK(gray.width == 512);
  CHECK(gray.height == 512);
  CHECK(pmpp::to_netpbm(gray).substr(15) == camera.substr(15));
  const auto cup = pmpp::parse_image<rgb<byte>>(coffee, "coffee.ppm");
  CHECK(cup.width == 600);
  CHECK(cup.height == 400);
  CHECK(pmpp::to_netpbm(cup) == coffee);
  CHECK(pmpp::parse_image<rgb<byte>>(pmpp::to_netpbm(cup, netpbm::text)).pixels == cup.pixels);
  CHECK_THROWS_AS(pmpp::parse_image<byte>(coffee), std::runtime_error);
#endif
}
