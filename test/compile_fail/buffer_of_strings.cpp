// expect: trivially copyable
//
// Device memory holds bytes that can be copied.
#include <string>

#include <pmpp/memory/device_buffer.hpp>

int main() { pmpp::device_buffer<std::string> buffer(3); }
