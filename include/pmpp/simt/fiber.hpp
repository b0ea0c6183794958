// SPDX-License-Identifier: Apache-2.0
//
// Fibers: stacks that a program switches between by hand. The emulator runs each CUDA thread on one.
//
//   fiber here;                              // stands for the OS thread that is running now
//   fiber other(stack, entry, argument);     // runs entry(argument) when it is first switched to
//   fiber::switch_to(here, other);           // goes on in `other`; returns when another fiber switches back to `here`
//
// Switches are symmetric: any fiber may switch to any other that is not running, there is no scheduler in between. That
// halves their number against a scheduler on a stack of its own. Entry must not return: a fiber that is no longer
// needed is destroyed while suspended. Nothing is unwound then, so no object may live on its stack that needs a
// destructor; the emulator's fibers wait in an endless loop, and those suspended in a kernel are resumed to throw
// first.
//
// Two ways to switch, chosen at compile time: Boost.Context (PMPP_WITH_BOOST_CONTEXT, 10 ns), or POSIX ucontext, which
// asks the operating system to save the signal mask each time (300 ns).
//
// A sanitizer must be told of each switch. AddressSanitizer keeps the bounds of the current stack; ThreadSanitizer
// keeps one vector clock per fiber, and a switch is told to it as "no synchronisation": two fibers are then two threads
// that happen to share a core, and it reports their races although they never run at the same time.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/sanitizer.hpp>
#if PMPP_WITH_BOOST_CONTEXT
#include <boost/context/fiber.hpp>
#else
#include <ucontext.h>
#endif

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

/// The memory of a stack: `bytes` at `lowest`; the stack grows down from the end.
struct fiber_stack {
  std::byte* lowest = nullptr;
  std::size_t bytes = 0;
};

/// Owns the memory of `count` stacks, each above a guard page: a kernel that overruns its stack stops with a
/// segmentation fault instead of writing into its neighbour's. Pages that are never touched cost no memory. A guard costs
/// two mappings, of which Linux allows a process 65,530: past 8192 stacks (a grid whose blocks all wait for each other on
/// a machine of more than a hundred multiprocessors) further ones have none.
class stack_slab {
public:
  explicit stack_slab(int count, std::size_t bytes) : page_(std::size_t(::sysconf(_SC_PAGESIZE))), count_(count) {
    stride_ = (bytes + page_ - 1) / page_ * page_ + page_;
    void* memory = ::mmap(nullptr, stride_ * std::size_t(count_), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    if (stacks().fetch_add(count_, std::memory_order_relaxed) + count_ > most_guarded) return;
    for (int i = 0; i < count_; ++i)  // a failure only costs the protection
      static_cast<void>(::mprotect(memory_ + stride_ * std::size_t(i), page_, PROT_NONE));
  }
  ~stack_slab() {
    ::munmap(memory_, stride_ * std::size_t(count_));
    stacks().fetch_sub(count_, std::memory_order_relaxed);
  }
  stack_slab(const stack_slab&) = delete;
  stack_slab& operator=(const stack_slab&) = delete;

  int count() const { return count_; }

  /// The i-th stack. The ends differ by some cache lines modulo a page: otherwise the hot ends of all stacks would
  /// fall into the same few sets of the L1 cache and throw each other out.
  fiber_stack stack(int i) const {
    const std::size_t colour = std::size_t(i % 16) * 192;
    return {memory_ + stride_ * std::size_t(i) + page_, stride_ - page_ - colour};
  }

private:
  static constexpr int most_guarded = 8192;
  static std::atomic<int>& stacks() {
    static std::atomic<int> all{0};
    return all;
  }

  std::byte* memory_ = nullptr;
  std::size_t page_, stride_ = 0;
  int count_;
};

/// One flow of control. It has an address by which others switch to it, so it is neither copied nor moved.
class fiber {
public:
  using entry_function = void (*)(void* argument);

  /// Stands for the OS thread that first switches away from it.
  fiber() = default;

