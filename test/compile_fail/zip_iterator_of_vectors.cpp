// expect: pmpp: an iterator is made of iterators or pointers, not of a buffer or another range: write x.begin()
#include <pmpp/core/iterator.hpp>

#include <vector>

int main() {
  const std::vector<int> x(3), y(3);
  return (pmpp::zip_iterator{x, y}[0].first);
}
