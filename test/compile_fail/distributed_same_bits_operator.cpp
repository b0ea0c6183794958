// expect: pmpp: on several ranks write gpus.same_bits() as the first argument
#include <pmpp/distributed/reduce.hpp>

int main() {
  pmpp::devices gpus;
  pmpp::distributed_buffer<float> x{gpus, 3};
  return static_cast<int>(pmpp::reduce(gpus, x, 0.0f, pmpp::same_bits{pmpp::plus{}}));
}
