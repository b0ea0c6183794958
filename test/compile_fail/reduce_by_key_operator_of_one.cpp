// expect: op(a, b) cannot be called with two values of the accumulator's type
// nvcc
#include <pmpp/segmented.hpp>

struct negated {
  PMPP_HOST_DEVICE int operator()(int x) const { return -x; }
};
int main() {
  int *keys = nullptr, *values = nullptr, *count = nullptr;
  pmpp::reduce_by_key_into(pmpp::device, keys, keys + 3, values, keys, values, count, negated{});
}
