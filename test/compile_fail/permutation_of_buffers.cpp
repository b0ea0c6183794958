// expect: pmpp: an iterator is made of iterators or pointers, not of a buffer or another range: write x.begin()
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

int main() {
  pmpp::device_buffer<int> x(3), index(3), out(3);
  const pmpp::permutation_iterator chosen{x, index};
  pmpp::transform(pmpp::device, chosen, chosen + 3, out, pmpp::identity{});
  pmpp::transform(pmpp::device, x, chosen, pmpp::identity{});
}
