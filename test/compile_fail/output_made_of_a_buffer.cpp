// expect: pmpp: an iterator is made of iterators or pointers, not of a buffer or another range: write x.begin()
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

int main() {
  const pmpp::device_buffer<int> x(3);
  pmpp::device_buffer<int> out(3);
  pmpp::transform(pmpp::device, x, pmpp::transform_output<int>(out, pmpp::identity{}), pmpp::identity{});
}
