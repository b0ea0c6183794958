// expect: write std::int64_t{0}, or leave it out
//
// Sums of 64-bit integers would be kept in 32 bits.
#include <pmpp/scan.hpp>

#include <cstdint>
#include <vector>

int main() {
  const std::vector<std::int64_t> in = {1, 2, 3};
  std::vector<std::int64_t> out(3);
  pmpp::exclusive_scan(pmpp::host, in, out, 0);
}
