// SPDX-License-Identifier: Apache-2.0
//
// Ranks of one process: local_communicator. Sends and receives are written down until the group ends, then matched, and only when
// each has its partner are bytes copied: so a mistake is an exception that names ranks, never a program that waits for ever.
//
//   on GPUs         a copy is enqueued on the receiver's stream, after what is on the sender's; work that comes later on the
//                   sender's stream waits for it. The host waits for nothing.
//   in the emulator (emulated_communicator) it is a memcpy. Until the group has ended, what is to be received is 0xCD, and
//                   check_finished, which distributed_buffer::part calls, throws where such bytes are asked for. So does the end
//                   of a group that receives where it sends from, which is a race on GPUs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Bytes that one rank has for another: one end of it, the sender's or the receiver's.
struct message {
  int from, to;
  std::byte* data;
  std::size_t bytes;

  bool meets(const void* other, std::size_t other_bytes) const {
    const auto a = reinterpret_cast<std::uintptr_t>(data), b = reinterpret_cast<std::uintptr_t>(other);
    return a < b + other_bytes && b < a + bytes;
  }
  bool before(const message& other) const { return from != other.from ? from < other.from : to < other.to; }
};

/// What the ranks of one process share: the messages of the group that is open.
template <backend Where>
class message_board {
public:
  /// \param devices  the GPU of each rank; their number is that of the ranks
  explicit message_board(const std::vector<int>& devices) : devices_(devices), ends_(devices.size()) {
    if constexpr (Where == backend::gpu) {
      for (const int id : devices) {
        [[maybe_unused]] const device_guard guard(id);
        points_.emplace_back();
      }
    }
  }

  int size() const { return static_cast<int>(ends_.size()); }

  void open() { ++depth_; }
  void send(const message& m, stream_handle stream) {
    take_part(m.from, m.to, "send", stream);
    sent_.push_back(m);
  }
  void receive(const message& m, stream_handle stream) {
    take_part(m.to, m.from, "receive", stream);
    if constexpr (Where == backend::emulator) {
      if (m.bytes != 0) std::memset(m.data, 0xCD, m.bytes);
    }
    expected_.push_back(m);
  }
  void close() {
    if (--depth_ > 0) return;
    std::vector<rank_end> ends(ends_.size());
    std::swap(ends, ends_);
    const auto sent = in_order(std::exchange(sent_, {})), expected = in_order(std::exchange(expected_, {}));
    require_partners(sent, expected, ends);
    deliver(sent, expected, ends);
  }

  /// \throws communication_error if some of these bytes are still to be received
  void check_finished(const void* first, std::size_t bytes) const {
    for (const message& m : expected_)
      if (m.meets(first, bytes))
        throw communication_error("pmpp: bytes that rank " + text::of(m.to) + " receives from rank " +
                                  text::of(m.from) + " are asked for before their exchange has finished");
  }

private:
  /// Of one rank, in the group that is open.
  struct rank_end {
    bool takes_part = false;
    stream_handle stream = nullptr;
  };

  void take_part(int self, int other, const char* call, stream_handle stream) {
    const auto who = [&] { return "pmpp: rank " + text::of(self); };
    if (depth_ == 0)
      throw communication_error(who() + " calls " + call +
                                " outside of a group: in one thread it would wait for rank " + text::of(other) +
                                " for ever");
    require(other >= 0 && other < size(),
            [&] { return who() + " calls " + call + " with rank " + text::of(other) + " of " + text::of(size()); });
    rank_end& me = ends_[static_cast<std::size_t>(self)];
    require(!me.takes_part || me.stream == stream, [&] { return who() + " uses two streams in one group"; });
    me = {true, stream};
  }

  /// By pair of ranks; those of a pair in the order of their calls.
  static std::vector<message> in_order(std::vector<message> all) {
    std::stable_sort(all.begin(), all.end(), [](const message& a, const message& b) { return a.before(b); });
    return all;
  }

  /// Each message is sent and expected, with the same number of bytes.
  static void require_partners(const std::vector<message>& sent, const std::vector<message>& expected,
                               const std::vector<rank_end>& ends) {
    for (std::size_t i = 0; i < sent.size() || i < expected.size(); ++i) {
      const bool not_sent = i == sent.size() || (i < expected.size() && expected[i].before(sent[i]));
      const bool not_expected = !not_sent && (i == expected.size() || sent[i].before(expected[i]));
      if (!not_sent && !not_expected && sent[i].bytes == expected[i].bytes) continue;
      const message& m = not_sent ? expected[i] : sent[i];
      std::string fault = not_sent ? " are expected, but not sent" : " are sent, but not expected";
      if (!not_sent && !not_expected) fault = " are sent, but " + std::to_string(expected[i].bytes) + " expected";
      std::string missing;
      for (std::size_t r = 0; r < ends.size(); ++r)
        if (!ends[r].takes_part) (missing += ' ') += std::to_string(r);
      if (!missing.empty()) fault += "; ranks that took no part in this group:" + missing;
      throw communication_error("pmpp: " + text::of(m.bytes) + " bytes from rank " + text::of(m.from) + " to rank " +
                                text::of(m.to) + fault);
    }
  }

