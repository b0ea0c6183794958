// SPDX-License-Identifier: Apache-2.0
//
// What device_buffer, pinned_buffer and managed_buffer share: an array that owns its memory. The kind of memory is the
// second template argument (device_memory, pinned_memory, managed_memory below); only what differs between them is
// decided by it. Programs name the three types, never this one.
//
//   b{n}                 n elements, uninitialised: no kernel, no copy, no synchronisation
//   b{n, value}          n copies of value
//   b{range}             a copy of any contiguous range
//   ..., stream          device_buffer only: memory in the order of that stream, freed in its order; does not wait
//
// Integers are sizes: device_buffer<int>{5} has five elements, device_buffer<int>{5, 7} five sevens. There is no
// constructor from a braced list of values; write device_buffer<int>{std::array{1, 2, 3}}.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

struct device_memory {
  static constexpr const char* name = "device_buffer";
  static constexpr bool host_visible = false;
  static constexpr bool stream_ordered = true;
  static void* allocate(std::size_t bytes) { return allocate_device(bytes); }
  static void free(void* p) noexcept { free_device(p); }
};

struct pinned_memory {
  static constexpr const char* name = "pinned_buffer";
  static constexpr bool host_visible = true;
  static constexpr bool stream_ordered = false;
  static void* allocate(std::size_t bytes) { return allocate_pinned(bytes); }
  static void free(void* p) noexcept { free_pinned(p); }
};

struct managed_memory {
  static constexpr const char* name = "managed_buffer";
  static constexpr bool host_visible = true;
  static constexpr bool stream_ordered = false;
  static void* allocate(std::size_t bytes) { return allocate_managed(bytes); }
  static void free(void* p) noexcept { free_managed(p); }
};

template <class T, class Memory>
class buffer {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                "pmpp: the elements of a buffer are objects that are not const");
  static_assert(std::is_trivially_copyable_v<T>,
                "pmpp: a buffer moves its elements between memories byte by byte: T must be trivially copyable");
  static_assert(alignof(T) <= allocation_alignment, "pmpp: no memory here is aligned to more than 256 bytes");

