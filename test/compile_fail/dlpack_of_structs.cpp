// expect: pmpp: DLPack has no name for elements of this type
#include <pmpp/memory/dlpack.hpp>

struct device {
  int device_type, device_id;
};
struct type {
  int code, bits, lanes;
};
struct tensor {
  void* data;
  ::device device;
  int ndim;
  type dtype;
  long *shape, *strides;
  unsigned long byte_offset;
};
struct point {
  float x, y;
};

int main() { return static_cast<int>(pmpp::dlpack_span<point>(pmpp::seq, tensor{}).size()); }