  /// Runs entry(argument) on `stack` when it is first switched to. `entry` must neither return nor throw.
  fiber(fiber_stack stack, entry_function entry, void* argument) : stack_(stack), entry_(entry), argument_(argument) {
    if constexpr (sanitizer::thread) {
      thread_context_ = sanitizer::__tsan_create_fiber(0);
      observe(false);  // from its first instruction, until the emulator calls a kernel
    }
#if PMPP_WITH_BOOST_CONTEXT
    new (&context_) boost::context::fiber(std::allocator_arg, borrowed_stack{stack},
                                          [this](boost::context::fiber&& caller) -> boost::context::fiber {
                                            arrived_from(std::move(caller));
                                            entry_(argument_);
                                            std::terminate();
                                          });
#else
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack.lowest;
    context_.uc_stack.ss_size = stack.bytes;
    context_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);  // makecontext hands over ints only
    ::makecontext(&context_, reinterpret_cast<void (*)()>(&fiber::start), 2, unsigned(self >> 32 & 0xffffffffu),
                  unsigned(self & 0xffffffffu));
#endif
  }
  ~fiber() {
    if constexpr (sanitizer::thread)
      if (entry_) {
        observe(true);  // a fiber must not end while it is ignored
        sanitizer::__tsan_destroy_fiber(thread_context_);
      }
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// Tells a fiber that stands for an OS thread which OS thread that is; must run on it, before the first switch.
  void adopt_this_thread() {
    if constexpr (sanitizer::thread) {
      thread_context_ = sanitizer::__tsan_get_current_fiber();
      fences_ = sanitizer::current_fences();
    }
  }

  /// Suspends `from`, which must be running, and goes on in `to`. Returns when somebody switches back to `from`.
  static void switch_to(fiber& from, fiber& to) {
    to.previous_ = &from;
    if constexpr (sanitizer::address)
      sanitizer::__sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_.lowest, to.stack_.bytes);
    if constexpr (sanitizer::thread) {
      sanitizer::current_fences() = to.fences_;
      sanitizer::__tsan_switch_to_fiber(to.thread_context_, 1 /* no synchronisation */);
    }
#if PMPP_WITH_BOOST_CONTEXT
    from.arrived_from(std::move(to.context_).resume());
#else
    ::swapcontext(&from.context_, &to.context_);
    from.arrived_from();
#endif
  }

  /// What runs on this fiber from here on is another thread, which has passed no fence.
  void forget_fences() {
    if constexpr (sanitizer::thread) own_fences_.forget();
  }

  /// The name that ThreadSanitizer gives this fiber in its reports.
  void name([[maybe_unused]] const char* text) {
    if constexpr (sanitizer::thread) sanitizer::__tsan_set_fiber_name(thread_context_, text);
  }

private:
  // As this fiber, without running on it: ThreadSanitizer keeps what it ignores per fiber.
  void observe(bool on) {
    void* const me = sanitizer::__tsan_get_current_fiber();
    sanitizer::__tsan_switch_to_fiber(thread_context_, 1);
    sanitizer::observe(on);
    sanitizer::__tsan_switch_to_fiber(me, 1);
  }

  void finish_switch() {
    if constexpr (sanitizer::address) {
      const void* bottom = nullptr;
      std::size_t size = 0;
      sanitizer::__sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
      if (!previous_->entry_) previous_->stack_ = {static_cast<std::byte*>(const_cast<void*>(bottom)), size};
    }
  }

#if PMPP_WITH_BOOST_CONTEXT
  // Boost hands the continuation of the one who switched to whom it switches to.
  void arrived_from(boost::context::fiber&& caller) {
    finish_switch();
    previous_->context_ = std::move(caller);
  }

  struct borrowed_stack {
    fiber_stack stack;
    boost::context::stack_context allocate() {
      boost::context::stack_context c;
      c.size = stack.bytes;
      c.sp = stack.lowest + stack.bytes;
      return c;
    }
    void deallocate(boost::context::stack_context&) noexcept {}
  };
  union {
    boost::context::fiber context_{};  // never destroyed: its destructor would unwind the stack
  };
#else
  void arrived_from() { finish_switch(); }

  static void start(unsigned high, unsigned low) {
    fiber& self = *reinterpret_cast<fiber*>(std::uintptr_t(high) << 32 | low);
    self.arrived_from();
    self.entry_(self.argument_);
    std::terminate();
  }
  ucontext_t context_{};
#endif

  fiber_stack stack_;
  entry_function entry_ = nullptr;
  void* argument_ = nullptr;
  fiber* previous_ = nullptr;  // who switched here last
  void* fake_stack_ = nullptr;
  void* thread_context_ = nullptr;
  sanitizer::fence_record own_fences_;
  sanitizer::fence_record* fences_ = &own_fences_;
};

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
