// expect: pmpp: a constant_table has at most 32,000 bytes; larger tables are buffers
#include <pmpp/core/constant_table.hpp>

pmpp::constant_table<double, 4001> table;
