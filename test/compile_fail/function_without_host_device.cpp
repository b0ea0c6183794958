// expect: PMPP_HOST_DEVICE
#include <pmpp/transform.hpp>
#include <pmpp/memory/device_buffer.hpp>

struct doubled {
  int operator()(int x) const { return 2 * x; }
};
int main() {
  pmpp::device_buffer<int> d(3);
  pmpp::transform(pmpp::device, d, d, doubled{});
}
