// SPDX-License-Identifier: Apache-2.0
//
// Several GPUs of one process beside one: a plain program, timed by the host's clock around gpus.synchronize(), medians.
//
//   weak scaling     the time of one GPU with n elements over that of p GPUs with p n; 1 is perfect
//   strong scaling   sorts of the same number of elements: how many times faster p GPUs are
//   parts of sort    what a sort by merges consists of: local sorts, cuts, the exchange and its rate; and the sort itself
//   same bits        sums of floats that do not depend on the number of ranks, beside those that do
//   latency          a reduction of 2^10 elements, and eight bytes gathered from each rank; beside NCCL's all-reduce of eight bytes
//
//   bench_distributed [--quick] [--gpus=P] [--samples=S] [--elements=N]
//
// All GPUs by default, n = 2^28 numbers of 4 bytes a rank; --quick: 2^22. Copies between GPUs, then, where the program was built with NCCL
// (PMPP_BENCH_HAS_NCCL), NCCL. Targets are of two GPUs that NVLink connects. By hand:
//   nvcc -std=c++20 -O3 -arch=native --extended-lambda -I include benchmark/distributed.cu -o bench_distributed
// and with NCCL -DPMPP_BENCH_HAS_NCCL -lnccl. Exit status 1 where a result is wrong.
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/same_bits.hpp>
#include <pmpp/distributed/same_bits_scan.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>
#include <pmpp/distributed/splitters.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/ranks.hpp"

