// expect: partition_by calls rank_of(element), which must return the number of a rank, an integer
#include <pmpp/distributed/partition_by.hpp>

struct half_of {
  PMPP_HOST_DEVICE double operator()(int x) const { return x / 2.0; }
};

int main() {
  const pmpp::emulated_devices gpus{2};
  const pmpp::distributed_buffer<int> x{gpus, 10};
  static_cast<void>(pmpp::partition_by(gpus, x, half_of{}));
}
