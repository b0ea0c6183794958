// expect: std::vector<bool> packs its elements
//
// Eight results share a byte, which two threads would write at the same time.
#include <vector>

#include <pmpp/transform.hpp>

struct is_positive {
  bool operator()(int x) const { return x > 0; }
};

int main() {
  const std::vector<int> in(1000, 1);
  std::vector<bool> out(1000);
  pmpp::transform(pmpp::host, in, out, is_positive{});
}
