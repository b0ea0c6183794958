// SPDX-License-Identifier: Apache-2.0
//
// Control flow on the device: loops and branches that the host takes no part in.
//
//   repeat_while(where, flag, body)        while (*flag) body(on);
//   if_then(where, flag, body)             if (*flag) body(on);
//   if_then(where, flag, body, otherwise)  if (*flag) body(on); else otherwise(on);
//   captured_graph g{where, body}; g();    what body enqueues, again and again by one launch
//
// `body` is called with the policy to launch with: [&](auto on) { pmpp::spmv(on, ...); ... }. On a GPU its calls are captured
// once, into a graph that the device repeats as often as the flag says:
//
//   capture on a stream of its own:  decide -> WHILE node          decide: a kernel of one thread, which reads the flag, counts
//                                                |                 the turn and sets the condition of the node
//                                body: calls of body -> decide
//
// A turn costs what its kernels take and the device's own way back to the first of them, not the way to the host: no copy, no
// wait, no launch. What was captured holds pointers, so that buffers and the workspace must outlive it, and host variables have
// the value that they had then: a body that swaps two buffers swaps them once. On seq, host and the emulator, and with a driver
// or a toolkit older than CUDA 12.4, which have no such nodes, it is a loop that calls the body in each turn.
// (CUDA programming guide, conditional graph nodes.)
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <pmpp/control_flow/capture.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a repeat_while ends other than by its flag, and what it tells.
struct repeat_options {
  /// Turns after which it ends although the flag is still true: a guard against one that never becomes false.
  std::int64_t most_turns = std::numeric_limits<std::int64_t>::max();
  /// Where the number of turns is written, visible to `where`; nullptr: nowhere. If the flag is true afterwards, most_turns
  /// ended the loop.
  std::int64_t* turns = nullptr;
};

namespace detail {

/// What decides whether there is another turn.
template <class Flag>
struct turn_rule {
  Flag flag;
  std::int64_t* turns;  ///< counts them; nullptr where the count is not wanted
  std::int64_t most;

  /// Before the first turn, or after one.
  PMPP_HOST_DEVICE bool operator()(bool first) const {
    std::int64_t done = 0;
    if (turns != nullptr) *turns = done = first ? 0 : *turns + 1;
    return done < most && static_cast<bool>(flag[0]);
  }
};

/// Sink: takes the decision.
template <class Flag, class Sink>
struct decide_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, turn_rule<Flag> rule, bool first, Sink sink) const {
    simt::previous_kernels_done();
    if (block.thread() == 0) sink(rule(first));
  }
};
struct decision_for_host {
  bool* target;
  completion done;
  PMPP_HOST_DEVICE void operator()(bool goes_on) const {
    *target = goes_on;
    done.signal();
  }
};

/// The decision, here and at once.
template <class P, class Flag>
bool decide_now(const char* function, const P& where, const turn_rule<Flag>& rule, bool first) {
  if constexpr (kernel_execution<P>) {
    const recording_scope none(nullptr);  // of an outer loop that is no graph either
    reply<bool, P> answer(function, where);
    pmpp::launch(where, 1, decide_kernel<Flag, decision_for_host>{}, rule, first,
                 decision_for_host{answer.target(), answer.done()});
    return answer.wait();
  } else {
    return rule(first);
  }
}

template <class P, class Body>
constexpr bool require_body() {
  constexpr bool takes_policy = std::is_invocable_v<Body&, const P&>;
  static_assert(takes_policy, "pmpp: the body is called with the policy to launch with: [&](auto on) {...}");
  return takes_policy;
}
template <class Flag>
constexpr bool require_flag() {
  constexpr bool is_number = std::is_integral_v<value_of<Flag>>;
  static_assert(is_number, "pmpp: the flag must be a bool or an integer");
  return is_number;
}

#if PMPP_CUDA && CUDART_VERSION >= 12040

/// The conditions of one or two nodes.
struct conditions {
  unsigned long long if_true, if_false = 0;
  bool has_false = false;
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] bool goes_on) const {
#if defined(__CUDA_ARCH__)
    cudaGraphSetConditional(if_true, goes_on ? 1 : 0);
    if (has_false) cudaGraphSetConditional(if_false, goes_on ? 0 : 1);
#endif
  }
};

/// Puts a node and its body into the graph that where.stream is captured into. after(on) ends the body.
template <class P, class Body, class After>
void record_node(const char* function, const P& where, cudaGraphConditionalNodeType type, unsigned long long condition,
                 Body& body, const After& after) {
  const cudaGraph_t graph = add_node(where.stream, type, condition);
  capture inside(graph);
  const P on = where.on(inside.stream());
  detail::call_body(function, body, on);
  after(on);
  inside.end(function);
  require_repeatable(function, graph);
}

