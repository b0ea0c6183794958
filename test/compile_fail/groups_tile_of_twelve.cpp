// expect: pmpp: a tile has 1, 2, 4, 8, 16 or 32 lanes
#include <pmpp/simt/emulated_block.hpp>
#include <pmpp/simt/groups.hpp>

void f(pmpp::simt::emulated_block& block) { pmpp::simt::tiled_partition<12>(block).sync(); }
