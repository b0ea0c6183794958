// expect: pmpp: the flag must be a bool or an integer
#include <pmpp/control_flow.hpp>

int main() {
  const double residual = 1;
  pmpp::repeat_while(pmpp::host, &residual, [](auto) {});
}
