// SPDX-License-Identifier: Apache-2.0
//
// distributed_buffer<T>: an array whose elements lie on the ranks of a devices, in blocks by rank.
//
//   pmpp::distributed_buffer<float> x{gpus, n};      n elements in all, uninitialised; the first n % p ranks have one more
//   pmpp::distributed_buffer<float> y{gpus, values}; a copy of a range of the host, of which each rank takes its block
//   auto z = pmpp::distributed_buffer<float>::with_sizes(gpus, {5, 0, 3});   blocks of these sizes
//   auto u = pmpp::distributed_buffer<float>::of_parts(gpus, {mine});         memory of the caller, a span for each rank here
//   x.part(i)                                        a view of the block of rank number i of this process
//   std::vector<float> all = pmpp::to_host(gpus, x); all elements, on every process
//
// Every process knows the sizes of all blocks, so that no call has to ask. (PMPP ch. 20.)
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/rank_memory.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Elements in a block of a rank's memory, to which it goes back: where a rank keeps what it has.
template <class T>
class rank_array {
  static_assert(std::is_trivially_copyable_v<T>,
                "pmpp: elements move between ranks byte by byte: T must be trivially copyable");

public:
  rank_array() = default;
  /// `count` uninitialised elements at `where`, whose GPU is the current one.
  rank_array(const rank_group::place& where, std::int64_t count)
      : memory_(where.memory),
        block_(where.memory->take(detail::checked_bytes(count, sizeof(T), "distributed_buffer"))),
        data_(static_cast<T*>(block_.data)),
        size_(count) {}
  /// Memory of the caller, which keeps it.
  explicit rank_array(std::span<T> theirs) : data_(theirs.data()), size_(static_cast<std::int64_t>(theirs.size())) {}
  rank_array(rank_array&& other) noexcept { *this = std::move(other); }
  rank_array& operator=(rank_array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~rank_array() {
    if (memory_ != nullptr) memory_->give_back(block_);
  }

  /// Only `count` elements from element `first` on are of interest.
  void narrow(std::int64_t first, std::int64_t count) {
    data_ += first;
    size_ = count;
  }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::span<T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

private:
  rank_memory* memory_ = nullptr;  // none: memory of the caller
  rank_memory::block block_;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// Copies in the order of a rank's stream, between its memory and the host's or within one of them.
inline void copy_on_rank(const rank_group::place& where, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (where.device == rank_group::on_host) {
    std::memcpy(to, from, bytes);
    return;
  }
  const rank_guard guard(where.device);  // memory of its pool may be out of reach for another
  detail::copy_bytes(to, from, bytes, where.stream);
}

/// copy_on_rank to the host, from what messages may be on their way to. Such a copy waits for them, for ever if they do not come: so where
/// the communicator knows of failures, the work of rank number i here is waited for first, while it is asked. \throws communication_error
template <class P, class C>
void copy_to_host(const devices<P, C>& gpus, int i, void* to, const void* from, std::size_t bytes) {
  if constexpr (requires(C & link) { link.check_alive(0.0); }) gpus.synchronize(i);
  detail::copy_on_rank(gpus.group()->places[std::size_t(i)], to, from, bytes);
}

/// An array of counts[i] elements for each rank here.
template <class T, class Count>
std::vector<rank_array<T>> arrays_of(const rank_group& group, Count count) {
  std::vector<rank_array<T>> arrays;
  for (std::size_t i = 0; i < group.places.size(); ++i) {
    const rank_guard guard(group.places[i].device);
    arrays.emplace_back(group.places[i], static_cast<std::int64_t>(count(static_cast<int>(i))));
  }
  return arrays;
}

/// The values of all ranks by rank, of `each` values a rank; mine has those of the ranks here. Waits.
/// Where all ranks are here nothing moves.
template <class U, class P, class C>
std::vector<U> values_of_all(const devices<P, C>& gpus, const std::vector<U>& mine, std::int64_t each = 1) {
  if (gpus.all_here()) return mine;
  const auto group = gpus.group();
  const std::int64_t n = gpus.size() * each;
  const auto all = detail::arrays_of<U>(*group, [&](int) { return n; });
  const std::size_t bytes = static_cast<std::size_t>(each) * sizeof(U);
  const auto own = [&](int i) { return all[std::size_t(i)].data() + gpus.rank(i) * each; };
  gpus.each([&](int i, const P&) {
    detail::copy_on_rank(group->places[std::size_t(i)], own(i), mine.data() + i * each, bytes);
  });
  gpus.together(
      [&](int i, C& link, stream_handle s) { pmpp::all_gather(link, own(i), all[std::size_t(i)].data(), bytes, s); });
  std::vector<U> values(static_cast<std::size_t>(n));
  detail::copy_to_host(gpus, 0, values.data(), all[0].data(), static_cast<std::size_t>(n) * sizeof(U));
  gpus.synchronize();
  return values;
}

/// The first `each` elements of each rank's array, on the host of each process, by rank. Waits.
template <class U, class P, class C>
std::vector<U> firsts_of_all(const devices<P, C>& gpus, const std::vector<rank_array<U>>& arrays,
                             std::int64_t each = 1) {
  const auto group = gpus.group();
  const std::size_t bytes = static_cast<std::size_t>(each) * sizeof(U);
  std::vector<U> all(static_cast<std::size_t>(gpus.size() * each));
  if (gpus.all_here()) {              // no message
    gpus.each([&](int i, const P&) {  // once all are at work: such a copy waits for its rank
      detail::copy_on_rank(group->places[std::size_t(i)], all.data() + gpus.rank(i) * each,
                           arrays[std::size_t(i)].data(), bytes);
    });
    gpus.synchronize();
    return all;
  }
  const auto gathered = detail::arrays_of<U>(*group, [&](int) { return gpus.size() * each; });
  gpus.together([&](int i, C& link, stream_handle s) {
    pmpp::all_gather(link, arrays[std::size_t(i)].data(), gathered[std::size_t(i)].data(), bytes, s);
  });
  const rank_guard guard(group->places[0].device);
  detail::copy_to_host(gpus, 0, all.data(), gathered[0].data(), all.size() * sizeof(U));
  gpus.synchronize();
  return all;
}

/// Every rank has passed the same value. \throws std::invalid_argument, on every process, that names two ranks that differ
template <class P, class C>
void require_agreement(const devices<P, C>& gpus, const char* function, const char* what, std::int64_t value) {
  const auto all = detail::values_of_all(gpus, std::vector<std::int64_t>(std::size_t(gpus.local_size()), value));
  for (std::size_t r = 1; r < all.size(); ++r)
    require(all[r] == all[0], [&] {
      return text("pmpp::") + function + ": " + what + " is " + text::of(all[0]) + " on rank 0 and " +
             text::of(all[r]) + " on rank " + text::of(r);
    });
}

/// Blocks of n elements on p ranks that differ by one at most, the larger ones in front.
inline std::vector<std::int64_t> even_sizes(std::int64_t n, int p) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), n / p);
  for (std::int64_t r = 0; r < n % p; ++r) ++sizes[static_cast<std::size_t>(r)];
  return sizes;
}

}  // namespace detail

