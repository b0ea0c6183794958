// expect: f(left, up, diagonal, i, j), or f(left, up, diagonal, f.row(i), f.column(j)), cannot be called with three cells
#include <pmpp/wavefront.hpp>

struct of_two_neighbours {
  PMPP_HOST_DEVICE int operator()(int left, int up, std::int64_t, std::int64_t) const { return left + up; }
};
struct nothing {
  PMPP_HOST_DEVICE int operator()(std::int64_t, std::int64_t) const { return 0; }
};

int main() { return pmpp::wavefront_last(pmpp::seq, 3, 3, of_two_neighbours{}, nothing{}); }
