// SPDX-License-Identifier: Apache-2.0
//
// The list of what is shown. A primitive joins with one function and one line:
//   1. Write primitives/NAME.cpp with `void show_NAME(const inputs&, table&)`: for each kind of input that suits it,
//      table::begin, then on_each_policy for each input, with a check against a plain loop.
//   2. Declare it here, and add it to `shown`.
#pragma once

#include "inputs.hpp"
#include "table.hpp"

namespace demo {

void show_transform(const inputs& in, table& out);  // for_each, transform, fill, iota
void show_reduce(const inputs& in, table& out);     // reduce, reduce_into, transform_reduce, min_, max_, minmax_element
void show_find(const inputs& in, table& out);       // find_if, count, mismatch
void show_search(const inputs& in, table& out);     // lower_bound
void show_moves(const inputs& in, table& out);      // gather, scatter, reverse, rotate, replace_copy
void show_pieces(const inputs& in, table& out);     // reduce_columns, three_way_partition_copy, segmented_reverse, ...
void show_random(const inputs& in, table& out);     // fill_random, shuffle
void show_by_key(const inputs& in, table& out);     // inclusive_scan_by_key
void show_sets(const inputs& in, table& out);       // set_union, set_intersection
void show_control_flow(const inputs& in, table& out);  // repeat_while
void show_scan(const inputs& in, table& out);          // inclusive_scan, exclusive_scan
void show_select(const inputs& in, table& out);        // copy_if, remove_if, copy_flagged, unique_copy, partition_copy
void show_segmented(const inputs& in, table& out);     // segmented_reduce, segmented_inclusive_scan, reduce_by_key, ...
void show_histogram(const inputs& in, table& out);     // histogram_even, _range, _even_channels, histogram
void show_merge(const inputs& in, table& out);         // merge, merge_by_key
void show_sort(const inputs& in, table& out);          // sort, sort_by_key, argsort, nth_element
void show_segmented_sort(const inputs& in, table& out);      // segmented_sort, segmented_sort_by_key
void show_top_k(const inputs& in, table& out);               // top_k, segmented_top_k
void show_transpose(const inputs& in, table& out);           // transpose
void show_gemm(const inputs& in, table& out);                // gemm, gemv
void show_attention(const inputs& in, table& out);           // attention
void show_convolution(const inputs& in, table& out);         // convolve
void show_convolution_layer(const inputs& in, table& out);   // convolution_layer
void show_stencil(const inputs& in, table& out);             // stencil
void show_wavefront(const inputs& in, table& out);           // edit_distance, floyd_warshall
void show_image(const inputs& in, table& out);               // rgb_to_gray, box_blur, scale
void show_spmv(const inputs& in, table& out);                // spmv
void show_spmm(const inputs& in, table& out);                // spmm
void show_bfs(const inputs& in, table& out);                 // bfs
void show_distributed(const inputs& in, table& out);         // arrays on several ranks
void show_distributed_arrays(const inputs& in, table& out);  // matrices and slabs on several ranks

inline constexpr void (*shown[])(const inputs&, table&) = {
    show_transform,
    show_reduce,
    show_find,
    show_search,
    show_moves,
    show_pieces,
    show_random,
    show_by_key,
    show_sets,
    show_scan,
    show_select,
    show_segmented,
    show_histogram,
    show_merge,
    show_sort,
    show_segmented_sort,
    show_top_k,
    show_transpose,
    show_gemm,
    show_convolution,
    show_convolution_layer,
    show_stencil,
    show_wavefront,
    show_image,
    show_spmv,
    show_spmm,
    show_bfs,
    show_distributed,
    show_distributed_arrays,
    show_control_flow,
    show_attention,
};

}  // namespace demo
