// expect: write device_buffer<int>{std::array{1, 2, 3}}
#include <pmpp/memory/device_buffer.hpp>

int main() { const pmpp::device_buffer<int> d{1, 2, 3}; }
