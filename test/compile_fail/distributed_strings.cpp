// expect: elements move between ranks byte by byte: T must be trivially copyable
#include <string>

#include <pmpp/distributed/buffer.hpp>

int main() { pmpp::distributed_buffer<std::string> names; }
