// SPDX-License-Identifier: Apache-2.0
//
// PGM and PPM files: grey and coloured pictures, a short header and the samples row by row.
//
//   P5                        P2, P5: grey, as text or binary; P3, P6: red, green, blue
//   # comments, in the header and between the samples of a text
//   640 480 255               width, height, the sample of full brightness; then one byte of white space
//   ...                       samples of one byte, or of two (the high byte first) if that is above 255
//
//   auto p = pmpp::read_image<pmpp::rgb<std::uint8_t>>("photo.ppm");     // image: width, height, pixels
//   pmpp::device_buffer<pmpp::rgb<std::uint8_t>> there{p.pixels};
//   pmpp::write_image("copy.ppm", p);                                    // binary; or netpbm::text
//
// The type of pixel says what the caller wants: a grey file may be read as rgb, a coloured one not as grey (rgb_to_gray
// does that). Samples are scaled from the file's brightness to the type's: 8 bits to 0 ... 255, 16 bits to 0 ... 65535,
// float and double to 0 ... 1. Not read: bitmaps (P1, P4), PAM (P7), several pictures in one file. PNG is
// read by io/png.hpp. What is wrong with a file is a std::runtime_error "NAME: byte OFFSET: reason". Memory is taken only
// for samples that the file has. (J. Poskanzer and others, the netpbm formats.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/io/file.hpp>
#include <pmpp/io/lines.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A picture in the host's memory: `height` rows of `width` pixels.
template <class Pixel>
struct image {
  std::int64_t width = 0, height = 0;
  std::vector<Pixel> pixels;

  matrix_view<Pixel> view() { return {pixels.data(), height, width}; }
  matrix_view<const Pixel> view() const { return {pixels.data(), height, width}; }
};

/// How samples are written.
enum class netpbm { binary, text };

namespace detail {

template <class Pixel>
struct sample_of_pixel {
  using type = Pixel;
  static constexpr int channels = 1;
};
template <class T>
struct sample_of_pixel<rgb<T>> {
  using type = T;
  static constexpr int channels = 3;
};

template <class T>
inline constexpr bool is_sample =
    std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> || std::is_floating_point_v<T>;

/// A sample of a file whose full brightness is `full`.
template <class T>
T scaled_sample(std::uint32_t value, std::uint32_t full) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value) / static_cast<T>(full);
  } else {
    constexpr std::uint32_t most = static_cast<T>(-1);
    return static_cast<T>(full == most ? value : (value * most + full / 2) / full);
  }
}

/// A pixel of the type wanted: grey ones have a single sample.
template <class Pixel, class T>
Pixel pixel_of(const T (&c)[3], int channels) {
  if constexpr (sample_of_pixel<Pixel>::channels == 1)
    return c[0];
  else
    return channels == 3 ? Pixel{c[0], c[1], c[2]} : Pixel{c[0], c[0], c[0]};
}

inline constexpr const char* colours_as_grey =
    "the picture has colours; read it as rgb and let rgb_to_gray make it grey";

template <class Pixel>
class netpbm_parser {
  using sample = typename sample_of_pixel<Pixel>::type;
  static constexpr int wanted = sample_of_pixel<Pixel>::channels;

public:
  netpbm_parser(std::string_view content, std::string name) : all_(content), name_(std::move(name)) {}

