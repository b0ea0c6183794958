// SPDX-License-Identifier: Apache-2.0
//
// The program of mutants.py: calls of kernels whose blocks or warps hand data to each other, small, of one type each.
// usage: mutants CALL MUTANT RUNS: the exit status is 3 as soon as a run ends with a fault, which ThreadSanitizer has found.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/spmv.hpp>

namespace {

using pmpp::device;

/// Of a mutant a wrong result is no surprise, and ends nothing: its data race is what has to be seen.
void check(bool right) {
  if (!right && mutant == 0) throw std::runtime_error("a wrong result");
}

struct is_odd {
  bool operator()(unsigned x) const { return x % 2 != 0; }
};
void select_in_place() {
  std::vector<unsigned> numbers(16384);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<unsigned>(i);
  pmpp::device_buffer<unsigned> v(numbers);
  check(pmpp::copy_if<pmpp::select_tuning{.threads = 32, .rows = 1, .blocks = 1}>(device, v, v.begin(), is_odd{}) ==
        v.begin() + 8192);
}

struct four {
  int x[4];
};
struct add_four {
  four operator()(const four& a, const four& b) const {
    return {a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2], a.x[3] + b.x[3]};
  }
};
void scan_of_large_elements() {
  pmpp::device_buffer<four> v(std::vector<four>(4096, four{1, 2, 3, 4}));
  pmpp::inclusive_scan<pmpp::scan_tuning{.threads = 32, .vectors = 1, .blocks = 1}>(device, v, v, add_four{});
  check(pmpp::to_host(v).back().x[3] == 4 * 4096);
}

void long_segment() {
  pmpp::device_buffer<int> v(1 << 15, 1), offsets(std::vector<int>{0, 5, 1 << 15}), sums(2, 0);
  pmpp::segmented_reduce<pmpp::segmented_tuning{.threads = 64}>(device, v, offsets, sums);
  check(pmpp::to_host(sums)[1] == (1 << 15) - 5);
}

/// The last block reads what all threads have written.
struct read_last {
  static constexpr int threads = 32;
  struct shared {
    bool last;
  };
  template <class Block>
  void operator()(Block& block, shared& memory, unsigned* words, unsigned* state) const {
    words[block.index() * threads + block.thread()] = 1;
    if (!pmpp::block::is_last_block(block, state, block.count(), memory.last)) return;
    for (std::int64_t i = block.count() * threads - 1 - block.thread(); i >= 0; i -= threads) check(words[i] == 1);
  }
};
void last_block() {
  pmpp::device_buffer<unsigned> words(8 * read_last::threads, 0u), state(1, 0u);
  pmpp::launch(device, 8, read_last{}, words.data(), state.data());
}

/// Each round every thread writes a word and reads that of a thread of the next block.
struct neighbours {
  static constexpr int threads = 32, min_blocks = 2;
  template <class Block>
  void operator()(Block& block, unsigned* words, unsigned* state) const {
    const std::int64_t all = block.count() * threads, me = block.index() * threads + block.thread();
    for (unsigned round = 0; round < 4; ++round) {
      words[round % 2 * all + me] = round;
      pmpp::block::sync_grid(block, state + round % 2);
      check(words[round % 2 * all + (me + threads) % all] == round);
    }
  }
};
void sync_grid() {
  pmpp::device_buffer<unsigned> words(4 * 64, 0u), state(2, 0u);
  pmpp::launch_together(device, 4, neighbours{}, words.data(), state.data());
}

void radix_sort() {
  std::vector<unsigned> keys(2048);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<unsigned>(i) * 2654435761u >> 3 & 0x07070707u;
  pmpp::device_buffer<unsigned> v(keys);
  constexpr pmpp::sort_tuning passes{
      .compare_all_limit = 0, .together = {.items = 0}, .radix = {.threads = 64, .items = 4, .short_items = 4}};
  pmpp::sort<passes>(device, v);
  keys = pmpp::to_host(v);
  for (std::size_t i = 1; i < keys.size(); ++i) check(keys[i - 1] <= keys[i]);
}

template <pmpp::spmv_tuning Tuning>
void long_row() {
  const int n = 3000;
  pmpp::device_buffer<int> offsets(std::vector<int>{0, n - 5, n}), columns(n, 0);
  pmpp::device_buffer<float> values(n, 1.0f), x(1, 2.0f), y(2, 0.0f);
  pmpp::spmv<Tuning>(device, 1.0f, pmpp::csr_view<float, int>{2, 1, offsets.data(), columns.data(), values.data()}, x,
                     0.0f, y);
  check(pmpp::to_host(y)[0] == 2.0f * (n - 5));
}

struct call {
  const char* name;
  void (*run)();
};
constexpr call calls[] = {
    {"select_in_place", select_in_place},
    {"scan_of_large_elements", scan_of_large_elements},
    {"long_segment", long_segment},
    {"last_block", last_block},
    {"sync_grid", sync_grid},
    {"radix_sort", radix_sort},
    {"row_of_several_warps", long_row<pmpp::spmv_tuning{}>},
    {"row_of_several_blocks",
     long_row<pmpp::spmv_tuning{
         .threads = 64, .items = 1, .min_blocks = 3, .stretches = 3, .serial = 2, .short_tiles = 1}>}};

}  // namespace

extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}

int main(int count, char** words) {
  if (count < 4) return 2;
  mutant = std::atoi(words[2]);
  try {
    for (int run = 0; run < std::atoi(words[3]); ++run)
      for (const call& c : calls)
        if (std::strcmp(c.name, words[1]) == 0) c.run();
  } catch (const pmpp::kernel_fault& e) {
    std::printf("%s\n", e.what());
    return 3;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 4;
  }
}