/// An array in blocks by rank; each process has the blocks of its ranks, and owns them, but for those of of_parts. Movable. It keeps
/// what it needs of its devices alive.
template <class T>
class distributed_buffer {
public:
  using value_type = T;

  /// No elements, on no devices.
  distributed_buffer() = default;

  /// `n` uninitialised elements, blocks that differ by one at most. A collective call: every process asks for the same n.
  /// \throws std::invalid_argument if processes differ in n; std::length_error if n is negative; out_of_memory
  template <class P, class C, std::integral N>
  distributed_buffer(const devices<P, C>& gpus, N n) {
    const std::int64_t count = checked_size(n);
    detail::require_agreement(gpus, "distributed_buffer", "n", count);
    allocate(gpus.group(), detail::even_sizes(count, gpus.size()));
  }

  /// A copy of `range` on the host, the same on every process; each rank takes its block. Waits. \throws as above
  template <class P, class C, contiguous_data_of<T> R>
  distributed_buffer(const devices<P, C>& gpus, const R& range) : distributed_buffer(gpus, std::size(range)) {
    copy_from(range);
    gpus.synchronize();
  }

  /// Blocks of these sizes, by rank; the same list on every process.
  /// \throws std::invalid_argument if processes differ in the list, or it has not one size for each rank; std::length_error
  template <class P, class C>
  static distributed_buffer with_sizes(const devices<P, C>& gpus, const std::vector<std::int64_t>& sizes) {
    require(sizes.size() == std::size_t(gpus.size()), [&] {
      return "pmpp::distributed_buffer: " + detail::text::of(sizes.size()) + " sizes for " +
             detail::text::of(gpus.size()) + " ranks";
    });
    std::uint64_t code = 14695981039346656037u;  // FNV-1a of the words: equal lists have one
    for (const std::int64_t size : sizes) code = (code ^ std::uint64_t(checked_size(size))) * 1099511628211u;
    detail::require_agreement(gpus, "distributed_buffer", "a number made of the sizes", std::int64_t(code >> 1));
    distributed_buffer x;
    x.allocate(gpus.group(), sizes);
    return x;
  }

