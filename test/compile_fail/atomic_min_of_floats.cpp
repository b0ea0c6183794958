// expect: pmpp: atomic_min takes 4- and 8-byte integers
#include <pmpp/simt/atomic.hpp>

int main() {
  float least = 0;
  pmpp::simt::atomic_min(&least, -1.0f);
}
