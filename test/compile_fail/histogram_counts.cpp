// expect: counts must be 4- or 8-byte integers that can be written
#include <vector>

#include <pmpp/histogram.hpp>

int main() {
  std::vector<int> samples(10);
  std::vector<float> counts(10);
  pmpp::histogram_even(pmpp::seq, samples, counts, 0, 10);
}