  void deliver(const std::vector<message>& sent, const std::vector<message>& expected,
               const std::vector<rank_end>& ends) {
    if constexpr (Where == backend::emulator) {
      for (const message& a : sent)
        for (const message& b : expected)
          if (a.meets(b.data, b.bytes))
            throw communication_error("pmpp: rank " + text::of(b.to) + " receives bytes from rank " + text::of(b.from) +
                                      " where rank " + text::of(a.from) + " sends from in the same group");
      for (std::size_t i = 0; i < sent.size(); ++i)
        if (sent[i].bytes != 0) std::memcpy(expected[i].data, sent[i].data, sent[i].bytes);
    } else {
      order(ends, sent, &message::from, &message::to);
      for (std::size_t i = 0; i < sent.size(); ++i) {
        const auto to = static_cast<std::size_t>(expected[i].to);
        // Under another current device CUDA lets one copy between pools wait for the other: half the rate in both directions.
        [[maybe_unused]] const device_guard guard(devices_[to]);
        detail::copy_bytes(expected[i].data, sent[i].data, sent[i].bytes, ends[to].stream);
      }
      order(ends, sent, &message::to, &message::from);
    }
  }
  /// For each message: what its `second` rank enqueues from here on waits for what its `first` rank has enqueued.
  void order(const std::vector<rank_end>& ends, const std::vector<message>& messages, int message::*first,
             int message::*second) {
    std::vector<char> recorded(ends.size());
    for (const message& m : messages) {
      const auto a = static_cast<std::size_t>(m.*first), b = static_cast<std::size_t>(m.*second);
      if (ends[a].stream == ends[b].stream) continue;
      if (recorded[a] == 0) points_[a].record(ends[a].stream);
      recorded[a] = 1;
#if PMPP_CUDA
      check(cudaStreamWaitEvent(ends[b].stream, points_[a].handle(), 0), "cudaStreamWaitEvent");
#endif
    }
  }

  std::vector<int> devices_;  // the GPU of each rank
  std::vector<message> sent_, expected_;
  std::vector<rank_end> ends_;
  std::vector<event> points_;  // of each rank, on GPUs
  int depth_ = 0;
};

}  // namespace detail

/// One rank of a process that drives all of them. A small value; the ranks made together share one board.
template <backend Where>
class local_communicator {
public:
  /// GPUs have their work before the host enqueues copies. In the emulator a program that reads messages too early is so found.
  static constexpr bool ends_after_work = true;

  /// The communicators of all ranks. \param devices  the GPU of each; their number is what counts in the emulator.
  static std::vector<local_communicator> all(const std::vector<int>& devices) {
    const auto board = std::make_shared<detail::message_board<Where>>(devices);
    std::vector<local_communicator> ranks;
    for (int r = 0; r < board->size(); ++r) ranks.push_back(local_communicator(board, r));
    return ranks;
  }

  int rank() const { return rank_; }
  int size() const { return board_->size(); }

  /// \throws communication_error outside of a group; std::invalid_argument if there is no such rank, or for a second stream
  void send(const void* from, std::size_t bytes, int to, stream_handle stream) {
    board_->send({rank_, to, static_cast<std::byte*>(const_cast<void*>(from)), bytes}, stream);
  }
  void receive(void* to, std::size_t bytes, int from, stream_handle stream) {
    board_->receive({from, rank_, static_cast<std::byte*>(to), bytes}, stream);
  }
  void group_begin() { board_->open(); }
  /// The outermost end of a group copies. \throws communication_error, before a byte is copied, if a message has no partner
  void group_end() { board_->close(); }

  /// \throws communication_error if some of these bytes are received by the group that is open
  void check_finished(const void* first, std::size_t bytes) const { board_->check_finished(first, bytes); }

private:
  local_communicator(std::shared_ptr<detail::message_board<Where>> board, int rank)
      : board_(std::move(board)), rank_(rank) {}

  std::shared_ptr<detail::message_board<Where>> board_;
  int rank_;
};

using emulated_communicator = local_communicator<backend::emulator>;

}  // namespace pmpp::inline PMPP_BACKEND
