// expect: pmpp: an iterator is made of iterators or pointers, not of a buffer or another range: write x.begin()
// nvcc
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

int main() {
  const pmpp::device_buffer<int> x(3), y(3);
  pmpp::device_buffer<int> out(3);
  const auto both = pmpp::zip(x, y);
  pmpp::transform(pmpp::device, both, both + 3, out, pmpp::spread(pmpp::plus{}));
}