public:
  using value_type = T;
  using size_type = std::size_t;

  /// No elements, no memory.
  buffer() noexcept = default;

  /// `count` uninitialised elements on the current device. Allocates; launches and waits for nothing.
  /// \throws out_of_memory; std::length_error if count is negative or its bytes exceed the address space.
  template <std::integral N>
  explicit buffer(N count) : buffer(place{}, count) {}

  /// `count` copies of `value`. Device memory is written on the default stream, and waited for.
  template <std::integral N>
  buffer(N count, const T& value) : buffer(place{}, count) {
    if constexpr (Memory::host_visible) {
      for (T* p = data_; p != data_ + size_; ++p) ::new (static_cast<void*>(p)) T(value);
    } else {
      detail::repeat_bytes(data_, __builtin_addressof(value), sizeof(T), size_, where_.stream);
      if (size_ != 0) synchronize(where_.stream);
    }
  }

  /// A copy of `range`, which may lie in any memory that CUDA knows or on the host. Copied on the default stream, and
  /// waited for.
  template <contiguous_data_of<T> R>
  explicit buffer(const R& range) : buffer(place{}, as_span(range)) {
    if (size_ != 0) synchronize(where_.stream);
  }

  /// The same of [first, last): pointers, or iterators over elements that lie next to each other.
  template <std::contiguous_iterator It>
  requires(std::is_same_v<std::iter_value_t<It>, T>) buffer(It first, It last) : buffer(std::span(first, last)) {}

  /// `count` uninitialised elements from pmpp's pool, for use on `stream` from here on; freed in the order of `stream`,
  /// which must outlive the buffer. Neither waits for anything nor makes others wait.
  template <std::integral N, stream_like S>
  requires(Memory::stream_ordered) buffer(N count, const S& stream)
      : buffer(place{detail::handle_of(stream), true}, count) {}

  /// The same, filled with `value` by work enqueued on `stream`. Not for a stream that is being captured.
  template <std::integral N, stream_like S>
  requires(Memory::stream_ordered) buffer(N count, const T& value, const S& stream)
      : buffer(place{detail::handle_of(stream), true}, count) {
    repeat_bytes(data_, &value, sizeof(T), size_, where_.stream);
  }

  /// The same, filled from `range` by a copy enqueued on `stream`. A range in pinned or device memory must stay
  /// unchanged until the copy is done; one in ordinary host memory may change as soon as this returns.
  template <contiguous_data_of<T> R, stream_like S>
  requires(Memory::stream_ordered) buffer(const R& range, const S& stream)
      : buffer(place{detail::handle_of(stream), true}, as_span(range)) {}

  /// Refused: numbers are a size and a value.
  template <class A, class B, class C, class... More>
  requires(!stream_like<C>) buffer(const A&, const B&, const C&, const More&...) {
    static_assert(sizeof(C) == 0,
                  "pmpp: a buffer is not made of a list of values, as {3, 1} are a size and a value: write "
                  "device_buffer<int>{std::array{1, 2, 3}}");
  }

  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  /// Takes the memory of `other`, which is left empty and usable.
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer old(std::move(other));
    swap(old);
    return *this;
  }

  /// Frees on the device that owns the memory. Memory without a stream waits for that device, as cudaFree does; memory
  /// with a stream is freed in its order, without waiting. Never throws.
  ~buffer() { release(); }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Elements that fit without a new allocation.
  std::size_t capacity() const noexcept { return capacity_; }

  /// The first element; nullptr if no memory was ever needed. Memory of a device_buffer must not be read by the host.
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<T> span() noexcept { return {data_, size_}; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

  /// Element `index`, for the host; work on the device that writes it must be done.
  /// \pre 0 <= index < size(). \throws std::out_of_range if not, in debug mode.
  template <std::integral I>
  requires(Memory::host_visible) T& operator[](I index) {
    check_index(static_cast<std::int64_t>(index), static_cast<std::int64_t>(size_), Memory::name);
    return data_[static_cast<std::size_t>(index)];
  }
  template <std::integral I>
  requires(Memory::host_visible) const T& operator[](I index) const {
    check_index(static_cast<std::int64_t>(index), static_cast<std::int64_t>(size_), Memory::name);
    return data_[static_cast<std::size_t>(index)];
  }

  /// Refused: each element would be a transfer of its own.
  template <std::integral I>
  requires(!Memory::host_visible) const T& operator[](I) const {
    static_assert(sizeof(I) == 0,
                  "pmpp: the host cannot read one element of device memory: copy what you want to see, "
                  "with pmpp::to_host or pmpp::copy, or pass data() to a kernel");
    return *data_;
  }

  /// Makes the size `count`; all contents are indeterminate afterwards. Up to capacity() this only changes the size.
  /// Beyond, the old memory is freed before the new is taken, on the current device and the same stream as before, so
  /// that the peak is the new size; if that throws, the buffer is empty. \throws as the constructor from a count.
  template <std::integral N>
  void resize_discard(N count) {
    const std::size_t bytes = checked_bytes(count, sizeof(T), Memory::name);
    if (bytes > capacity_ * sizeof(T)) {
      const place where = where_;
      *this = buffer();
      *this = buffer(where, count);
    }
    size_ = bytes / sizeof(T);
  }

  /// Makes the size `count`, at most size(): the first elements stay, and all of the memory.
  template <std::integral N>
  void truncate(N count) {
    const std::size_t kept = checked_bytes(count, sizeof(T), Memory::name) / sizeof(T);
    require(kept <= size_, [&] {
      return detail::text("pmpp::") + Memory::name + ": " + detail::text::of(size_) +
             " elements cannot be truncated to " + detail::text::of(kept);
    });
    size_ = kept;
  }

protected:
  struct copy_of {};

  /// A copy of `other` in memory of its own: on the same stream, not waited for, if `other` has a stream.
  buffer(copy_of, const buffer& other) : buffer(other.where_, other.span()) {
    if (!where_.ordered && size_ != 0) synchronize(where_.stream);
  }

private:
  /// Where the memory comes from and goes back to.
  struct place {
    stream_handle stream = nullptr;
    bool ordered = false;  ///< from the pool, in the order of `stream`
    int device = 0;        ///< of the memory held
  };

  template <std::integral N>
  buffer(place where, N count) : where_(where) {
    const std::size_t bytes = checked_bytes(count, sizeof(T), Memory::name);
    if (bytes == 0) return;
    refuse_in_recording("a buffer that is made in it is gone when it is repeated: make the buffer before");
    where_.device = current_device();
    data_ = static_cast<T*>(where.ordered ? allocate_ordered(bytes, where.stream) : Memory::allocate(bytes));
    size_ = capacity_ = bytes / sizeof(T);
  }

  buffer(place where, std::span<const T> source) : buffer(where, source.size()) {
    detail::copy_bytes(data_, source.data(), source.size_bytes(), where_.stream);
  }

  void swap(buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(where_, other.where_);
  }

  void release() noexcept {
    if (data_ == nullptr) return;
    [[maybe_unused]] const device_guard guard(where_.device);
    if (where_.ordered)
      detail::free_ordered(data_, where_.stream);
    else
      Memory::free(data_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  place where_;
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
