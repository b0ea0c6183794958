// SPDX-License-Identifier: Apache-2.0
//
// mpi_communicator: each process of an MPI program is a rank. Needs <mpi.h>; the program calls MPI_Init and MPI_Finalize.
//
//   pmpp::devices gpus{pmpp::mpi_communicator{MPI_COMM_WORLD}};              one GPU a process, or one emulated
//   pmpp::devices cores{pmpp::host, pmpp::mpi_communicator{MPI_COMM_WORLD}}; the cores of each machine
//
// Bytes of a GPU go by way of the host, which waits for them: this works with every MPI. nccl_communicator is the fast way between
// GPUs, and MPI what starts it. A group's receives and sends are posted together when it ends, and then waited for, with a time
// limit: a rank that takes no part becomes a communication_error that names it.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// One process of an MPI communicator. A handle: copies are the same rank.
class mpi_communicator {
public:
  static constexpr bool ends_after_work = true;

  /// A collective call of all processes of `group`, of which a duplicate is used, so that other messages do not interfere.
  /// \param limit  seconds after which a group that has not ended is a communication_error
  explicit mpi_communicator(MPI_Comm group, double limit = 300) : state_(std::make_shared<state>(group, limit)) {}

  int rank() const { return state_->rank; }
  int size() const { return state_->size; }

  /// What the group that is open sends, or receives, when it ends; a group of its own where none is.
  void send(const void* from, std::size_t bytes, int to, stream_handle stream) {
    add({true, to, static_cast<std::byte*>(const_cast<void*>(from)), bytes, stream, {}});
  }
  void receive(void* to, std::size_t bytes, int from, stream_handle stream) {
    add({false, from, static_cast<std::byte*>(to), bytes, stream, {}});
  }
  void group_begin() { ++state_->depth; }
  /// \throws communication_error if MPI refuses, a rank sends another number of bytes than is received, or the limit passes
  void group_end() {
    if (--state_->depth == 0) state_->exchange();
  }

private:
  struct message {
    bool sent;
    int other;
    std::byte* data;
    std::size_t bytes;
    stream_handle stream;
    std::vector<std::byte> staged;  ///< of a GPU's memory
  };

