// SPDX-License-Identifier: Apache-2.0
//
// PNG files. pmpp.hpp does not include this header: it needs libpng (Debian: libpng-dev), and who includes it links that,
// -lpng or, in CMake, find_package(PNG REQUIRED) and PNG::PNG.
//
//   auto p = pmpp::read_png<pmpp::rgb<std::uint8_t>>("photo.png");     // image: width, height, pixels (io/image.hpp)
//   pmpp::write_png("copy.png", p);
//
// All PNG files are read: 1 to 16 bits, grey, coloured or with a palette, interlaced or not. As in io/image.hpp the type
// of pixel says what the caller wants, and samples are scaled to it. Transparency is dropped, pixels keep their colours;
// samples stay as the file has them, whatever it says of gamma and colour profiles; what follows the picture is ignored.
//
// What is wrong with a file is a std::runtime_error "NAME: byte OFFSET: reason", OFFSET being how far it had been read.
// Compression makes a byte of a file worth up to 1032, of a palette up to 24768: 59 KB can truly hold a picture of 1.4 GB.
// So the caller says how many pixels it takes (most_pixels), and a header that promises more, or more than the file's bytes
// can stand for, is refused before anything is allocated. Memory is that of the pixels and of two rows: pixels are kept as
// they come, those of interlaced files at their places, and chunks that are not the picture (texts, profiles, times) are
// passed over without being unpacked or kept.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <png.h>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/io/file.hpp>
#include <pmpp/io/image.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Pixels of a PNG file that are taken unless the caller says otherwise: 11585 x 11585, 384 MiB as rgb of bytes.
inline constexpr std::int64_t usual_most_pixels = std::int64_t(1) << 27;

namespace detail {

/// What reading and writing share: libpng says what is wrong by a longjmp, which becomes an exception here.
class png_session {
protected:
  explicit png_session(std::string name) : name_(std::move(name)) {}
  png_session(const png_session&) = delete;
  png_session& operator=(const png_session&) = delete;

  /// Runs calls of libpng. \pre f has no objects with destructors: a longjmp passes them by.
  template <class F>
  void guarded(F f) {
    if (setjmp(png_jmpbuf(png_)) != 0) fail(reason_);
    f();
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(name_ + ": byte " + std::to_string(at_) + ": " + reason);
  }
  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<png_session*>(png_get_error_ptr(png));
    std::strncpy(self->reason_, message, sizeof self->reason_ - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}

