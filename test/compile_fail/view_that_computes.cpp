// expect: pmpp: a GPU cannot run the iterators of std::ranges views
// nvcc alone
#include <pmpp/reduce.hpp>

#include <ranges>

int main() { return pmpp::reduce(pmpp::device, std::views::iota(0, 10)); }