  /// Blocks that are memory of the caller, in use until the buffer is destroyed: parts[i] is that of rank number i of this process,
  /// which its policy can write to. A collective call: sizes are told to all processes. Calls that would give such a buffer blocks
  /// of other sizes throw std::length_error before anything runs.
  /// \throws std::invalid_argument if there is not one part for each rank of this process, or one is null; communication_error
  template <class P, class C>
  static distributed_buffer of_parts(const devices<P, C>& gpus, const std::vector<std::span<T>>& parts) {
    require(parts.size() == std::size_t(gpus.local_size()), [&] {
      return "pmpp::distributed_buffer::of_parts: " + detail::text::of(parts.size()) + " parts, this process drives " +
             detail::text::of(gpus.local_size()) + " ranks";
    });
    std::vector<std::int64_t> mine;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      require(parts[i].data() != nullptr || parts[i].empty(), [&] {
        return "pmpp::distributed_buffer::of_parts: part " + detail::text::of(i) + " is null, but has " +
               detail::text::of(parts[i].size()) + " elements";
      });
      mine.push_back(static_cast<std::int64_t>(parts[i].size()));
    }
    distributed_buffer x;
    x.refer(gpus.group(), detail::values_of_all(gpus, mine), parts);
    return x;
  }

  /// Elements in all.
  std::int64_t size() const { return offsets_.empty() ? 0 : offsets_.back(); }
  /// Where the block of `rank` begins; of size() ranks: size(). The block has offset(rank + 1) - offset(rank) elements.
  std::int64_t offset(int rank) const { return offsets_[std::size_t(rank)]; }
  std::int64_t size_of(int rank) const { return offset(rank + 1) - offset(rank); }

  /// The block of rank number i of this process, in that rank's memory. Valid until the buffer gets other blocks (sort, rebalance).
  /// What calls have enqueued is in it for work on that rank's stream; the host waits first, with gpus.synchronize().
  /// \throws communication_error, on emulated devices, while the block is being received
  std::span<T> part(int i) {
    const std::span<T> block = parts_[std::size_t(i)].span();
    group_->check_finished(block.data(), block.size_bytes());
    return block;
  }
  std::span<const T> part(int i) const { return const_cast<distributed_buffer*>(this)->part(i); }

  /// Takes the values from `range` on the host, as long as the buffer; enqueued. \throws std::length_error
  template <contiguous_data_of<T> R>
  void copy_from(const R& range) {
    const auto source = detail::as_span(range);
    if (source.size() != std::size_t(size()))
      detail::throw_length_error("pmpp::distributed_buffer::copy_from: the range has " +
                                 detail::text::of(source.size()) + " elements, the buffer " + detail::text::of(size()));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const detail::rank_group::place& where = group_->places[i];
      const detail::rank_guard guard(where.device);
      detail::copy_on_rank(where, parts_[i].data(), source.data() + offset(where.rank), parts_[i].span().size_bytes());
    }
  }

  /// Gives the blocks other sizes, by rank; the same list on every process. Each block keeps its first elements, as many as it has and
  /// will have; what follows is uninitialised. Enqueued. Views of parts are then no longer valid.
  /// \throws as with_sizes; std::invalid_argument if the buffer lies on other devices; std::length_error for blocks of the caller
  template <class P, class C>
  void resize(const devices<P, C>& gpus, const std::vector<std::int64_t>& sizes) {
    require(group_ == gpus.group(),
            [] { return "pmpp::distributed_buffer::resize: the buffer lies on other devices than those of the call"; });
    require_blocks("distributed_buffer::resize", sizes);
    distributed_buffer y = with_sizes(gpus, sizes);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const detail::rank_group::place& where = group_->places[i];
      const detail::rank_guard guard(where.device);
      detail::copy_on_rank(where, y.parts_[i].data(), parts_[i].data(),
                           std::min(y.parts_[i].span().size_bytes(), parts_[i].span().size_bytes()));
    }
    if (!refers_) *this = std::move(y);
  }

  /// \throws std::length_error, in the name of `function`, if the blocks are memory of the caller and have not these sizes
  void require_blocks(const char* function, const std::vector<std::int64_t>& sizes) const {
    for (std::size_t r = 0; refers_ && r < sizes.size(); ++r)
      if (const std::int64_t size = size_of(static_cast<int>(r)); size != sizes[r])
        detail::throw_length_error(detail::text("pmpp::") + function + ": the block of rank " + detail::text::of(r) +
                                   " is memory of the caller of " + detail::text::of(size) +
                                   " elements; it would have to become one of " + detail::text::of(sizes[r]));
  }

  /// Whether the blocks are memory of the caller.
  bool refers() const { return refers_; }
  /// The devices that it lies on; nullptr for a buffer that was never given any.
  const detail::rank_group* group() const { return group_.get(); }

  /// Blocks of other sizes on the same devices, uninitialised; what was there is lost. Those of the caller stay.
  void allocate(std::shared_ptr<detail::rank_group> group, const std::vector<std::int64_t>& sizes) {
    require_blocks("distributed_buffer::allocate", sizes);
    if (refers_) return;
    // Blocks of the same size stay.
    const auto size_at = [&](std::size_t i) { return sizes[std::size_t(group->places[i].rank)]; };
    const auto stays = [&](std::size_t i) { return group == group_ && parts_[i].size() == size_at(i); };
    std::vector<detail::rank_array<T>> parts(group->places.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (stays(i)) continue;
      const detail::rank_guard guard(group->places[i].device);
      parts[i] = detail::rank_array<T>(group->places[i], size_at(i));
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (stays(i)) parts[i] = std::move(parts_[i]);
    set(std::move(group), sizes, std::move(parts));
  }
  /// The blocks of of_parts, whose sizes are known: parts[i] for rank number i of this process.
  void refer(std::shared_ptr<detail::rank_group> group, const std::vector<std::int64_t>& sizes,
             const std::vector<std::span<T>>& parts) {
    std::vector<detail::rank_array<T>> theirs;
    for (std::size_t i = 0; i < parts.size(); ++i) theirs.emplace_back(parts[i]);
    set(std::move(group), sizes, std::move(theirs));
    refers_ = true;
  }

  /// What lies in `parts`, from element `first` of each on; the sizes of all blocks are known.
  void become(std::shared_ptr<detail::rank_group> group, const std::vector<std::int64_t>& sizes,
              std::vector<detail::rank_array<T>> parts, std::int64_t first) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].narrow(first, sizes[std::size_t(group->places[i].rank)]);
    set(std::move(group), sizes, std::move(parts));
  }