  image<Pixel> parse() {
    if (all_.size() < 2 || all_[0] != 'P') fail("a PGM or PPM file begins with P2, P3, P5 or P6");
    const char kind = all_[1];
    if (kind == '1' || kind == '4') fail(std::string("P") + kind + " is a bitmap, which is not read");
    if (kind == '7') fail("P7 is a PAM file, which is not read");
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6')
      fail("a PGM or PPM file begins with P2, P3, P5 or P6");
    const int channels = kind == '3' || kind == '6' ? 3 : 1;
    if (channels > wanted) fail(colours_as_grey);
    const bool text = kind < '4';
    at_ = 2;
    image<Pixel> picture;
    picture.width = header_number("the width", 1, 0x7fffffff);
    picture.height = header_number("the height", 1, 0x7fffffff);
    full_ = static_cast<std::uint32_t>(header_number("the sample of full brightness", 1, 65535));
    if (at_ == all_.size()) fail("the file ends before its samples");
    if (!is_blank(all_[at_])) fail("white space stands between header and samples");
    ++at_;
    // No sample of a text has fewer than two bytes, but the last.
    const std::size_t left = all_.size() - at_, bytes = full_ > 255 ? 2 : 1,
                      room = text ? left / 2 + left % 2 : left / bytes;
    const auto width = static_cast<std::size_t>(picture.width), height = static_cast<std::size_t>(picture.height);
    const std::size_t per_row = width * static_cast<std::size_t>(channels);
    if (height > room / per_row)
      fail(std::to_string(picture.width) + " x " + std::to_string(picture.height) + " pixels do not fit into the " +
           std::to_string(left) + " bytes that are left");
    picture.pixels.resize(width * height);
    for (Pixel& p : picture.pixels) {
      sample c[3]{};
      for (int i = 0; i < channels; ++i)
        c[i] = scaled_sample<sample>(text ? text_sample() : binary_sample(bytes), full_);
      p = pixel_of<Pixel>(c, channels);
    }
    skip_blanks(text);
    if (at_ < all_.size()) fail("there is more than the samples of one picture");
    return picture;
  }

private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  void skip_blanks(bool comments) {
    for (; at_ < all_.size() && (is_blank(all_[at_]) || (comments && all_[at_] == '#')); ++at_)
      if (all_[at_] == '#') {
        at_ = min(all_.find_first_of("\r\n", at_), all_.size());
        if (at_ == all_.size()) return;
      }
  }
  /// The number that begins here.
  std::int64_t number(const char* what, std::int64_t least, std::int64_t most) {
    if (at_ == all_.size()) fail(std::string("the file ends before ") + what);
    const auto [value, length, fits] = read_number<std::int64_t>(all_.substr(at_));
    if (length == 0) fail(std::string(what) + " is not a number");
    if (!fits || value < least || value > most)
      fail(std::string(what) + " is " + shown(all_.substr(at_, length)) + ", outside of [" + std::to_string(least) +
           ", " + std::to_string(most) + "]");
    at_ += length;
    return value;
  }
  std::int64_t header_number(const char* what, std::int64_t least, std::int64_t most) {
    if (at_ < all_.size() && !is_blank(all_[at_]) && all_[at_] != '#')
      fail(std::string("no white space before ") + what);
    skip_blanks(true);
    return number(what, least, most);
  }
  std::uint32_t text_sample() {
    skip_blanks(true);
    const auto value = static_cast<std::uint32_t>(number("a sample", 0, full_));
    if (at_ < all_.size() && !is_blank(all_[at_]) && all_[at_] != '#') fail("a sample is not a number");
    return value;
  }
  std::uint32_t binary_sample(std::size_t bytes) {
    std::uint32_t value = static_cast<unsigned char>(all_[at_]);
    if (bytes == 2) value = value << 8 | static_cast<unsigned char>(all_[at_ + 1]);
    if (value > full_)
      fail("a sample is " + std::to_string(value) + ", above full brightness, " + std::to_string(full_));
    at_ += bytes;
    return value;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(name_ + ": byte " + std::to_string(at_) + ": " + reason);
  }

  std::string_view all_;
  std::string name_;
  std::size_t at_ = 0;
  std::uint32_t full_ = 0;
};

/// A sample as it is written.
template <class T>
std::uint32_t written_sample(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x > 0 ? static_cast<std::uint32_t>(min(x, T(1)) * T(65535) + T(0.5)) : 0;  // NaN is black
  else
    return x;
}

}  // namespace detail

