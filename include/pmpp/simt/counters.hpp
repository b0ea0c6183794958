// SPDX-License-Identifier: Apache-2.0
//
// Counters: how the warps of a kernel use memory, as the book draws it. Opt-in twice: a kernel says which of its pointers
// are worth watching, and a launch in the emulator is counted while a scoped_counting lives.
//
//   const auto in = simt::watch(block, a, "a");              // in[i] is counted under the name "a"
//   const auto tile = simt::watch(block, memory.tile, "tile");   // so is tile[y][x], here in shared memory
//   if (simt::branch(block, i < n, "i < n")) ...             // which lanes say yes
//
//   simt::access_counts counts;
//   { const simt::scoped_counting on(counts);  pmpp::launch(pmpp::emulated, ...); }
//   std::puts(counts.table().c_str());   counts.of("a").sectors_per_request();
//
// On a GPU watch() returns the pointer it was given and branch() its condition: the kernel's machine code does not
// change. In the emulator a watched access costs one comparison while nothing is counted; unwatched ones cost nothing.
//
// How lanes come together: the emulator runs one thread after the other, but a warp on a GPU makes one request for all
// of its lanes. So an access is filed under its place in the source, the barriers that the block has passed, and how
// often this lane has been at the place since the last of them. The accesses of a warp's lanes with the same file are
// one request. (In a loop that lanes leave out in single iterations, without a barrier in it, they are matched by count
// and not by iteration.) A launch counts each request as
//   sectors     in global memory: distinct pieces of 32 bytes that it touches; 4 for 32 adjacent floats, 32 at the worst
//   passes      in shared memory: turns of the 32 banks of 4 bytes. Lanes that read the same word share a turn, words in
//               the same bank do not. Accesses of 8 bytes go by half warps, of 16 bytes by quarters, a turn each at best
//   divergent   some of the warp's lanes take part and some do not; in branch(): some say yes and some no
// Caches are not counted, nor are atomics: hand those the plain pointer. Shared memory of another block of a cluster counts as
// global memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>
#if PMPP_WITH_EMULATOR
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <pmpp/simt/emulated_block.hpp>
#endif

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

/// The pointer p, to global or shared memory; in the emulator, one whose accesses p[i] are counted under `name`, a string
/// that outlives the counts. An array of several dimensions decays as usual: watch(block, memory.tile, "tile")[y][x].
template <class Block, class T>
PMPP_HOST_DEVICE T* watch(const Block&, T* p, const char*) {
  return p;
}

/// The condition itself; in the emulator, the lanes that say yes are counted under `name`.
template <class Block>
PMPP_HOST_DEVICE bool branch(const Block&, bool condition, const char*) {
  return condition;
}

#if PMPP_WITH_EMULATOR

enum class access_kind { read, write, branch };

/// What the warps of all counted launches did at one place of a kernel.
struct access_count {
  std::string name;         ///< as the kernel said
  std::source_location at;  ///< of the access
  access_kind kind = access_kind::read;
  bool shared = false;         ///< in shared memory
  std::int64_t requests = 0;   ///< of whole warps; for a branch: how often a warp came to it
  std::int64_t divergent = 0;  ///< of these, those that split a warp
  std::int64_t lanes = 0;      ///< that took part, over all requests; for a branch: that said yes
  std::int64_t bytes = 0;      ///< that the lanes asked for
  std::int64_t sectors = 0;    ///< of 32 bytes, in global memory
  std::int64_t passes = 0;     ///< of the banks of shared memory
  std::int64_t ideal_passes = 0;

  double lanes_per_request() const { return requests ? double(lanes) / double(requests) : 0; }
  double sectors_per_request() const { return requests ? double(sectors) / double(requests) : 0; }
  /// The share of the bytes moved that a lane asked for: 1 at best, 1/8 for single floats in sectors of their own. More
  /// than 1 where lanes read the same address.
  double efficiency() const { return sectors ? double(bytes) / (32.0 * double(sectors)) : 0; }
  /// How many lanes wait for the same bank: 1 without conflicts, 32 at the worst.
  double conflict() const { return ideal_passes ? double(passes) / double(ideal_passes) : 0; }
};

