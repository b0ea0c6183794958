// expect: pmpp: the elements to write are const
#include <pmpp/transform.hpp>

#include <span>

int main() {
  int numbers[] = {1, 2, 3};
  const std::span<const int> v(numbers);
  pmpp::transform(pmpp::device, v, v, pmpp::identity{});
}
