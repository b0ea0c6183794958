// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory that a program has already: how much a call will need, a workspace over those bytes, a workspace over a memory
// resource (here an arena), and the pool's idle memory given back.
#include <cstddef>
#include <cstdio>
#include <new>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/resource.hpp>
#include <pmpp/memory/scratch_bytes.hpp>
#include <pmpp/memory/trim.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/sort.hpp>

// [resource]
/// A memory resource, as those of RMM and cuda::mr are: pieces of one array, all free again when it goes.
struct arena {
  pmpp::device_buffer<std::byte> memory{1 << 26};
  std::size_t used = 0;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    const std::size_t first = (used + alignment - 1) / alignment * alignment;
    if (bytes > memory.size() - first) throw std::bad_alloc();
    used = first + bytes;
    return memory.data() + first;
  }
  void deallocate(void*, std::size_t, std::size_t) {}
};
// [end]

int main() {
  const int n = 200'000;
  std::vector<int> numbers(n);
  for (int i = 0; i < n; ++i) numbers[std::size_t(i)] = int(i * 7919ll % n);
  pmpp::device_buffer<int> x{numbers}, sums{n};

  // [measure]
  const auto call = [&](const auto& where) {  // what will be called, with whatever policy
    pmpp::sort(where, x);
    pmpp::inclusive_scan(where, x, sums);
  };
  const std::size_t bytes = pmpp::scratch_bytes(pmpp::device, call);  // launches nothing
  pmpp::device_buffer<std::byte> mine{bytes};                         // or any memory that the GPU reaches
  pmpp::workspace over_mine{mine.data(), bytes};
  call(pmpp::device.with(over_mine));  // neither this workspace nor this call allocates
  // [end]
  pmpp::synchronize(pmpp::device);
  const bool right = pmpp::to_host(sums)[9] == 45;

  // [use]
  arena resource;
  {
    pmpp::workspace over_resource{pmpp::blocks_from(resource)};
    over_resource.reserve(pmpp::needed_scratch(pmpp::device, call));  // one block of the arena, now
    call(pmpp::device.with(over_resource));
    pmpp::synchronize(pmpp::device);
  }
  pmpp::trim_pool();                  // idle memory of pmpp's pool goes back to the system
  pmpp::set_pool_threshold(1 << 24);  // from now on it keeps no more than 16 MiB that are idle
  // [end]
  std::printf("scratch: %zu bytes; the arena gave %zu\n", bytes, resource.used);
  return right && resource.used >= bytes && pmpp::to_host(sums)[9] == 45 ? 0 : 1;
}
