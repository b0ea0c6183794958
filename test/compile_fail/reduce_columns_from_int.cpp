// expect: write 0.0f or 0.0, or leave it out
//
// The type of init is that of the sums, as in reduce.
#include <pmpp/reduce_columns.hpp>

#include <vector>

int main() {
  const std::vector<float> v(6);
  std::vector<float> out(3);
  pmpp::reduce_columns(pmpp::host, pmpp::matrix_view(v.data(), 2, 3), out, 0);
}