namespace {

using number = std::uint32_t;

using bench::check;

int samples = 0;  // of the options

/// Number i of a sequence that looks random.
struct scrambled {
  PMPP_HOST_DEVICE number operator()(number i) const {
    i = (i ^ 61 ^ (i >> 16)) * 9;
    i = (i ^ (i >> 4)) * 0x27d4eb2d;
    return i ^ (i >> 15);
  }
};
struct times_three {
  PMPP_HOST_DEVICE number operator()(number x) const { return 3 * x; }
};
struct is_even {
  PMPP_HOST_DEVICE bool operator()(number x) const { return x % 2 == 0; }
};

template <class G, class Prepare, class F>
double seconds(const G& gpus, Prepare prepare, F f) {
  return bench::seconds(samples, gpus, prepare, f);
}
template <class G, class F>
double seconds(const G& gpus, F f) {
  return seconds(
      gpus, [] {}, f);
}

struct measured {
  const char* name;
  double target;  ///< of one's time over that of all
  double time;
};

/// Each verb on `each` elements a rank.
template <class G>
std::vector<measured> verbs(const G& gpus, std::int64_t each) {
  const std::int64_t n = each * gpus.size();
  pmpp::distributed_buffer<number> x{gpus, n}, y{gpus, n};
  pmpp::iota(gpus, x, 0);
  pmpp::transform(gpus, x, x, scrambled{});
  std::vector<measured> all;
  const auto add = [&](const char* name, double target, double time) { all.push_back({name, target, time}); };

  add("transform", 0.98, seconds(gpus, [&] { pmpp::transform(gpus, x, y, times_three{}); }));
  number sum = 0;
  add("reduce", 0.95, seconds(gpus, [&] { sum = pmpp::reduce(gpus, x, number(0)); }));
  std::vector<std::uint32_t> counts(256);
  add("histogram_even, 256 bins", 0.95,
      seconds(gpus, [&] { pmpp::histogram_even(gpus, x, counts, number(0), number(4294967040)); }));
  std::int64_t kept = 0;
  add("copy_if, half", 0.90, seconds(gpus, [&] { kept = pmpp::copy_if(gpus, x, is_even{}).size(); }));
  add("copy_if, half, in place", 0.95,
      seconds(gpus, [&] { kept = pmpp::copy_if(gpus, x, is_even{}, pmpp::result_blocks::in_place).size(); }));
  check(kept > n * 49 / 100 && kept < n * 51 / 100, "copy_if keeps another number of elements");
  add("inclusive_scan", 0.95 * 2 / 3, seconds(gpus, [&] { pmpp::inclusive_scan(gpus, x, y); }));
  number last = 0;
  gpus.each([&](int i, const auto&) {
    if (gpus.rank(i) == gpus.size() - 1)
      cudaMemcpy(&last, y.part(i).data() + (y.part(i).size() - 1), sizeof last, cudaMemcpyDefault);
  });
  check(last == sum, "inclusive_scan ends with another number than reduce gives");
  const auto shuffle = [&] { pmpp::transform(gpus, x, y, times_three{}); };
  add("sort", 1 / 1.7, seconds(gpus, shuffle, [&] { pmpp::sort(gpus, y); }));
  check(pmpp::is_sorted(gpus, y) && pmpp::reduce(gpus, y, number(0)) == number(3 * sum), "sort");
  return all;
}

/// The sort of n elements on all ranks.
template <class G>
double sort_time(const G& gpus, std::int64_t n) {
  pmpp::distributed_buffer<number> x{gpus, n};
  const auto shuffle = [&] {
    pmpp::iota(gpus, x, 0);
    pmpp::transform(gpus, x, x, scrambled{});
  };
  return seconds(gpus, shuffle, [&] { pmpp::sort(gpus, x); });
}

template <class G>
void parts_of_sort(const G& gpus, std::int64_t each) {
  const int p = gpus.size();
  pmpp::distributed_buffer<number> x{gpus, each * p};
  const auto shuffle = [&] {
    pmpp::iota(gpus, x, 0);
    pmpp::transform(gpus, x, x, scrambled{});
  };
  const auto sort_blocks = [&] { gpus.each([&](int i, const auto& where) { pmpp::sort(where, x.part(i)); }); };
  const double local = seconds(gpus, shuffle, sort_blocks);
  std::vector<std::vector<std::int64_t>> cuts;
  const double cutting = seconds(gpus, [&] { cuts = pmpp::splitters(gpus, x); });
  const double moving = seconds(gpus, [&] { static_cast<void>(pmpp::exchange(gpus, x, cuts)); });
  const double together = seconds(gpus, shuffle, [&] { pmpp::sort(gpus, x); });
  std::printf(
      "\nparts of sort, %.0f M elements a rank: local %.2f ms, cuts %.2f ms, exchange %.2f ms (%.0f GB/s from each "
      "rank); sort %.2f ms\n",
      double(each) / 1e6, 1e3 * local, 1e3 * cutting, 1e3 * moving, double(each) * 4 * (p - 1) / p / moving / 1e9,
      1e3 * together);
}

template <class G>
void price_of_same_bits(const G& gpus, std::int64_t each) {
  pmpp::distributed_buffer<float> x{gpus, each * gpus.size()}, y{gpus, x.size()};
  pmpp::iota(gpus, x, 0);
  double sum = 0;
  const double reduction = seconds(gpus, [&] { sum += pmpp::reduce(gpus, x, 0.0F); });
  const double same_reduction = seconds(gpus, [&] { sum += pmpp::reduce(gpus.same_bits(), x, 0.0F); });
  const double scan = seconds(gpus, [&] { pmpp::inclusive_scan(gpus, x, y); });
  const double same_scan = seconds(gpus, [&] { pmpp::inclusive_scan(gpus.same_bits(), x, y); });
  check(sum > 0, "reduce of floats");
  std::printf(
      "\nfloats, with the same bits on any number of ranks: reduce %.3f ms (%.3f), inclusive_scan %.3f ms (%.3f)\n",
      1e3 * same_reduction, 1e3 * reduction, 1e3 * same_scan, 1e3 * scan);
}

template <class G>
void latencies(const G& gpus) {
  pmpp::distributed_buffer<number> x{gpus, 1024};
  pmpp::fill(gpus, x, 1);
  number sum = 0;
  const double reduction = seconds(gpus, [&] { sum = pmpp::reduce(gpus, x, number(0)); });
  check(sum == 1024, "reduce of 2^10 ones");
  pmpp::distributed_buffer<double> gathered{gpus, std::int64_t(gpus.size()) * gpus.size()};
  const double gathering = seconds(gpus, [&] {
    gpus.together([&](int i, auto& link, pmpp::stream_handle s) {
      double* const all = gathered.part(i).data();
      pmpp::all_gather(link, all + gpus.rank(i), all, sizeof(double), s);
    });
  });
  std::printf("\nlatency: reduce of 2^10 elements %.1f us, all_gather of 8 bytes %.1f us\n", 1e6 * reduction,
              1e6 * gathering);
}

/// make(p): the first p GPUs, connected in one way.
template <class Make>
void scaling(const char* title, int p, std::int64_t each, Make make) {
  const auto one = make(1), all = make(p);
  std::printf("\n%s, %d GPUs, %lld elements of 4 bytes a rank\n\n", title, p, static_cast<long long>(each));
  std::printf(
      "| weak scaling | one GPU, ms | %d GPUs, ms | ratio | target | |\n| --- | --- | --- | --- | --- | --- |\n", p);
  const auto alone = verbs(one, each), shared = verbs(all, each);
  for (std::size_t v = 0; v < alone.size(); ++v) {
    const double ratio = alone[v].time / shared[v].time;
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %s |\n", alone[v].name, 1e3 * alone[v].time, 1e3 * shared[v].time,
                ratio, alone[v].target, ratio >= alone[v].target ? "reached" : "missed");
  }
  std::printf(
      "\n| strong scaling of sort | one GPU, ms | %d GPUs, ms | faster | target | |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      p);
  for (const std::int64_t n : {each / 64, each / 16, each / 4, each, 2 * each}) {
    const double t1 = sort_time(one, n), tp = sort_time(all, n);
    std::printf("| %lld | %.3f | %.3f | %.2f | 1.5 | %s |\n", static_cast<long long>(n), 1e3 * t1, 1e3 * tp, t1 / tp,
                t1 / tp >= 1.5 ? "reached" : "missed");
  }
  parts_of_sort(all, each);
  price_of_same_bits(one, each);
  price_of_same_bits(all, each);
  latencies(all);
}

#ifdef PMPP_BENCH_HAS_NCCL
/// NCCL's own reduction: eight bytes of each GPU, to all of them.
void all_reduce(const std::vector<int>& ids) {
  const std::size_t p = ids.size();
  std::vector<ncclComm_t> comms(p);
  if (ncclCommInitAll(comms.data(), static_cast<int>(p), ids.data()) != ncclSuccess) return;
  std::vector<cudaStream_t> streams(p);
  std::vector<double*> values(p);
  for (std::size_t i = 0; i < p; ++i) {
    cudaSetDevice(ids[i]);
    cudaStreamCreate(&streams[i]);
    cudaMalloc(&values[i], sizeof(double));
    cudaMemset(values[i], 0, sizeof(double));
  }
  struct waiting {
    std::vector<cudaStream_t>& streams;
    void synchronize() const {
      for (const cudaStream_t s : streams) cudaStreamSynchronize(s);
    }
  };
  const double time = seconds(waiting{streams}, [&] {
    ncclGroupStart();
    for (std::size_t i = 0; i < p; ++i)
      ncclAllReduce(values[i], values[i], 1, ncclDouble, ncclSum, comms[i], streams[i]);
    ncclGroupEnd();
  });
  std::printf("\nncclAllReduce of 8 bytes: %.1f us\n", 1e6 * time);
  for (std::size_t i = 0; i < p; ++i) {
    cudaSetDevice(ids[i]);
    cudaFree(values[i]);
    cudaStreamDestroy(streams[i]);
    ncclCommDestroy(comms[i]);
  }
  cudaSetDevice(ids[0]);
}
#endif

}  // namespace

int main(int count, char** arguments) {
  bench::rank_options options{"--elements", 1 << 28, 1 << 22, 1024, 1LL << 40};
  options.read(count, arguments);
  samples = options.samples;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int p = options.gpus;
  const auto each = static_cast<std::int64_t>(options.value);
  for (int id = 0; id < p; ++id) {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, id);
    int peers = 0;
    for (int other = 0; other < p; ++other) {
      int can = 0;
      if (other != id && cudaDeviceCanAccessPeer(&can, id, other) == cudaSuccess) peers += can;
    }
    std::printf("GPU %d: %s, reads the memory of %d others\n", id, properties.name, peers);
  }
  scaling("copies between GPUs", p, each, [&](int ranks) { return pmpp::devices<>{bench::first_gpus(ranks)}; });
#ifdef PMPP_BENCH_HAS_NCCL
  scaling("NCCL, by messages alone, as between processes", p, each, bench::by_messages);
  all_reduce(bench::first_gpus(p));
#endif
  return bench::all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
