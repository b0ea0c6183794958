// expect: pmpp: the body is called with the policy to launch with
#include <pmpp/control_flow.hpp>

int main() {
  const int flag = 1;
  pmpp::repeat_while(pmpp::host, &flag, [] {});
}