/// The counts of some launches. Copies of `all()` stay; the object itself must outlive the scoped_counting on it.
class access_counts : public detail::block_watcher {
public:
  access_counts() = default;
  access_counts(const access_counts&) = delete;
  access_counts& operator=(const access_counts&) = delete;

  /// One entry for each place, in the order of the source.
  std::vector<access_count> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<access_count> sorted = places_;
    std::sort(sorted.begin(), sorted.end(), [](const access_count& a, const access_count& b) {
      if (const int files = std::strcmp(a.at.file_name(), b.at.file_name()); files != 0) return files < 0;
      if (a.at.line() != b.at.line()) return a.at.line() < b.at.line();
      return a.kind != b.kind ? a.kind < b.kind : a.name < b.name;
    });
    return sorted;
  }

  /// All accesses of one name and kind, added up. \throws std::invalid_argument when there is none.
  access_count of(const std::string& name, access_kind kind) const {
    access_count sum;
    for (const access_count& a : all()) {
      if (a.name != name || a.kind != kind) continue;
      const access_count before = sum;
      sum = a;
      sum.requests += before.requests, sum.divergent += before.divergent, sum.lanes += before.lanes;
      sum.bytes += before.bytes, sum.sectors += before.sectors;
      sum.passes += before.passes, sum.ideal_passes += before.ideal_passes;
    }
    if (sum.requests == 0) throw std::invalid_argument("pmpp: no counted access is called " + name);
    return sum;
  }

  /// One line for each place. In the columns: requests of warps, lanes that took part in one, requests that split a
  /// warp; then sectors of global memory for each and the share of them that was asked for, or the conflict of banks.
  std::string table() const {
    std::string text =
        "  access                    line   requests  lanes  divergent   sectors each  efficiency   banks\n";
    for (const access_count& a : all()) {
      const char* kind = a.kind == access_kind::branch ? "if" : a.kind == access_kind::read ? "read" : "write";
      char line[256], memory[64] = "";
      if (a.kind != access_kind::branch && a.shared)
        std::snprintf(memory, sizeof memory, "%32.1f-way", a.conflict());
      else if (a.kind != access_kind::branch)
        std::snprintf(memory, sizeof memory, "%14.1f %10.0f%%", a.sectors_per_request(), 100 * a.efficiency());
      std::snprintf(line, sizeof line, "  %-5s %-19.19s %4u %10lld %6.1f %10lld %s\n", kind, a.name.c_str(),
                    unsigned(a.at.line()), static_cast<long long>(a.requests), a.lanes_per_request(),
                    static_cast<long long>(a.divergent), memory);
      text += line;
    }
    return text;
  }

  /// A lane at a place of its kernel. `address` is nullptr for a branch, and `yes` its answer.
  void record(const detail::thread_ref& t, const char* name, access_kind kind, const void* address, unsigned bytes,
              bool yes, const std::source_location& at) {
    const sanitizer::unobserved scope;
    const std::lock_guard lock(mutex_);
    block_log& log = running_[t.block];
    if (log.barriers != t.block->barriers) {  // all lanes have passed: what they did before is complete
      file(*t.block, log);
      log.barriers = t.block->barriers;
    }
    const std::size_t id = place_of(name, kind, at);
    if (log.at.size() <= id) log.at.resize(id + 1);
    place_log& place = log.at[id];
    if (place.visits.empty()) {
      place.visits.resize(std::size_t(t.block->threads));
      place.warp.resize(std::size_t(t.block->warps));
    }
    std::vector<request>& requests = place.warp[std::size_t(t.thread / warp_size)];
    const std::size_t visit = place.visits[std::size_t(t.thread)]++;
    if (requests.size() <= visit) requests.resize(visit + 1);
    request& r = requests[visit];
    const int lane = t.thread % warp_size;
    r.lanes |= 1u << lane;
    r.yes |= unsigned(yes) << lane;
    r.bytes = bytes;
    r.address[lane] = reinterpret_cast<std::uintptr_t>(address);
  }

  void block_ended(const detail::block_record& b) override {
    const std::lock_guard lock(mutex_);
    const auto log = running_.find(&b);
    if (log == running_.end()) return;
    file(b, log->second);
    running_.erase(log);
  }

