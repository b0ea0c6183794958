// expect: pmpp::blocks_from: a memory resource has allocate(bytes, alignment)
#include <pmpp/memory/resource.hpp>

#include <memory>

int main() {
  std::allocator<char> allocator;  // counts elements, and knows no alignment
  pmpp::workspace w{pmpp::blocks_from(allocator)};
}
