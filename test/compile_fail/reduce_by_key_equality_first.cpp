// expect: pmpp: eq, which compares keys, stands where the operator belongs: op, then eq
//
// Thrust has them in this order, and either can be called with two numbers: the sums would be wrong.
#include <functional>

#include <pmpp/segmented.hpp>

int main() {
  int *keys = nullptr, *values = nullptr, *count = nullptr;
  pmpp::reduce_by_key_into(pmpp::device, keys, keys + 3, values, keys, values, count, std::equal_to<int>{},
                           std::plus<int>{});
}
