// expect: pmpp: a lambda for kernels is marked: [] PMPP_HOST_DEVICE (int x) {...}
// nvcc alone
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

int main() {
  pmpp::device_buffer<int> d(3);
  pmpp::transform(pmpp::device, d, d, [](int x) { return 2 * x; });
}