  std::string name_;
  std::size_t at_ = 0;  ///< bytes read or written
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char reason_[200]{};
};

template <class Pixel>
class png_reader : png_session {
  using sample = typename sample_of_pixel<Pixel>::type;

public:
  png_reader(std::string_view content, std::string name, std::int64_t most_pixels)
      : png_session(std::move(name)), all_(content), most_pixels_(static_cast<std::size_t>(most_pixels)) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<png_session*>(this), on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, read);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // the checks below are sharper
    png_set_chunk_malloc_max(png_, 1 << 23);
    png_set_chunk_cache_max(png_, 16);
#if defined(PNG_HANDLE_AS_UNKNOWN_SUPPORTED)
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // all but those of the picture
#endif
  }
  ~png_reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  image<Pixel> parse() {
    guarded([&] { png_read_info(png_, info_); });
    const std::size_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    const std::size_t bits = std::size_t(png_get_bit_depth(png_, info_)) * png_get_channels(png_, info_);
    if (height > all_.size() * 1032 / (width * bits / 8 + 1))
      fail(std::to_string(width) + " x " + std::to_string(height) + " pixels cannot come from " +
           std::to_string(all_.size()) + " bytes");
    if (height > most_pixels_ / width)
      fail(std::to_string(width) + " x " + std::to_string(height) + " pixels are more than the " +
           std::to_string(most_pixels_) + " that the caller takes (most_pixels)");
    guarded([&] {
      png_set_expand(png_);  // palettes to colours, grey of 1, 2 and 4 bits to 8
      png_set_strip_alpha(png_);
      png_read_update_info(png_, info_);
    });
    const int channels = png_get_channels(png_, info_), bytes = png_get_bit_depth(png_, info_) / 8;
    if (channels > sample_of_pixel<Pixel>::channels) fail(colours_as_grey);

    image<Pixel> picture{std::int64_t(width), std::int64_t(height), {}};
    std::vector<unsigned char> one_row(png_get_rowbytes(png_, info_));
    // Pixels y0, y0 + dy ... of columns x0, x0 + dx ...: the next row of the file has those of one y.
    const auto read_rows = [&](std::size_t y0, std::size_t dy, std::size_t x0, std::size_t dx) {
      if (x0 >= width) return;
      for (std::size_t y = y0; y < height; y += dy) {
        unsigned char* row = one_row.data();
        guarded([=, this] { png_read_row(png_, row, nullptr); });
        // Doubling keeps a file that ends early from asking for all; the last step takes no more than is needed.
        if (const std::size_t have = picture.pixels.size(), all = width * height; have < all) {
          if (picture.pixels.capacity() < have + width) picture.pixels.reserve(min(all, 2 * (have + width)));
          picture.pixels.resize(have + width);
        }
        for (std::size_t x = x0; x < width; x += dx) {
          sample c[3]{};
          for (int i = 0; i < channels; ++i, row += bytes)
            c[i] = bytes == 2 ? scaled_sample<sample>(std::uint32_t(row[0]) << 8 | row[1], 65535)
                              : scaled_sample<sample>(row[0], 255);
          picture.pixels[y * width + x] = pixel_of<Pixel>(c, channels);
        }
      }
    };
    if (png_get_interlace_type(png_, info_) == PNG_INTERLACE_NONE) {
      read_rows(0, 1, 0, 1);
    } else {
      picture.pixels.resize(width * height);
      for (unsigned pass = 0; pass < 7; ++pass)
        read_rows(PNG_PASS_START_ROW(pass), 1u << PNG_PASS_ROW_SHIFT(pass), PNG_PASS_START_COL(pass),
                  1u << PNG_PASS_COL_SHIFT(pass));
    }
    guarded([&] { png_read_end(png_, nullptr); });
    return picture;
  }

private:
  static void read(png_structp png, png_bytep out, std::size_t count) {
    auto* self = static_cast<png_reader*>(png_get_io_ptr(png));
    if (self->all_.size() - self->at_ < count) {
      self->at_ = self->all_.size();
      png_error(png, "the file ends before its picture");
    }
    std::memcpy(out, self->all_.data() + self->at_, count);
    self->at_ += count;
  }

  std::string_view all_;
  std::size_t most_pixels_;
};

template <class Pixel>
class png_writer : png_session {
  using sample = typename sample_of_pixel<Pixel>::type;
  static constexpr int channels = sample_of_pixel<Pixel>::channels, bytes = sizeof(sample) > 1 ? 2 : 1;

public:
  png_writer() : png_session("picture") {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<png_session*>(this), on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
    png_set_write_fn(png_, this, write, nullptr);
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
  }
  ~png_writer() { png_destroy_write_struct(&png_, &info_); }

  std::string write(const matrix_view<const Pixel>& picture) {
    const auto width = static_cast<png_uint_32>(picture.cols()), height = static_cast<png_uint_32>(picture.rows());
    guarded([&] {
      png_set_IHDR(png_, info_, width, height, 8 * bytes, channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
    });
    std::vector<unsigned char> row(static_cast<std::size_t>(width) * channels * bytes);
    for (std::int64_t y = 0; y < height; ++y) {
      unsigned char* out = row.data();
      const auto put = [&](sample x) {
        const std::uint32_t value = written_sample(x);
        if (bytes == 2) *out++ = static_cast<unsigned char>(value >> 8);
        *out++ = static_cast<unsigned char>(value & 255);
      };
      for (std::int64_t x = 0; x < width; ++x) {
        const Pixel p = picture(y, x);
        if constexpr (channels == 3)
          put(p.r), put(p.g), put(p.b);
        else
          put(p);
      }
      guarded([&] { png_write_row(png_, row.data()); });
    }
    guarded([&] { png_write_end(png_, nullptr); });
    return std::move(content_);
  }

private:
  static void write(png_structp png, png_bytep data, std::size_t count) {
    auto* self = static_cast<png_writer*>(png_get_io_ptr(png));
    bool written = true;
    try {
      self->content_.append(reinterpret_cast<const char*>(data), count);
    } catch (const std::exception&) {
      written = false;
    }
    if (!written) png_error(png, "no memory for the file");  // outside of the handler: it does not return
    self->at_ += count;
  }

  std::string content_;
};

}  // namespace detail

