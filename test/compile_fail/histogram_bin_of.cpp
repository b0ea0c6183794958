// expect: bin_of must return an integer
#include <vector>

#include <pmpp/histogram.hpp>

struct half_of {
  double operator()(int x) const { return x / 2.0; }
};

int main() {
  std::vector<int> samples(10);
  std::vector<unsigned> counts(10);
  pmpp::histogram(pmpp::seq, samples, counts, half_of{});
}
