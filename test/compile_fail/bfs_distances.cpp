// expect: distances are signed integers
//
// -1 says that a vertex is not reached.
#include <vector>

#include <pmpp/bfs.hpp>

int main() {
  const int offsets[] = {0, 1, 2}, columns[] = {1, 0};
  std::vector<unsigned> distances(2);
  pmpp::bfs(pmpp::host, pmpp::csr_view<void, const int>{2, 2, offsets, columns}, 0, distances);
}
