// SPDX-License-Identifier: Apache-2.0
//
// nccl_communicator: ranks that NCCL connects, over NVLink, PCIe or a network. Needs <nccl.h> and a CUDA program.
//
//   pmpp::devices gpus{pmpp::nccl_communicator{comm}};             an ncclComm_t that the program owns, on the current GPU
//   pmpp::devices gpus{pmpp::nccl_communicator::over(mpi)};        one GPU a process; another communicator starts it
//   pmpp::devices gpus{pmpp::device, pmpp::nccl_communicator::all({0, 1}), {0, 1}};    GPUs of one process
//
// All calls enqueue on the streams of the ranks. A peer that dies, and one that takes no part, are found where the program waits:
// devices::synchronize asks check_alive, which ends NCCL's kernels and throws.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/pool.hpp>

#if !PMPP_CUDA
#error "pmpp: nccl_communicator is for programs with CUDA: PMPP_CUDA=1, or the CMake target pmpp::cuda"
#endif

namespace pmpp::inline PMPP_BACKEND {

/// One rank of an NCCL communicator. A handle: copies are the same rank.
class nccl_communicator {
public:
  /// \param comm   stays the program's, which keeps it for as long as this is used, and aborts it after a communication_error
  /// \param limit  seconds of waiting after which check_alive gives up
  explicit nccl_communicator(ncclComm_t comm, double limit = 300) : nccl_communicator(comm, limit, false) {}

  /// One GPU, the current one, for each rank of `other`, which passes NCCL's unique id on. A collective call.
  template <communicator C>
  static nccl_communicator over(C& other, double limit = 300) {
    ncclUniqueId id{};
    if (other.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    other.group_begin();
    if (other.rank() != 0) other.receive(&id, sizeof id, 0, nullptr);
    for (int r = 1; r < other.size() && other.rank() == 0; ++r) other.send(&id, sizeof id, r, nullptr);
    other.group_end();
    ncclComm_t comm = nullptr;
    check(ncclCommInitRank(&comm, other.size(), id, other.rank()), "ncclCommInitRank");
    return {comm, limit, true};
  }

  /// One rank for each of these GPUs of this process.
  static std::vector<nccl_communicator> all(const std::vector<int>& ids, double limit = 300) {
    std::vector<ncclComm_t> comms(ids.size());
    check(ncclCommInitAll(comms.data(), static_cast<int>(ids.size()), ids.data()), "ncclCommInitAll");
    std::vector<nccl_communicator> ranks;
    for (const ncclComm_t comm : comms) ranks.push_back({comm, limit, true});
    return ranks;
  }

  int rank() const { return rank_; }
  int size() const { return size_; }

  void send(const void* from, std::size_t bytes, int to, stream_handle stream) {
    comm_->last = {"ncclSend of ", bytes, " bytes to rank ", to};
    check_call(ncclSend(from, bytes, ncclUint8, to, comm_->comm, stream));
  }
  void receive(void* to, std::size_t bytes, int from, stream_handle stream) {
    comm_->last = {"ncclRecv of ", bytes, " bytes from rank ", from};
    check_call(ncclRecv(to, bytes, ncclUint8, from, comm_->comm, stream));
  }
  void all_gather(const void* from, void* to, std::size_t bytes, stream_handle stream) {
    comm_->last = {"ncclAllGather of ", bytes, " bytes from each rank, this is rank ", rank_};
    check_call(ncclAllGather(from, to, bytes, ncclUint8, comm_->comm, stream));
  }
  void group_begin() { check(ncclGroupStart(), "ncclGroupStart"); }
  void group_end() { check_call(ncclGroupEnd()); }

  /// \param waited  seconds that the caller has waited for work of this rank
  /// \throws communication_error, after ending what NCCL still does, if it has failed or that is beyond the limit: with this rank, and
  /// the last of its calls
  void check_alive(double waited) {
    require(comm_->comm != nullptr,
            [&] { return "pmpp: rank " + detail::text::of(rank_) + ": NCCL has failed before"; });
    ncclResult_t status = ncclSuccess;
    check(ncclCommGetAsyncError(comm_->comm, &status), "ncclCommGetAsyncError");
    if ((status == ncclSuccess || status == ncclInProgress) && waited <= limit_) return;
    const detail::text what = waited > limit_
                                  ? detail::text("has waited ") + detail::text::of(waited) + " s for the others"
                                  : detail::text("NCCL has failed: ") + ncclGetErrorString(status);
    if (comm_->owned) ncclCommAbort(std::exchange(comm_->comm, nullptr));
    throw communication_error(told() + what);
  }

private:
  /// What a rank has asked for, in words.
  struct call {
    const char* begin = "no message yet";
    std::size_t bytes = 0;
    const char* middle = nullptr;
    int other = 0;
  };
  struct handle {
    ncclComm_t comm;
    bool owned;
    call last = {};
    ~handle() {
      if (owned && comm != nullptr) ncclCommDestroy(comm);
    }
  };

  nccl_communicator(ncclComm_t comm, double limit, bool owned) : comm_(new handle{comm, owned}), limit_(limit) {
    check(ncclCommUserRank(comm, &rank_), "ncclCommUserRank");
    check(ncclCommCount(comm, &size_), "ncclCommCount");
  }
  /// "pmpp: rank 0 of 2, after ncclRecv of 8 bytes from rank 1: "
  detail::text told() const {
    const call& last = comm_->last;
    const detail::text where =
        "pmpp: rank " + detail::text::of(rank_) + " of " + detail::text::of(size_) + ", after " + last.begin;
    if (last.middle == nullptr) return where + ": ";
    return where + detail::text::of(last.bytes) + last.middle + detail::text::of(last.other) + ": ";
  }
  void check_call(ncclResult_t status) const {
    if (status != ncclSuccess && status != ncclInProgress)
      throw communication_error(told() + ncclGetErrorString(status));
  }
  static void check(ncclResult_t status, const char* call) {
    if (status != ncclSuccess && status != ncclInProgress)
      throw communication_error(detail::text("pmpp: ") + call + ": " + ncclGetErrorString(status));
  }

  std::shared_ptr<handle> comm_;
  double limit_;
  int rank_ = 0, size_ = 0;
};

}  // namespace pmpp::inline PMPP_BACKEND
