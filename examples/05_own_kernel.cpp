// SPDX-License-Identifier: Apache-2.0
//
// A kernel of your own, with shared memory, barriers and atomics: the histogram of a text, by the bytes in it.
// The same kernel runs on the GPU and in the emulator, where it is ordinary C++ code: g++ -g -O0, then in gdb
//   break byte_histogram::operator()<pmpp::cpu_build::simt::emulated_block>
//   break 05_own_kernel.cpp:38 if block.index() == 1 && block.thread() == 7
// A barrier that some threads skip, a deadlock or a stray write to shared memory is a pmpp::kernel_fault that names the
// kernel, the block and the thread. PMPP_EMULATOR_SEED=n runs the threads in another order.
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/simt/atomic.hpp>

// [kernel]
struct byte_histogram {
  static constexpr int threads = 256;
  static constexpr int bins = 256;
  static constexpr int bytes_per_thread = 8;
  struct shared {
    unsigned count[bins];  // of this block
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned char* text, std::int64_t n,
                                   unsigned* total) const {
    for (int i = block.thread(); i < bins; i += threads) memory.count[i] = 0;
    block.sync();
    const std::int64_t first = block.index() * threads * bytes_per_thread;
    for (int k = 0; k < bytes_per_thread; ++k) {
      const std::int64_t i = first + k * threads + block.thread();
      if (i < n) pmpp::simt::atomic_add(&memory.count[text[i]], 1u);
    }
    block.sync();
    for (int i = block.thread(); i < bins; i += threads)
      if (memory.count[i] != 0) pmpp::simt::atomic_add(&total[i], memory.count[i]);
  }
};
// [end]

template <class Policy>
pmpp::managed_buffer<unsigned> histogram_on(const Policy& where, const std::string& text) {
  const pmpp::managed_buffer<unsigned char> bytes{
      std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size())};
  pmpp::managed_buffer<unsigned> total{byte_histogram::bins, 0u};
  const auto n = std::int64_t(text.size());
  const std::int64_t tile = byte_histogram::threads * byte_histogram::bytes_per_thread;
  // [launch]
  pmpp::launch(where, pmpp::ceil_div(n, tile), byte_histogram{}, bytes.data(), n, total.data());
  pmpp::synchronize(where);
  // [end]
  return total;
}

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : __FILE__, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::array<unsigned, byte_histogram::bins> expected{};
  for (const char c : text) ++expected[static_cast<unsigned char>(c)];

  bool right = !text.empty();
  const auto compare = [&](const char* where, const pmpp::managed_buffer<unsigned>& got) {
    right = right && std::equal(expected.begin(), expected.end(), got.begin());
    std::printf("%-9s %zu bytes, %u of them 'e'\n", where, text.size(), got[int{'e'}]);
  };
  compare("device", histogram_on(pmpp::device, text));
#if PMPP_WITH_EMULATOR
  compare("emulated", histogram_on(pmpp::emulated, text));
#endif
  return right ? 0 : 1;
}
// Output: one line per machine, with equal numbers, such as "device    3521 bytes, 254 of them 'e'".