template <class P, class Flag, class Body>
void record_while(const char* function, const P& where, const turn_rule<Flag>& rule, Body& body) {
  const conditions goes_on{new_condition(where.stream)};
  const auto decide = [&](const P& on, bool first) {
    pmpp::launch(on, 1, decide_kernel<Flag, conditions>{}, rule, first, goes_on);
  };
  decide(where, true);
  detail::record_node(function, where, cudaGraphCondTypeWhile, goes_on.if_true, body,
                      [&](const P& on) { decide(on, false); });
}

template <class P, class Flag, class Body, class Otherwise>
void record_if(const char* function, const P& where, const turn_rule<Flag>& rule, Body& body, Otherwise* otherwise) {
  conditions branch{new_condition(where.stream)};
  if (otherwise != nullptr) branch = {branch.if_true, new_condition(where.stream), true};
  pmpp::launch(where, 1, decide_kernel<Flag, conditions>{}, rule, true, branch);
  const auto nothing = [](const P&) {};
  detail::record_node(function, where, cudaGraphCondTypeIf, branch.if_true, body, nothing);
  if (otherwise != nullptr)
    detail::record_node(function, where, cudaGraphCondTypeIf, branch.if_false, *otherwise, nothing);
}

/// What `record` enqueues with the policy that it is given, as a graph.
template <class P, class F>
executable_graph recorded(const char* function, const P& where, F record) {
  capture outside;
  record(where.on(outside.stream()));
  return executable_graph(outside.end(function));
}

/// Calls record(on), of which the calls are captured: into the graph that where.stream is captured into, or into one that is
/// launched at once. What throws leaves no half of a loop behind: a capture of the caller's is then invalid.
template <class P, class F>
void record_or_launch(const char* function, const P& where, F record) {
  if (!is_captured(where.stream)) {
    detail::recorded(function, where, record).launch(where.stream);
    return;
  }
  try {
    record(where);
  } catch (...) {
    if (recorder() != nullptr) {
      recording_failed() = true;  // the capture is an outer body's, and ends with that
    } else {
      cudaStreamSynchronize(where.stream);  // which is not allowed, so that the caller's capture ends in an error
      cudaGetLastError();
    }
    throw;
  }
}

#endif

/// Without nodes the host reads the flag, which it cannot while a stream is captured.
template <class P>
void require_no_capture([[maybe_unused]] const char* function, [[maybe_unused]] const P& where) {
#if PMPP_CUDA
  if constexpr (gpu_execution<P>) {
    require(!detail::is_captured(where.stream), [&] {
      return detail::text("pmpp::") + function +
             ": the stream is being captured, and only with CUDA 12.4, toolkit and driver, has a graph such nodes";
    });
  }
#endif
}

/// The one value that a flag is, after all checks.
template <class P, class Flag>
auto flag_of(const char* function, const P& where, Flag& flag) {
  detail::check_room(function, "flag", flag, 1);
  const element_iterator<false, unwrapped<std::remove_cvref_t<decltype(detail::begin_of(flag))>>> it =
      detail::unwrap(detail::begin_of(flag));
  detail::check_reachable(where, function, it);
  return it;
}

template <class P, class Flag, class Body, class Otherwise>
void branch(const P& where, Flag& flag, Body& body, Otherwise* otherwise) {
  const char* const function = "if_then";
  const auto it = detail::flag_of(function, where, flag);
  using iterator = std::remove_const_t<decltype(it)>;
  if constexpr (require_flag<iterator>() && require_body<P, Body>() && require_body<P, Otherwise>()) {
    const turn_rule<iterator> rule{it, nullptr, 1};
#if PMPP_CUDA && CUDART_VERSION >= 12040
    if constexpr (gpu_execution<P>)
      if (has_conditional_nodes())
        return detail::record_or_launch(function, where,
                                        [&](const P& on) { detail::record_if(function, on, rule, body, otherwise); });
#endif
    detail::require_no_capture(function, where);
    if (detail::decide_now(function, where, rule, true))
      detail::call_body(function, body, where);
    else if (otherwise != nullptr)
      detail::call_body(function, *otherwise, where);
  }
}

}  // namespace detail

