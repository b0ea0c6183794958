// expect: pmpp: atomic_exchange takes 4- and 8-byte integers, float, double, pointers and enums
#include <pmpp/simt/atomic.hpp>

int main() {
  unsigned char taken = 0;
  return pmpp::simt::atomic_exchange(&taken, 1);
}
