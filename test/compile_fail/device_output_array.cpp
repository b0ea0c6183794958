// expect: device cannot reach the memory of a std::vector, std::array
#include <array>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/scan.hpp>

int main() {
  const pmpp::device_buffer<int> in(3, 1);
  std::array<int, 3> sums;
  pmpp::inclusive_scan(pmpp::device, in.begin(), in.end(), sums);
}