private:
  friend class scoped_counting;

  struct request {
    unsigned lanes = 0, yes = 0, bytes = 0;
    std::uintptr_t address[warp_size] = {};
  };
  struct place_log {
    std::vector<std::uint32_t> visits;       // of each thread, since the last barrier
    std::vector<std::vector<request>> warp;  // of each warp: its requests since then
  };
  struct block_log {
    unsigned barriers = 0;
    std::vector<place_log> at;  // as places_
  };

  std::size_t place_of(const char* name, access_kind kind, const std::source_location& at) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const access_count& p = places_[i];
      if (p.kind == kind && detail::same_place(p.at, at) && p.name == name) return i;
    }
    access_count p;
    p.name = name, p.at = at, p.kind = kind;
    places_.push_back(p);
    return places_.size() - 1;
  }

  /// Adds the requests of a block to the counts and forgets them.
  void file(const detail::block_record& b, block_log& log) {
    for (std::size_t i = 0; i < log.at.size(); ++i) {
      for (std::size_t w = 0; w < log.at[i].warp.size(); ++w)
        for (const request& r : log.at[i].warp[w]) add(places_[i], b, r, b.warp[w].exists);
      log.at[i] = {};
    }
  }

  static void add(access_count& p, const detail::block_record& b, const request& r, unsigned exists) {
    ++p.requests;
    const unsigned taking_part = p.kind == access_kind::branch ? r.yes : r.lanes;
    p.lanes += __builtin_popcount(taking_part);
    p.bytes += std::int64_t(r.bytes) * __builtin_popcount(r.lanes);
    if (p.kind == access_kind::branch) {
      p.divergent += r.yes != 0 && r.yes != r.lanes;
      return;
    }
    p.divergent += r.lanes != exists;
    const std::uintptr_t first = r.address[detail::lowest_bit(r.lanes)];
    const auto memory = reinterpret_cast<std::uintptr_t>(b.memory);
    p.shared = first >= memory && first < memory + b.launch->layout.total;
    if (!p.shared) {
      p.sectors += distinct(r, r.lanes, 32, 0, nullptr);
      return;
    }
    // As on a GPU, dynamic shared memory follows the static part.
    const detail::shared_layout& l = b.launch->layout;
    std::uintptr_t start = reinterpret_cast<std::uintptr_t>(b.shared);
    if (first >= reinterpret_cast<std::uintptr_t>(b.dynamic_shared))
      start = reinterpret_cast<std::uintptr_t>(b.dynamic_shared) - (l.static_bytes + 15) / 16 * 16;
    const int group = r.bytes <= 4 ? 32 : r.bytes <= 8 ? 16 : 8;  // lanes whose words fill the banks once
    for (int lane = 0; lane < warp_size; lane += group) {
      const unsigned lanes = r.lanes & (all_lanes >> (32 - group) << lane);
      if (lanes == 0) continue;
      int words[32] = {};
      distinct(r, lanes, 4, start, words);
      int most = 0;
      for (const int n : words) most = n > most ? n : most;
      p.passes += most;
      ++p.ideal_passes;
    }
  }

  /// How many pieces of this many bytes these lanes touch; in words[i] how many of them have a number that is i modulo 32.
  static int distinct(const request& r, unsigned lanes, unsigned piece, std::uintptr_t start, int* words) {
    std::vector<std::uintptr_t> touched;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
      const std::uintptr_t a = r.address[detail::lowest_bit(rest)] - start;
      for (std::uintptr_t p = a / piece; p <= (a + r.bytes - 1) / piece; ++p) touched.push_back(p);
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    if (words)
      for (const std::uintptr_t p : touched) ++words[p % 32];
    return int(touched.size());
  }

  mutable std::mutex mutex_;
  std::vector<access_count> places_;
  std::map<const detail::block_record*, block_log> running_;
};

/// While it lives, launches in the emulator by this OS thread add to `counts`.
class scoped_counting {
public:
  explicit scoped_counting(access_counts& counts) : counts_(counts), scope_(options_with(counts)) {}
  ~scoped_counting() { counts_.running_.clear(); }  // blocks of a launch that failed
  scoped_counting(const scoped_counting&) = delete;
  scoped_counting& operator=(const scoped_counting&) = delete;

private:
  static emulator_options options_with(access_counts& counts) {
    emulator_options options = detail::options_of_this_launch();
    options.watcher = &counts;
    return options;
  }
  access_counts& counts_;
  scoped_emulator_options scope_;
};

