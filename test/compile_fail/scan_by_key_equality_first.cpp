// expect: pmpp: eq, which compares keys, stands where the operator belongs: op, then eq
//
// As reduce_by_key_equality_first.
#include <span>

#include <pmpp/by_key.hpp>

int main() {
  int numbers[] = {1, 2, 3};
  const std::span<int> v(numbers);
  pmpp::inclusive_scan_by_key(pmpp::device, v, v, v, pmpp::equal_to{}, pmpp::plus{});
}