  struct state {
    state(MPI_Comm group, double seconds) : limit(seconds) {
      check(MPI_Comm_dup(group, &comm), "MPI_Comm_dup");
      check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
      check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    }
    ~state() {
      int finalized = 0;
      MPI_Finalized(&finalized);
      if (finalized == 0 && !failed) MPI_Comm_free(&comm);  // with ranks that are gone it might wait for them
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    void check(int status, const char* call) {
      if (status == MPI_SUCCESS) return;
      failed = true;
      char what[MPI_MAX_ERROR_STRING];
      int length = 0;
      MPI_Error_string(status, what, &length);
      throw communication_error("pmpp: rank " + detail::text::of(rank) + ", " + call + ": " +
                                detail::text(what, static_cast<std::size_t>(length)));
    }

    void exchange() {
      std::vector<message> messages = std::exchange(pending, {});
      for (message& m : messages) stage(m);
      std::vector<MPI_Request> requests;
      std::vector<const message*> owners;
      for (const bool sent : {false, true})  // receives first: what arrives has a place
        for (const message& m : messages)
          if (m.sent == sent) post(m, requests, owners);
      wait(requests, owners);
      for (message& m : messages) unstage(m);
    }

    /// In pieces of 1 GiB: MPI counts in int. Both ends have the same pieces, and those of a pair stay in order.
    void post(const message& m, std::vector<MPI_Request>& requests, std::vector<const message*>& owners) {
      constexpr std::size_t piece = std::size_t{1} << 30;
      std::size_t done = 0;
      do {
        const auto bytes = static_cast<int>(min(piece, m.bytes - done));
        std::byte* const at = (m.staged.empty() ? m.data : const_cast<std::byte*>(m.staged.data())) + done;
        requests.push_back(MPI_REQUEST_NULL);
        owners.push_back(&m);
        if (m.sent)
          check(MPI_Isend(at, bytes, MPI_BYTE, m.other, 0, comm, &requests.back()), "MPI_Isend");
        else
          check(MPI_Irecv(at, bytes, MPI_BYTE, m.other, 0, comm, &requests.back()), "MPI_Irecv");
        done += static_cast<std::size_t>(bytes);
      } while (done < m.bytes);
    }

    void wait(std::vector<MPI_Request>& requests, const std::vector<const message*>& owners) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<std::size_t> received(requests.size());
      for (std::size_t i = 0; i < requests.size(); ++i) {
        MPI_Status status{};
        for (int finished = 0; finished == 0;) {
          check(MPI_Test(&requests[i], &finished, &status), owners[i]->sent ? "MPI_Isend" : "MPI_Irecv");
          if (finished != 0) break;
          if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > limit)
            give_up(requests, *owners[i]);
          sched_yield();
        }
        if (owners[i]->sent) continue;
        int bytes = 0;
        check(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
        received[i] = static_cast<std::size_t>(bytes);
      }
      std::size_t sum = 0;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        sum += received[i];
        if (owners[i]->sent || (i + 1 < requests.size() && owners[i + 1] == owners[i])) continue;
        const message& m = *owners[i];
        if (const std::size_t all = std::exchange(sum, 0); all != m.bytes)
          throw communication_error("pmpp: rank " + detail::text::of(m.other) + " sends " + detail::text::of(all) +
                                    " bytes to rank " + detail::text::of(rank) + ", which expects " +
                                    detail::text::of(m.bytes));
      }
    }
    [[noreturn]] void give_up(std::vector<MPI_Request>& requests, const message& m) {
      failed = true;
      for (MPI_Request& request : requests)
        if (request != MPI_REQUEST_NULL) {
          MPI_Cancel(&request);
          MPI_Request_free(&request);
        }
      throw communication_error("pmpp: rank " + detail::text::of(rank) + " has waited " + detail::text::of(limit) +
                                " s for rank " + detail::text::of(m.other) + " to " + (m.sent ? "receive " : "send ") +
                                detail::text::of(m.bytes) + " bytes");
    }

    static void stage([[maybe_unused]] message& m) {
#if PMPP_CUDA
      if (!of_a_gpu(m)) return;
      m.staged.resize(m.bytes);
      if (m.sent) detail::copy_bytes(m.staged.data(), m.data, m.bytes, m.stream);
      pmpp::synchronize(m.stream);
#endif
    }
    static void unstage([[maybe_unused]] message& m) {
#if PMPP_CUDA
      if (m.sent || m.staged.empty()) return;
      detail::copy_bytes(m.data, m.staged.data(), m.bytes, m.stream);
      pmpp::synchronize(m.stream);
#endif
    }
#if PMPP_CUDA
    static bool of_a_gpu(const message& m) {
      cudaPointerAttributes attributes{};
      if (cudaPointerGetAttributes(&attributes, m.data) != cudaSuccess) {
        cudaGetLastError();  // no GPU here
        return false;
      }
      return m.bytes != 0 && attributes.type == cudaMemoryTypeDevice;
    }
#endif

    MPI_Comm comm = MPI_COMM_NULL;
    double limit;
    int rank = 0, size = 0, depth = 0;
    bool failed = false;
    std::vector<message> pending;
  };

  void add(message&& m) {
    require(m.other >= 0 && m.other < size(), [&] {
      return "pmpp: rank " + detail::text::of(rank()) + " calls " + (m.sent ? "send" : "receive") + " with rank " +
             detail::text::of(m.other) + " of " + detail::text::of(size());
    });
    state_->pending.push_back(std::move(m));
    if (state_->depth == 0) state_->exchange();
  }

  std::shared_ptr<state> state_;
};

}  // namespace pmpp::inline PMPP_BACKEND