private:
  void set(std::shared_ptr<detail::rank_group> group, const std::vector<std::int64_t>& sizes,
           std::vector<detail::rank_array<T>> parts) {
    std::vector<std::int64_t> offsets{0};
    for (const std::int64_t size : sizes) offsets.push_back(offsets.back() + size);
    parts_ = std::move(parts);
    offsets_ = std::move(offsets);
    group_ = std::move(group);
  }
  template <class N>
  static std::int64_t checked_size(N n) {
    static_cast<void>(detail::checked_bytes(n, sizeof(T), "distributed_buffer"));
    return static_cast<std::int64_t>(n);
  }

  std::shared_ptr<detail::rank_group> group_;  // outlives the parts, which are freed in the order of its streams
  std::vector<std::int64_t> offsets_;
  std::vector<detail::rank_array<T>> parts_;
  bool refers_ = false;  ///< to memory of the caller
};

namespace detail {

/// \throws std::invalid_argument if x lies on other devices
template <class P, class C, class T>
void require_on(const char* function, const char* argument, const devices<P, C>& gpus, const distributed_buffer<T>& x) {
  require(x.group() == gpus.group().get(), [&] {
    return text("pmpp::") + function + ": " + argument + " lies on other devices than those of the call" +
           (x.group() == nullptr ? ", on none" : "");
  });
}
/// \throws std::length_error if y has not the blocks of x
template <class T, class U>
void require_same_blocks(const char* function, const char* argument, const distributed_buffer<T>& x,
                         const distributed_buffer<U>& y) {
  for (int r = 0; r < x.group()->size; ++r)
    if (x.size_of(r) != y.size_of(r))
      detail::throw_length_error(text("pmpp::") + function + ": on rank " + text::of(r) + " the first input has " +
                                 text::of(x.size_of(r)) + " elements, " + argument + " has " + text::of(y.size_of(r)));
}

/// All elements of x, in order, in the memory of each rank here. Enqueued.
template <class P, class C, class T>
std::vector<rank_array<T>> whole_on_each_rank(const devices<P, C>& gpus, const distributed_buffer<T>& x) {
  auto all = detail::arrays_of<T>(*gpus.group(), [&](int) { return x.size(); });
  gpus.together([&](int i, C& link, stream_handle s) {
    for (int r = 0; r < gpus.size(); ++r) {
      if (!x.part(i).empty()) link.send(x.part(i).data(), x.part(i).size_bytes(), r, s);
      if (x.size_of(r) != 0)
        link.receive(all[std::size_t(i)].data() + x.offset(r), std::size_t(x.size_of(r)) * sizeof(T), r, s);
    }
  });
  return all;
}

}  // namespace detail