/// The picture that the content of a PNG file describes.
///
/// Pixel: std::uint8_t, std::uint16_t, float, double, or rgb of these. Coloured pictures are refused as grey.
/// \param content      the bytes of a file.
/// \param name         what error messages call it.
/// \param most_pixels  a picture of more is refused before memory is taken for it.
/// Cost: linear; memory for the pixels (half as much again while they come, of files that are not interlaced) and two rows.
/// \throws std::runtime_error "NAME: byte OFFSET: reason"; std::invalid_argument if most_pixels is negative; std::bad_alloc.
/// Example: test/png_host.cpp
template <class Pixel>
image<Pixel> parse_png(std::string_view content, const std::string& name = "picture",
                       std::int64_t most_pixels = usual_most_pixels) {
  static_assert(detail::is_sample<typename detail::sample_of_pixel<Pixel>::type>,
                "pmpp::parse_png: a sample is std::uint8_t, std::uint16_t, float or double");
  require(most_pixels >= 0, [&] { return "pmpp::parse_png: most_pixels is " + std::to_string(most_pixels); });
  return detail::png_reader<Pixel>(content, name, most_pixels).parse();
}

/// The picture in a PNG file. \throws as parse_png; also if the file cannot be read
template <class Pixel>
image<Pixel> read_png(const std::string& path, std::int64_t most_pixels = usual_most_pixels) {
  return parse_png<Pixel>(detail::file(path, "rb").read(), path, most_pixels);
}

/// A picture as the content of a PNG file, grey or rgb. Samples of 8 bits are written as such, all others with 16 bits;
/// fractions are cut to 0 ... 1 and rounded. Reading 8 or 16 bits gives the same picture back.
/// \param picture  any strides, in the host's memory; at least one pixel.
/// \throws std::invalid_argument for a picture without pixels, a null pointer, an extent of 2^31 or more; std::runtime_error
/// for what libpng refuses
template <class Pixel>
std::string to_png(const matrix_view<Pixel>& picture) {
  using pixel = std::remove_const_t<Pixel>;
  static_assert(detail::is_sample<typename detail::sample_of_pixel<pixel>::type>,
                "pmpp::to_png: a sample is std::uint8_t, std::uint16_t, float or double");
  const std::int64_t rows = picture.rows(), cols = picture.cols();
  require(rows > 0 && cols > 0 && rows <= 0x7fffffff && cols <= 0x7fffffff && picture.data() != nullptr, [&] {
    return "pmpp::to_png: the picture is " + std::to_string(rows) + " x " + std::to_string(cols) +
           (picture.data() == nullptr ? " and null" : ", outside of [1, 2147483647]");
  });
  return detail::png_writer<pixel>().write(picture);
}
template <class Pixel>
std::string to_png(const image<Pixel>& picture) {
  return to_png(picture.view());
}

/// Writes a picture to a file, as to_png. \throws as that; std::runtime_error if writing fails
template <class Pixel>
void write_png(const std::string& path, const matrix_view<Pixel>& picture) {
  const std::string content = to_png(picture);
  detail::file out(path, "wb");
  out.write(content);
  out.close();
}
template <class Pixel>
void write_png(const std::string& path, const image<Pixel>& picture) {
  write_png(path, picture.view());
}

}  // namespace pmpp::inline PMPP_BACKEND