/// Calls body(on) as long as the flag is true: it is read before the first turn and after each one, where `where` runs.
///
/// \param flag     one bool or integer, nonzero for true: an iterator, or a range with room for one; visible to `where`. It may
///                 be computed from what is there (transform_iterator), so that a loop needs no kernel for it.
/// \param body     callable with the policy to launch with. On a GPU it is called once, before anything runs, with a stream of
///                 its own that is being captured, and the workspace of `where`; elsewhere once for each turn. \pre what it
///                 uses lives until the work is done, and for a graph of the caller's as long as that.
/// \param options  the most turns, and where their number is written.
/// Nested loops and branches may be in the body; with most_turns and without `turns` they take 256 bytes of the workspace.
/// Asynchronous on a GPU with CUDA 12.4; may be captured. Allocates the graph, which takes the host some 100 us: captured_graph
/// keeps it. Without CUDA 12.4, toolkit and driver, it waits for the flag in each turn and cannot be captured.
/// Cost of a turn: its body, and a launch of one thread.
/// \throws std::invalid_argument for a null flag, negative most_turns, and a body that cannot be repeated: one that waits,
/// allocates, calls a function that returns a value, lacks a workspace that it needs, or copies from ordinary host memory;
/// std::length_error for an empty range; what the body throws; cuda_error. Nothing has run then on a GPU, the stream is usable,
/// and a capture of the caller's that `where` belongs to is invalid. Example: test/control_flow.cpp, turns.
template <execution_policy P, output_for<P> Flag, class Body>
void repeat_while(const P& where, Flag&& flag, Body body, const repeat_options& options = {}) {
  const char* const function = "repeat_while";
  const auto it = detail::flag_of(function, where, flag);
  require(options.most_turns >= 0, [&] {
    return "pmpp::repeat_while: most_turns is " + detail::text::of(options.most_turns) + ", not at least 0";
  });
  detail::check_reachable(where, function, options.turns);
  using iterator = std::remove_const_t<decltype(it)>;
  if constexpr (detail::require_flag<iterator>() && detail::require_body<P, Body>()) {
    detail::turn_rule<iterator> rule{it, options.turns, options.most_turns};
    const bool counts = options.turns == nullptr && options.most_turns < repeat_options{}.most_turns;
    const auto run = [&] {
#if PMPP_CUDA && CUDART_VERSION >= 12040
      if constexpr (gpu_execution<P>)
        if (detail::has_conditional_nodes())
          return detail::record_or_launch(function, where,
                                          [&](const P& on) { detail::record_while(function, on, rule, body); });
#endif
      detail::require_no_capture(function, where);
      for (bool first = true; detail::decide_now(function, where, rule, first); first = false)
        detail::call_body(function, body, where);
    };
    if constexpr (kernel_execution<P>) {
      const detail::scratch memory(where, counts ? sizeof(std::int64_t) : 0, 0);
      if (counts) rule.turns = static_cast<std::int64_t*>(memory.data());
      run();
    } else {
      std::int64_t turns = 0;
      if (counts) rule.turns = &turns;
      run();
    }
  }
}

/// Calls body(on) if the flag is true, else otherwise(on), if there is one. As repeat_while: on a GPU both are called once, and
/// the device chooses. Example: test/control_flow.cpp, branches.
template <execution_policy P, output_for<P> Flag, class Body>
void if_then(const P& where, Flag&& flag, Body body) {
  detail::branch(where, flag, body, static_cast<Body*>(nullptr));
}
template <execution_policy P, output_for<P> Flag, class Body, class Otherwise>
void if_then(const P& where, Flag&& flag, Body body, Otherwise otherwise) {
  detail::branch(where, flag, body, __builtin_addressof(otherwise));
}

/// What a body enqueues, to be enqueued again and again:
///
///   pmpp::captured_graph solve{device.on(s).with(w), [&](auto on) { ...; pmpp::repeat_while(on, ...); ... }};
///   solve();       one launch, for any number of calls, loops and branches in it
///
/// On a GPU the body is called once, by the constructor, and again by a call on a stream that is itself being captured; elsewhere,
/// and without CUDA 12.4, toolkit and driver, it is called by each call. What it may do and what must outlive it: as repeat_while,
/// but that it may copy from and to ordinary host memory. Movable; one call at a time. It may be destroyed while it runs.
template <kernel_execution P, class Body>
class captured_graph {
public:
  /// \throws as repeat_while; nothing has run then.
  captured_graph(const P& where, Body body) : where_(where), body_(std::move(body)) {
    static_cast<void>(detail::require_body<P, Body>());
#if PMPP_CUDA && CUDART_VERSION >= 12040
    if constexpr (gpu_execution<P>)
      if (detail::has_conditional_nodes())
        graph_ = detail::recorded("captured_graph", where_,
                                  [&](const P& on) { detail::call_body("captured_graph", body_, on); });
#endif
  }

  /// Enqueues it on the stream of its policy, or on that of another one. Asynchronous on a GPU; may be captured. \throws cuda_error
  void operator()() { (*this)(where_); }
  void operator()(const P& where) {
#if PMPP_CUDA && CUDART_VERSION >= 12040
    if constexpr (gpu_execution<P>)
      if (graph_ && !detail::is_captured(where.stream)) return graph_.launch(where.stream);
#endif
    P on = where_;
    on.stream = where.stream;
    detail::call_body("captured_graph", body_, on);
  }

private:
  P where_;
  Body body_;
#if PMPP_CUDA && CUDART_VERSION >= 12040
  detail::executable_graph graph_;
#endif
};

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