/// All elements of x, in order, on every process. Waits. Moves n elements to each process that has not all of them.
/// \throws std::invalid_argument if x lies on other devices; communication_error, cuda_error
template <class P, class C, class T>
std::vector<T> to_host(const devices<P, C>& gpus, const distributed_buffer<T>& x) {
  detail::require_on("to_host", "x", gpus, x);
  const auto group = gpus.group();
  std::vector<T> values(static_cast<std::size_t>(x.size()));
  if (gpus.all_here()) {
    for (int i = 0; i < gpus.local_size(); ++i)
      detail::copy_on_rank(group->places[std::size_t(i)], values.data() + x.offset(gpus.rank(i)), x.part(i).data(),
                           x.part(i).size_bytes());
  } else {
    const auto all = detail::whole_on_each_rank(gpus, x);
    detail::copy_to_host(gpus, 0, values.data(), all[0].data(), values.size() * sizeof(T));
  }
  gpus.synchronize();
  return values;
}

/// All elements of x, in order, on the process that drives rank `root`; no elements on the others. Waits.
/// Moves n elements to that rank. \throws as to_host; std::invalid_argument if there is no such rank
/// Example: test/distributed_partition.cpp, parts of the caller.
template <class P, class C, class T>
std::vector<T> gather(const devices<P, C>& gpus, const distributed_buffer<T>& x, int root = 0) {
  detail::require_on("gather", "x", gpus, x);
  require(root >= 0 && root < gpus.size(), [&] {
    return "pmpp::gather: root is rank " + detail::text::of(root) + " of " + detail::text::of(gpus.size());
  });
  if (gpus.all_here()) return pmpp::to_host(gpus, x);
  const auto is_root = [&](int i) { return gpus.rank(i) == root; };
  const auto all = detail::arrays_of<T>(*gpus.group(), [&](int i) { return is_root(i) ? x.size() : 0; });
  gpus.together([&](int i, C& link, stream_handle s) {
    if (!x.part(i).empty()) link.send(x.part(i).data(), x.part(i).size_bytes(), root, s);
    for (int r = 0; is_root(i) && r < gpus.size(); ++r)
      if (x.size_of(r) != 0)
        link.receive(all[std::size_t(i)].data() + x.offset(r), std::size_t(x.size_of(r)) * sizeof(T), r, s);
  });
  std::vector<T> values;
  gpus.each([&](int i, const P&) {
    if (!is_root(i)) return;
    values.resize(static_cast<std::size_t>(x.size()));
    detail::copy_to_host(gpus, i, values.data(), all[std::size_t(i)].data(), values.size() * sizeof(T));
  });
  gpus.synchronize();
  return values;
}

}  // namespace pmpp::inline PMPP_BACKEND
