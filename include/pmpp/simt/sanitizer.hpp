// SPDX-License-Identifier: Apache-2.0
//
// What the emulator tells the sanitizers, and what ThreadSanitizer does not know by itself: fences.
//
// ThreadSanitizer ignores fences, so simt/memory.hpp and simt/atomic.hpp tell it of each one what C++ and PTX say, and no
// more: a fence F of thread t and a later relaxed store of t to a word w synchronise with a thread that loads from w and
// then passes a fence of its own. The three steps:
//
//   1. fence()         t's clock is kept as it is here. A clock can be kept only by a thread, so a fiber that never runs, the
//                      keeper, takes it over. What t writes between fence and store is therefore not published.
//   2. before_store(w) the keeper, not t, releases to w. A thread without a fence has no keeper, and nothing happens.
//   3. after_load(w)   w is remembered; the next fence() of that thread acquires what has been released to it.
//
// In programs without ThreadSanitizer all of this is nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

/// What this translation unit is instrumented with, and the sanitizers' own functions. The functions exist only in
/// instrumented programs: each call stands behind `if constexpr`.
namespace sanitizer {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address = true;
#else
inline constexpr bool address = false;
#endif
#else
inline constexpr bool address = false;
#endif

/// Called with each race that ThreadSanitizer reports.
inline void (*race_handler)(void* report) = nullptr;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread = true;
extern "C" [[gnu::used, gnu::visibility("default"), gnu::no_sanitize_thread]] inline void __tsan_on_report(
    void* report) {
  if (race_handler) race_handler(report);
}
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread = true;
extern "C" [[gnu::used, gnu::visibility("default"), gnu::no_sanitize_thread]] inline void __tsan_on_report(
    void* report) {
  if (race_handler) race_handler(report);
}
#else
inline constexpr bool thread = false;
#endif
#else
inline constexpr bool thread = false;
#endif

#pragma GCC visibility push(default)
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** old_bottom, std::size_t* old_size);
void __sanitizer_symbolize_pc(void* pc, const char* format, char* text, std::size_t size);
void __asan_poison_memory_region(const volatile void* address, std::size_t size);
void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);
int __tsan_get_report_data(void* report, const char** description, int* count, int* stacks, int* accesses,
                           int* locations, int* mutexes, int* threads, int* unique_threads, void** sleep_trace,
                           unsigned long trace_size);
int __tsan_get_report_mop(void* report, unsigned long i, int* thread, void** address, int* size, int* write,
                          int* atomic, void** trace, unsigned long trace_size);
int __tsan_get_report_thread(void* report, unsigned long i, int* thread, unsigned long long* os_thread, int* running,
                             const char** name, int* parent, void** trace, unsigned long trace_size);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#pragma GCC visibility pop

/// The calling fiber has seen everything that was released on `object`.
inline void acquire([[maybe_unused]] void* object) {
  if constexpr (thread) __tsan_acquire(object);
}

/// Whoever acquires `object` later has seen everything that the calling fiber did up to now.
inline void release([[maybe_unused]] void* object) {
  if constexpr (thread) __tsan_release(object);
}

/// Whether ThreadSanitizer watches what the calling fiber reads and writes. Calls nest: off twice needs on twice.
inline void observe([[maybe_unused]] bool on) {
  if constexpr (thread) {
    if (on) {
      AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
      AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    } else {
      AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
      AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
  }
}

/// While one of these lives, the calling fiber is not watched. The emulator's own data are shared by fibers that never
/// run at the same time; races on them would be none.
class [[maybe_unused]] unobserved {
public:
  unobserved() { observe(false); }
  ~unobserved() { observe(true); }
  unobserved(const unobserved&) = delete;
  unobserved& operator=(const unobserved&) = delete;
};

/// The fences of one thread: of a CUDA thread in the emulator, or of an OS thread.
class fence_record {
public:
  fence_record() = default;
  ~fence_record() { forget(); }
  fence_record(const fence_record&) = delete;
  fence_record& operator=(const fence_record&) = delete;

  /// The calling thread, whose record this is, passes a fence that acquires and releases.
  [[gnu::no_sanitize_thread, gnu::noinline]] void fence() {
    for (std::size_t i = 0; i < (loads_ < most ? loads_ : most); ++i) __tsan_acquire(loaded_[i]);
    loads_ = 0;
    if (keeper_ == nullptr) {
      keeper_ = __tsan_create_fiber(0);  // begins with the clock of its creator
    } else {
      __tsan_release(&clock_);
      as_keeper(__tsan_acquire, &clock_);
    }
  }
  /// The thread is about to write *p atomically.
  [[gnu::no_sanitize_thread, gnu::noinline]] void before_store(const void* p) {
    if (keeper_ != nullptr) as_keeper(__tsan_release, const_cast<void*>(p));
  }
  /// The thread has read *p atomically. Of the words since its last fence the last `most` are remembered.
  [[gnu::no_sanitize_thread, gnu::noinline]] void after_load(const void* p) {
    for (std::size_t i = 0; i < (loads_ < most ? loads_ : most); ++i)
      if (loaded_[i] == p) return;
    loaded_[loads_++ % most] = const_cast<void*>(p);
  }
  /// Another thread begins with this record.
  [[gnu::no_sanitize_thread, gnu::noinline]] void forget() {
    if constexpr (thread)
      if (keeper_ != nullptr) __tsan_destroy_fiber(keeper_);
    keeper_ = nullptr;
    loads_ = 0;
  }

private:
  [[gnu::no_sanitize_thread, gnu::noinline]] void as_keeper(void (*f)(void*), void* p) {
    void* const me = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(keeper_, 1 /* no synchronisation */);
    f(p);
    __tsan_switch_to_fiber(me, 1);
  }

  static constexpr std::size_t most = 64;
  void* loaded_[most];
  std::size_t loads_ = 0;
  void* keeper_ = nullptr;
  std::uint64_t clock_ = 0;  // an address on which ThreadSanitizer hangs a clock
};

/// That of the running thread; whoever switches between fibers sets it. Never inlined: a compiler may keep the address of
/// a thread_local across a switch, and the fiber may go on in another OS thread.
[[gnu::noinline]] inline fence_record*& current_fences() {
  asm volatile("" ::: "memory");
  thread_local fence_record of_this_thread;
  thread_local fence_record* current = &of_this_thread;
  return current;
}

}  // namespace sanitizer

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
