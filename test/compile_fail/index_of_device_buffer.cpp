// expect: pmpp: the host cannot read one element of device memory
#include <pmpp/memory/device_buffer.hpp>

int main() {
  const pmpp::device_buffer<int> d(3);
  return d[0];
}
