// expect: pmpp: a buffer is a copy of elements of its own type
//
// Thrust's vectors convert.
#include <vector>

#include <pmpp/memory/device_buffer.hpp>

int main() {
  const std::vector<int> whole(3);
  pmpp::device_buffer<float> buffer(whole);
}
