// expect: pmpp: floyd_warshall works in place: its distances are const
#include <pmpp/floyd_warshall.hpp>

int main() {
  const float d[4] = {0, 1, 1, 0};
  pmpp::floyd_warshall(pmpp::seq, pmpp::matrix_view<const float>(d, 2, 2));
}
