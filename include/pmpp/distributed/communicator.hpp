// SPDX-License-Identifier: Apache-2.0
//
// How bytes get from rank to rank. A communicator is one rank's end of a group of ranks:
//
//   rank(), size()                  which of how many
//   send(from, bytes, to, stream)   to rank `to`
//   receive(to, bytes, from, stream)
//   group_begin(), group_end()      what is asked for in between, by all ranks that this process drives, happens together
//
// Everything else is made of these: all_gather, all_to_all_v. A model that has a better all_gather of its own has a member of this
// name; one whose group_end takes the host's time, for messages that it waits for or copies that it enqueues, has `static constexpr bool
// ends_after_work = true`, and is asked to end a group once all that may go on meanwhile is enqueued. There are three models:
//
//   local_communicator   ranks of one process: copies between GPUs, or, as emulated_communicator, between arrays of the host
//   mpi_communicator     a process is a rank; its own header, which needs <mpi.h>
//   nccl_communicator    its own header, which needs <nccl.h>
//
// One thread drives any number of ranks: within a group nothing waits, so no order of calls deadlocks. Messages between the same two
// ranks arrive in the order in which they were sent; a message has as many bytes as its receiver asks for. After group_end what was
// received is there for work enqueued on the receiver's stream, and what was sent may be overwritten by work on the sender's.
// (PMPP ch. 20.)
#pragma once

#include <concepts>
#include <cstddef>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/execution.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Ranks did not come together: one is missing, has sent another number of bytes, or has died. what() names ranks and bytes.
class communication_error : public detail::exception_with_text {
public:
  explicit communication_error(const detail::text& message) : exception_with_text(message) {}
};

/// One rank's end of a group of ranks.
template <class C>
concept communicator = requires(C& c, const C& same, const void* from, void* to, std::size_t bytes, int other,
                                stream_handle stream) {
  { same.rank() } -> std::convertible_to<int>;
  { same.size() } -> std::convertible_to<int>;
  c.send(from, bytes, other, stream);
  c.receive(to, bytes, other, stream);
  c.group_begin();
  c.group_end();
};

/// Gathers `bytes` of every rank, at `from`, in the order of the ranks at `to` of every rank. Part of a group.
/// \param to  room for size() * bytes; `from` may be this rank's place in it. Moves (size - 1) * bytes to and from each rank.
template <communicator C>
void all_gather(C& link, const void* from, void* to, std::size_t bytes, stream_handle stream) {
  if constexpr (requires { link.all_gather(from, to, bytes, stream); }) {
    link.all_gather(from, to, bytes, stream);
  } else {
    auto* const all = static_cast<std::byte*>(to);
    for (int other = 0; other < link.size(); ++other) {
      std::byte* const place = all + static_cast<std::size_t>(other) * bytes;
      if (other == link.rank() && place == from) continue;
      link.send(from, bytes, other, stream);
      link.receive(place, bytes, other, stream);
    }
  }
}

/// Sends bytes [send_offsets[r], send_offsets[r + 1]) at `from` to each rank r, and receives those of rank r at
/// [receive_offsets[r], receive_offsets[r + 1]) of `to`. Part of a group. Both ends know the sizes; pieces of no bytes are not sent.
template <communicator C>
void all_to_all_v(C& link, const void* from, const std::size_t* send_offsets, void* to,
                  const std::size_t* receive_offsets, stream_handle stream) {
  for (int other = 0; other < link.size(); ++other) {
    const std::size_t out = send_offsets[other + 1] - send_offsets[other];
    const std::size_t in = receive_offsets[other + 1] - receive_offsets[other];
    if (out != 0) link.send(static_cast<const std::byte*>(from) + send_offsets[other], out, other, stream);
    if (in != 0) link.receive(static_cast<std::byte*>(to) + receive_offsets[other], in, other, stream);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND
