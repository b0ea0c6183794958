// SPDX-License-Identifier: Apache-2.0
//
// What the way between the host and the device costs, and how much of it can be hidden. Peer: the plain synchronous cudaMemcpy of
// ordinary (pageable) memory. First copies alone, each way; then a round trip: an array of the host gets 1 added by a kernel. Bytes
// are those that go over the bus. Times are the host's, until the results are there.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/report.hpp"

namespace {

using bench::subject, bench::timer;

void memcpy_and_wait(void* to, const void* from, std::int64_t floats) {
  pmpp::check(cudaMemcpy(to, from, std::size_t(floats) * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
}

/// The arrays of a case, one of each kind, and which of them the last call has written to.
struct arrays {
  explicit arrays(std::int64_t n) : pageable(std::size_t(n)), pinned(n), managed(n), there(n) {}

  std::vector<float> pageable;
  pmpp::pinned_buffer<float> pinned;
  pmpp::managed_buffer<float> managed;
  pmpp::device_buffer<float> there;
  std::vector<float> read_back;  // for judging, by copies of the default stream
  enum { in_pageable, in_pinned, in_managed, on_device } written = in_pageable;

  void fill(float value, float on_gpu) {
    pmpp::synchronize(pmpp::device);
    std::fill(pageable.begin(), pageable.end(), value);
    std::fill(pinned.begin(), pinned.end(), value);
    std::fill(managed.begin(), managed.end(), value);
    pmpp::fill(pmpp::device, there, on_gpu);
    pmpp::synchronize(pmpp::device);
  }
  /// What is wrong, if all that was written to last should be `wanted`.
  std::string fault(float wanted) {
    pmpp::synchronize(pmpp::device);
    read_back.resize(pageable.size());
    switch (written) {
      case in_pageable:
        read_back = pageable;
        break;
      case in_pinned:
        std::copy(pinned.begin(), pinned.end(), read_back.begin());
        break;
      case in_managed:
        std::copy(managed.begin(), managed.end(), read_back.begin());
        break;
      case on_device:
        pmpp::copy(there, read_back);
        break;
    }
    const auto at = std::find_if(read_back.begin(), read_back.end(), [&](float x) { return x != wanted; });
    if (at == read_back.end()) return "";
    return "element " + std::to_string(at - read_back.begin()) + " is " + std::to_string(*at) + ", not " +
           std::to_string(wanted);
  }
};

void add_copies(std::int64_t n, bool to_device) {
  bench::add(to_device ? "transfer/to the device" : "transfer/to the host", n, 4.0 * double(n), [=](int) {
    auto a = std::make_shared<arrays>(n);
    const auto plain = [=](bool pinned) {
      return [=](int) {
        float* const here = pinned ? a->pinned.data() : a->pageable.data();
        memcpy_and_wait(to_device ? a->there.data() : here, to_device ? here : a->there.data(), n);
        a->written = to_device ? arrays::on_device : pinned ? arrays::in_pinned : arrays::in_pageable;
      };
    };
    const auto enqueued = [=](int) {
      if (to_device)
        pmpp::copy(bench::device(), a->pinned, a->there);
      else
        pmpp::copy(bench::device(), a->there, a->pinned);
      bench::here().stream.synchronize();
      a->written = to_device ? arrays::on_device : arrays::in_pinned;
    };
    subject s;
    s.contenders = {{"pmpp", enqueued}, {"cudaMemcpy", plain(false)}, {"cudaMemcpy, pinned", plain(true)}};
    s.spoil = [=] { a->fill(to_device ? 3.0f : 0.0f, to_device ? 0.0f : 3.0f); };
    s.fault = [=] { return a->fault(3); };
    s.clock = timer::host;
    return s;
  });
}

struct plus_one {
  PMPP_HOST_DEVICE float operator()(float x) const { return x + 1; }
};

/// Copy, kernel, copy back in eight parts, which take turns on some streams: while one part computes, others are on their way.
struct overlapped {
  std::vector<pmpp::stream> streams;
  explicit overlapped(int n) : streams(std::size_t(n)) {}

  void operator()(arrays& a, std::int64_t n) const {
    const std::int64_t part = pmpp::ceil_div(n, std::int64_t(8));
    for (std::int64_t first = 0, i = 0; first < n; first += part, ++i) {
      const auto where = pmpp::device.on(streams[std::size_t(i) % streams.size()]);
      const std::size_t length = std::size_t(std::min(part, n - first));
      const std::span<float> here(a.pinned.data() + first, length), there(a.there.data() + first, length);
      pmpp::copy(where, here, there);
      pmpp::transform(where, there, there, plus_one{});
      pmpp::copy(where, there, here);
    }
    for (const pmpp::stream& s : streams) s.synchronize();
  }
};

bench::contender plain_round_trip(const std::shared_ptr<arrays>& a, std::int64_t n) {
  return {"cudaMemcpy", [=](int) {
            memcpy_and_wait(a->there.data(), a->pageable.data(), n);
            pmpp::transform(pmpp::device, a->there, a->there, plus_one{});
            memcpy_and_wait(a->pageable.data(), a->there.data(),
                            n);  // after the kernel: both are on the default stream
            a->written = arrays::in_pageable;
          }};
}

subject round_trip(const std::shared_ptr<arrays>& a, std::vector<bench::contender> contenders) {
  subject s;
  s.contenders = std::move(contenders);
  s.spoil = [=] { a->fill(0, 0); };
  s.fault = [=] { return a->fault(1); };
  s.clock = timer::host;
  return s;
}

/// Pinned memory, and parts of it on one, two and four streams.
void add_overlap(std::int64_t n) {
  bench::add("round trip/overlapped", n, 8.0 * double(n), [=](int) {
    auto a = std::make_shared<arrays>(n);
    const auto on_streams = [=](int count) {
      return [=, turns = std::make_shared<overlapped>(count)](int) {
        (*turns)(*a, n);
        a->written = arrays::in_pinned;
      };
    };
    return round_trip(a, {{"pmpp", on_streams(4)},
                          plain_round_trip(a, n),
                          {"one stream", on_streams(1)},
                          {"two streams", on_streams(2)}});
  });
}

/// Without copies: managed memory that moves when told to or when touched, and a kernel that reaches over the bus (zero copy).
void add_without_copies(std::int64_t n) {
  bench::add("round trip/without copies", n, 8.0 * double(n), [=](int) {
    auto a = std::make_shared<arrays>(n);
    const auto where = bench::device();
    return round_trip(a, {{"pmpp",  // managed, prefetched
                           [=](int) {
                             a->managed.prefetch(where);
                             pmpp::transform(where, a->managed, a->managed, plus_one{});
                             a->managed.prefetch(pmpp::host, bench::here().stream);
                             bench::here().stream.synchronize();
                             a->written = arrays::in_managed;
                           }},
                          plain_round_trip(a, n),
                          {"managed, page faults",
                           [=](int) {
                             pmpp::transform(where, a->managed, a->managed, plus_one{});
                             bench::here().stream.synchronize();
                             const volatile float* const x = a->managed.data();
                             for (std::int64_t i = 0; i < n; i += 1024) (void)x[i];  // a page is 4 KB or more
                             a->written = arrays::in_managed;
                           }},
                          {"zero copy", [=](int) {
                             pmpp::transform(where, a->pinned, a->pinned, plus_one{});
                             bench::here().stream.synchronize();
                             a->written = arrays::in_pinned;
                           }}});
  });
}

void add_cases() {
  for (const std::int64_t n : {std::int64_t(1) << 14, std::int64_t(1) << 20, std::int64_t(1) << 26}) {
    add_copies(n, true);
    add_copies(n, false);
  }
  for (const std::int64_t n : {std::int64_t(1) << 20, std::int64_t(1) << 26}) {
    add_overlap(n);
    add_without_copies(n);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