namespace detail {

/// The one door from a kernel to the counts, closed on a GPU as those of emulated_block are.
PMPP_HOST_DEVICE inline void count([[maybe_unused]] const thread_ref& t, [[maybe_unused]] const char* name,
                                   [[maybe_unused]] access_kind kind, [[maybe_unused]] const void* address,
                                   [[maybe_unused]] unsigned bytes, [[maybe_unused]] bool yes,
                                   [[maybe_unused]] const std::source_location& at) {
#if !defined(__CUDA_ARCH__)
  if (auto* const watcher = t.block->launch->options.watcher)
    static_cast<access_counts*>(watcher)->record(t, name, kind, address, bytes, yes, at);
#endif
}

/// A subscript, and where in the source it stands.
struct subscript {
  std::int64_t i;
  std::source_location at;
  template <std::integral I>
  PMPP_HOST_DEVICE subscript(I index, std::source_location from = std::source_location::current())
      : i(static_cast<std::int64_t>(index)), at(from) {}
};

/// An element of watched memory: reads and writes like a T&.
template <class T>
class watched_reference {
public:
  PMPP_HOST_DEVICE watched_reference(thread_ref t, T* p, const char* name, const std::source_location& at)
      : thread_(t), p_(p), name_(name), at_(at) {}
  watched_reference(const watched_reference&) = default;

  PMPP_HOST_DEVICE operator T() const {
    count(thread_, name_, access_kind::read, p_, sizeof(T), true, at_);
    return *p_;
  }
  PMPP_HOST_DEVICE const watched_reference& operator=(const T& v) const {
    count(thread_, name_, access_kind::write, p_, sizeof(T), true, at_);
    *p_ = v;
    return *this;
  }
  PMPP_HOST_DEVICE const watched_reference& operator=(const watched_reference& other) const { return *this = T(other); }
  // clang-format off
  template <class V> PMPP_HOST_DEVICE const watched_reference& operator+=(const V& v) const { return *this = T(T(*this) + v); }
  template <class V> PMPP_HOST_DEVICE const watched_reference& operator-=(const V& v) const { return *this = T(T(*this) - v); }
  template <class V> PMPP_HOST_DEVICE const watched_reference& operator*=(const V& v) const { return *this = T(T(*this) * v); }
  template <class V> PMPP_HOST_DEVICE const watched_reference& operator|=(const V& v) const { return *this = T(T(*this) | v); }
  // clang-format on

private:
  thread_ref thread_;
  T* p_;
  const char* name_;
  std::source_location at_;
};

/// A T* that counts. Rows of an array give pointers of the same kind.
template <class T>
class watched_pointer {
public:
  PMPP_HOST_DEVICE watched_pointer(thread_ref t, T* p, const char* name) : thread_(t), p_(p), name_(name) {}

  PMPP_HOST_DEVICE auto operator[](subscript s) const {
    if constexpr (std::is_array_v<T>) {
      return watched_pointer<std::remove_extent_t<T>>(thread_, p_[s.i], name_);
    } else if constexpr (std::is_const_v<T>) {
      count(thread_, name_, access_kind::read, p_ + s.i, sizeof(T), true, s.at);
      return std::remove_const_t<T>(p_[s.i]);
    } else {
      return watched_reference<T>(thread_, p_ + s.i, name_, s.at);
    }
  }
  PMPP_HOST_DEVICE watched_pointer operator+(std::int64_t n) const { return {thread_, p_ + n, name_}; }
  PMPP_HOST_DEVICE watched_pointer operator-(std::int64_t n) const { return {thread_, p_ - n, name_}; }

private:
  thread_ref thread_;
  T* p_;
  const char* name_;
};

}  // namespace detail

template <class T>
PMPP_HOST_DEVICE detail::watched_pointer<T> watch(const emulated_block& block, T* p, const char* name) {
  return {block.self(), p, name};
}

PMPP_HOST_DEVICE inline bool branch(const emulated_block& block, bool condition, const char* name,
                                    std::source_location at = std::source_location::current()) {
  detail::count(block.self(), name, access_kind::branch, nullptr, 0, condition, at);
  return condition;
}

#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