/// The picture that the content of a PGM or PPM file describes.
///
/// Pixel: std::uint8_t, std::uint16_t, float, double, or rgb of these.
/// \param content  the bytes of a file.
/// \param name     what error messages call it.
/// Cost: linear; memory for the pixels. \throws std::runtime_error "NAME: byte OFFSET: reason"; std::bad_alloc
template <class Pixel>
image<Pixel> parse_image(std::string_view content, const std::string& name = "picture") {
  static_assert(detail::is_sample<typename detail::sample_of_pixel<Pixel>::type>,
                "pmpp::parse_image: a sample is std::uint8_t, std::uint16_t, float or double");
  return detail::netpbm_parser<Pixel>(content, name).parse();
}

/// The picture in a PGM or PPM file. \throws as parse_image; also if the file cannot be read
template <class Pixel>
image<Pixel> read_image(const std::string& path) {
  return parse_image<Pixel>(detail::file(path, "rb").read(), path);
}

/// A picture as the content of a PGM file (grey) or PPM file (rgb). Samples of 8 bits are written as such, all others with
/// 16 bits; fractions are cut to 0 ... 1 and rounded. Reading 8 or 16 bits gives the same picture back.
/// \param picture  any strides, in the host's memory; at least one pixel.
/// \throws std::invalid_argument for a picture without pixels, a null pointer, an extent of 2^31 or more
template <class Pixel>
std::string to_netpbm(const matrix_view<Pixel>& picture, netpbm how = netpbm::binary) {
  using pixel = std::remove_const_t<Pixel>;
  using sample = typename detail::sample_of_pixel<pixel>::type;
  static_assert(detail::is_sample<sample>, "pmpp::to_netpbm: a sample is std::uint8_t, std::uint16_t, float or double");
  constexpr bool colours = detail::is_rgb<pixel>, wide = sizeof(sample) > 1;
  const std::int64_t rows = picture.rows(), cols = picture.cols();
  require(rows > 0 && cols > 0 && rows <= 0x7fffffff && cols <= 0x7fffffff && picture.data() != nullptr, [&] {
    return "pmpp::to_netpbm: the picture is " + std::to_string(rows) + " x " + std::to_string(cols) +
           (picture.data() == nullptr ? " and null" : ", outside of [1, 2147483647]");
  });
  std::string content = {'P', static_cast<char>((how == netpbm::text ? '2' : '5') + (colours ? 1 : 0)), '\n'};
  content += std::to_string(cols) + " " + std::to_string(rows) + (wide ? "\n65535\n" : "\n255\n");
  const auto write = [&](sample x, bool end_of_line) {
    const std::uint32_t value = detail::written_sample(x);
    if (how == netpbm::text) {
      content += std::to_string(value);
      content += end_of_line ? '\n' : ' ';
    } else {
      if (wide) content += static_cast<char>(value >> 8);
      content += static_cast<char>(value & 255);
    }
  };
  std::int64_t in_line = 0;  // lines of a text have at most 70 characters
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < cols; ++x) {
      const bool end = x == cols - 1 || ++in_line % (colours ? 3 : 10) == 0;
      if constexpr (colours) {
        const pixel p = picture(y, x);
        write(p.r, false), write(p.g, false), write(p.b, end);
      } else {
        write(picture(y, x), end);
      }
    }
  return content;
}
template <class Pixel>
std::string to_netpbm(const image<Pixel>& picture, netpbm how = netpbm::binary) {
  return to_netpbm(picture.view(), how);
}

/// Writes a picture to a file, as to_netpbm. \throws as that; std::runtime_error if writing fails
template <class Pixel>
void write_image(const std::string& path, const matrix_view<Pixel>& picture, netpbm how = netpbm::binary) {
  const std::string content = to_netpbm(picture, how);
  detail::file out(path, "wb");
  out.write(content);
  out.close();
}
template <class Pixel>
void write_image(const std::string& path, const image<Pixel>& picture, netpbm how = netpbm::binary) {
  write_image(path, picture.view(), how);
}

}  // namespace pmpp::inline PMPP_BACKEND
