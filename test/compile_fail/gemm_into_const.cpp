// expect: the elements of C are const
#include <vector>

#include <pmpp/gemm.hpp>

int main() {
  const std::vector<float> a(4), b(4), c(4);
  pmpp::gemm(pmpp::host, 1, pmpp::matrix_view(a.data(), 2, 2), pmpp::matrix_view(b.data(), 2, 2), 0,
             pmpp::matrix_view(c.data(), 2, 2));
}
