// SPDX-License-Identifier: Apache-2.0
//
// A user's namespace as bad as can be: function templates that take anything, of the names that pmpp's own function templates
// have, and a unary & and a comma for everything. All are deleted, so that a call of the library's that argument-dependent
// lookup takes here does not compile. Types of this namespace for the tests: numbers, elements of two bytes, iterators,
// ranges.
#pragma once

#include <pmpp/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace hostile {

#define GREEDY(name)    \
  template <class... A> \
  void name(A&&...) = delete;
// clang-format off
GREEDY(access_alignment) GREEDY(add_line) GREEDY(add_tap) GREEDY(adjacent_difference) GREEDY(adjacent_find)
GREEDY(adjacent_find_into) GREEDY(all_fit) GREEDY(all_gather) GREEDY(all_of) GREEDY(all_of_into) GREEDY(all_to_all_v)
GREEDY(allocate_block) GREEDY(allocate_or_throw) GREEDY(answer_into) GREEDY(answer_of) GREEDY(any_of)
GREEDY(any_of_into) GREEDY(argsort) GREEDY(argument_of) GREEDY(arrays_of) GREEDY(as_number) GREEDY(as_span)
GREEDY(ask) GREEDY(ask_equal) GREEDY(ask_if) GREEDY(ask_includes) GREEDY(ask_less) GREEDY(ask_neighbours)
GREEDY(ask_one_of) GREEDY(ask_unequal) GREEDY(assign) GREEDY(atomic_add) GREEDY(batched_top_k) GREEDY(begin)
GREEDY(begin_of) GREEDY(best_of_clusters) GREEDY(bfs) GREEDY(bfs_in_order) GREEDY(bfs_into) GREEDY(bfs_on_blocks)
GREEDY(bfs_on_host) GREEDY(binary_search) GREEDY(bits_under) GREEDY(block_of) GREEDY(blocks_from) GREEDY(blur_band)
GREEDY(blur_by_convolution) GREEDY(border_element) GREEDY(border_rim) GREEDY(box_muller) GREEDY(branch)
GREEDY(byte_of) GREEDY(bytes_of) GREEDY(bytes_of_lane) GREEDY(bytes_of_side) GREEDY(call_body) GREEDY(ceil_div)
GREEDY(ceil_log2) GREEDY(channel) GREEDY(check) GREEDY(check_apart) GREEDY(check_convolution)
GREEDY(check_distribution) GREEDY(check_each) GREEDY(check_gathered) GREEDY(check_k) GREEDY(check_matrix)
GREEDY(check_offsets) GREEDY(check_output) GREEDY(check_overlap) GREEDY(check_reachable) GREEDY(check_room)
GREEDY(check_scattered) GREEDY(check_sorted) GREEDY(check_stencil) GREEDY(checked_bytes) GREEDY(checked_top_k_output)
GREEDY(choose_kernel) GREEDY(chosen) GREEDY(co_rank) GREEDY(comes_last) GREEDY(contains) GREEDY(contains_into) GREEDY(converted)
GREEDY(convolution_of) GREEDY(convolve) GREEDY(convolve_band) GREEDY(convolve_on_cpu) GREEDY(convolve_on_device)
GREEDY(convolve_separable) GREEDY(convolve_separable_on_cpu) GREEDY(convolve_separable_on_device) GREEDY(copy)
GREEDY(copy_async) GREEDY(copy_batched) GREEDY(copy_bytes) GREEDY(copy_element) GREEDY(copy_elements)
GREEDY(copy_flagged) GREEDY(copy_flagged_into) GREEDY(copy_if) GREEDY(copy_if_into) GREEDY(copy_on_rank)
GREEDY(copy_to_host)
GREEDY(copy_part) GREEDY(copy_permuted) GREEDY(count) GREEDY(count_before) GREEDY(count_if) GREEDY(count_if_into)
GREEDY(count_into) GREEDY(count_on_host) GREEDY(count_sink) GREEDY(count_up_to) GREEDY(counted_elements)
GREEDY(cut_walk) GREEDY(data) GREEDY(decide_now) GREEDY(directed) GREEDY(dlpack_data) GREEDY(dlpack_matrix)
GREEDY(dlpack_span) GREEDY(dlpack_stride) GREEDY(dlpack_volume) GREEDY(each_pointer) GREEDY(element_as)
GREEDY(element_settled) GREEDY(emulate) GREEDY(end) GREEDY(ends_before) GREEDY(equal) GREEDY(equal_into)
GREEDY(equal_range) GREEDY(equated_by) GREEDY(exact_cuts) GREEDY(exchange) GREEDY(exchanged) GREEDY(exclusive_scan)
GREEDY(exclusive_scan_by_key) GREEDY(extreme_index) GREEDY(extreme_of_segments) GREEDY(fence) GREEDY(fill)
GREEDY(fill_random) GREEDY(find) GREEDY(find_and_store) GREEDY(find_and_wait) GREEDY(find_first_of)
GREEDY(find_first_of_into) GREEDY(find_if) GREEDY(find_if_into) GREEDY(find_if_not) GREEDY(find_if_not_into)
GREEDY(find_into) GREEDY(find_on_blocks) GREEDY(find_on_host) GREEDY(find_threshold) GREEDY(find_unmarked_lambda)
GREEDY(first_part) GREEDY(first_result) GREEDY(fits_pixels) GREEDY(fits_strips) GREEDY(flag_of) GREEDY(floor_log2)
GREEDY(fold_chunk) GREEDY(fold_elements) GREEDY(fold_task)
GREEDY(folds_of_ranks) GREEDY(for_each) GREEDY(for_each_constant)
GREEDY(for_each_in_box) GREEDY(for_each_index) GREEDY(for_each_place) GREEDY(for_each_tap) GREEDY(for_each_tap_group)
GREEDY(for_each_task) GREEDY(for_each_with_place) GREEDY(for_short) GREEDY(free_ordered) GREEDY(fused) GREEDY(gap)
GREEDY(gather) GREEDY(gather_if) GREEDY(gather_on_host) GREEDY(gather_partials) GREEDY(gaussian_blur) GREEDY(generate)
GREEDY(give_to) GREEDY(graph_of) GREEDY(gray_of) GREEDY(greatest_common_divisor) GREEDY(groups_inside) GREEDY(hand_to)
GREEDY(handle_of) GREEDY(heads_of) GREEDY(histogram) GREEDY(histogram_by_tables) GREEDY(histogram_even)
GREEDY(histogram_even_channels) GREEDY(histogram_of) GREEDY(histogram_on_blocks) GREEDY(histogram_on_host)
GREEDY(histogram_range) GREEDY(homes_of_keys) GREEDY(homes_of_values) GREEDY(if_then) GREEDY(in_packs)
GREEDY(in_vectors) GREEDY(includes) GREEDY(includes_into) GREEDY(inclusive_scan) GREEDY(inclusive_scan_by_key)
GREEDY(indexed_block) GREEDY(infinity_bits) GREEDY(inplace_merge) GREEDY(input_of) GREEDY(iota) GREEDY(is_below)
GREEDY(is_last_block) GREEDY(is_lost) GREEDY(is_partitioned) GREEDY(is_partitioned_into) GREEDY(is_power_of_two)
GREEDY(is_sorted) GREEDY(is_sorted_until) GREEDY(is_sorted_until_into) GREEDY(join_before)
GREEDY(join_blocks) GREEDY(join_items)
GREEDY(join_warps) GREEDY(joined) GREEDY(judge) GREEDY(judged_by) GREEDY(keep_one) GREEDY(keep_some)
GREEDY(keep_some_of_lane) GREEDY(known_extent) GREEDY(launch) GREEDY(launch_any) GREEDY(launch_box)
GREEDY(launch_copy) GREEDY(launch_kernel) GREEDY(launch_march) GREEDY(launch_pixels) GREEDY(launch_planes)
GREEDY(launch_same_bits) GREEDY(launch_small) GREEDY(launch_stencil) GREEDY(launch_strips) GREEDY(launch_tiles)
GREEDY(launch_together) GREEDY(launch_together_at_most) GREEDY(launch_volume) GREEDY(launch_walk)
GREEDY(launch_wide_box) GREEDY(leave_first_cache) GREEDY(lexicographical_compare) GREEDY(lexicographical_compare_into)
GREEDY(lives_on_device) GREEDY(load) GREEDY(load_async) GREEDY(load_items) GREEDY(load_tile) GREEDY(load_words)
GREEDY(logarithm) GREEDY(look_back_for) GREEDY(look_up) GREEDY(lower_bound) GREEDY(machine_of) GREEDY(mapped)
GREEDY(march) GREEDY(march_rows) GREEDY(max) GREEDY(max_element) GREEDY(max_element_into) GREEDY(may_overlap)
GREEDY(mean_around) GREEDY(memory_beside) GREEDY(merge) GREEDY(merge_by_key) GREEDY(merge_elements)
GREEDY(merge_four_runs)
GREEDY(merge_pieces) GREEDY(merge_inputs) GREEDY(merge_items) GREEDY(merge_lanes)
GREEDY(merge_stages)
GREEDY(merge_on_blocks) GREEDY(merge_on_host) GREEDY(merge_runs) GREEDY(merge_sort) GREEDY(merge_sort_on_blocks)
GREEDY(merge_sort_on_host) GREEDY(merge_threads) GREEDY(merge_tile) GREEDY(merge_two_runs) GREEDY(merging_order)
GREEDY(min) GREEDY(min_element) GREEDY(min_element_into) GREEDY(minmax_element) GREEDY(mismatch) GREEDY(mismatch_into)
GREEDY(move_items) GREEDY(move_items_on_host) GREEDY(move_on) GREEDY(move_part) GREEDY(move_segments)
GREEDY(multiply_add)
GREEDY(multiply_by_panels) GREEDY(multiply_rows) GREEDY(multiply_short_rows) GREEDY(needed_scratch) GREEDY(none_of)
GREEDY(none_of_into) GREEDY(nth_element) GREEDY(on_circle) GREEDY(on_values) GREEDY(once) GREEDY(one_of)
GREEDY(order_by) GREEDY(order_of_sort) GREEDY(order_under) GREEDY(own_operator) GREEDY(pairs) GREEDY(pack) GREEDY(pack_as) GREEDY(pairs_of)
GREEDY(panels_of) GREEDY(parallel_for)
GREEDY(parallel_parts) GREEDY(partial_sort) GREEDY(partial_sort_copy) GREEDY(partition) GREEDY(partition_copy)
GREEDY(partition_copy_into) GREEDY(partition_elements) GREEDY(partition_point) GREEDY(partition_three_ways)
GREEDY(parts_apart) GREEDY(pattern_of) GREEDY(permute_to) GREEDY(place_in) GREEDY(place_in_line) GREEDY(place_nth)
GREEDY(place_of_part) GREEDY(place_taps) GREEDY(plain) GREEDY(polynomial) GREEDY(pool_use) GREEDY(problem_of)
GREEDY(project) GREEDY(projected_input) GREEDY(put_in_order) GREEDY(quotient) GREEDY(radix_items) GREEDY(radix_key_of)
GREEDY(radix_passes) GREEDY(radix_sort) GREEDY(radix_sort_by_passes) GREEDY(radix_sort_on_host)
GREEDY(radix_sort_together) GREEDY(radix_sorts_together) GREEDY(raw_pointer) GREEDY(reaches_dlpack)
GREEDY(read_word) GREEDY(rebalance) GREEDY(record_if) GREEDY(record_node) GREEDY(record_or_launch)
GREEDY(record_while) GREEDY(recorded) GREEDY(reduce) GREEDY(reduce_and_sink) GREEDY(reduce_and_wait)
GREEDY(reduce_by_key) GREEDY(reduce_by_key_into) GREEDY(reduce_into) GREEDY(reduce_on_blocks) GREEDY(reduce_on_host)
GREEDY(reduce_runs) GREEDY(reduce_same_bits) GREEDY(reduce_warps) GREEDY(remove) GREEDY(remove_copy)
GREEDY(remove_copy_into) GREEDY(remove_if) GREEDY(remove_if_into) GREEDY(remove_into)
GREEDY(repeat_bytes) GREEDY(repeat_while) GREEDY(replace) GREEDY(replace_copy) GREEDY(replace_copy_if)
GREEDY(replace_if) GREEDY(replace_in) GREEDY(require) GREEDY(require_agreement) GREEDY(require_equivalence)
GREEDY(require_function) GREEDY(require_index) GREEDY(require_marked) GREEDY(require_middle)
GREEDY(require_no_capture) GREEDY(require_not_null) GREEDY(require_offsets) GREEDY(require_on) GREEDY(require_order)
GREEDY(require_predicate) GREEDY(require_room) GREEDY(require_same_blocks) GREEDY(require_sortable)
GREEDY(require_writable) GREEDY(resident_blocks) GREEDY(result_of) GREEDY(reverse) GREEDY(reverse_copy)
GREEDY(reverse_elements) GREEDY(rgb_to_gray) GREEDY(room_for) GREEDY(root) GREEDY(rotate) GREEDY(rotate_copy)
GREEDY(rough_co_rank) GREEDY(round_up) GREEDY(rounded_sum) GREEDY(rounds_of) GREEDY(row_of_groups) GREEDY(rows_begin_at) GREEDY(rows_of)
GREEDY(rows_of_elements) GREEDY(rows_of_lanes) GREEDY(run_length_encode) GREEDY(run_length_encode_into)
GREEDY(runs_of) GREEDY(runs_on_blocks) GREEDY(runs_on_host) GREEDY(runs_output) GREEDY(same_bits_on_host)
GREEDY(same_place) GREEDY(sample) GREEDY(sample_in) GREEDY(scale) GREEDY(scan_blocks) GREEDY(scan_elements)
GREEDY(scan_items) GREEDY(scan_on_blocks) GREEDY(scan_on_host) GREEDY(scan_runs) GREEDY(scatter) GREEDY(scatter_if)
GREEDY(scratch_bytes) GREEDY(search_bound) GREEDY(search_values) GREEDY(segmented_copy)
GREEDY(segmented_exclusive_scan) GREEDY(segmented_inclusive_scan) GREEDY(segmented_max_element)
GREEDY(segmented_min_element) GREEDY(segmented_reduce) GREEDY(segmented_reduce_directly) GREEDY(segmented_reverse)
GREEDY(segmented_scan_elements) GREEDY(segmented_scan_on_blocks) GREEDY(segmented_sort) GREEDY(segmented_sort_by_key)
GREEDY(segmented_sort_on_blocks) GREEDY(segmented_sort_on_host) GREEDY(segmented_top_k)
GREEDY(segmented_top_k_by_sorting) GREEDY(segmented_top_k_on_host) GREEDY(select_and_store) GREEDY(select_and_wait)
GREEDY(select_beyond) GREEDY(select_in_segments) GREEDY(select_into) GREEDY(select_numbers) GREEDY(select_on_blocks)
GREEDY(select_on_host) GREEDY(select_to) GREEDY(set_and_store) GREEDY(set_and_wait) GREEDY(set_by_key)
GREEDY(set_by_key_into) GREEDY(set_difference) GREEDY(set_difference_by_key) GREEDY(set_difference_by_key_into)
GREEDY(set_difference_into) GREEDY(set_intersection) GREEDY(set_intersection_by_key)
GREEDY(set_intersection_by_key_into) GREEDY(set_intersection_into) GREEDY(set_into) GREEDY(set_on_blocks)
GREEDY(set_on_host) GREEDY(set_pool_threshold) GREEDY(set_symmetric_difference)
GREEDY(set_symmetric_difference_by_key) GREEDY(set_symmetric_difference_by_key_into)
GREEDY(set_symmetric_difference_into) GREEDY(set_to) GREEDY(set_union) GREEDY(set_union_by_key)
GREEDY(set_union_by_key_into) GREEDY(set_union_into) GREEDY(settled) GREEDY(shape_text) GREEDY(shift_elements)
GREEDY(shift_left) GREEDY(shift_right) GREEDY(shifted_input) GREEDY(shifts_by_parts) GREEDY(shuffle) GREEDY(shuffle_copy) GREEDY(side_by_side)
GREEDY(size) GREEDY(sort) GREEDY(sort_bitonic) GREEDY(sort_blocks) GREEDY(sort_by_comparing) GREEDY(sort_by_key)
GREEDY(sort_by_key_copy) GREEDY(sort_by_network) GREEDY(sort_by_projection) GREEDY(sort_by_ranking) GREEDY(sort_copy)
GREEDY(sort_elements) GREEDY(sort_keys) GREEDY(sort_short_segments) GREEDY(sort_windows) GREEDY(splitters)
GREEDY(spmm) GREEDY(spmv) GREEDY(spread) GREEDY(stable_partition) GREEDY(stable_partition_into) GREEDY(stable_sort)
GREEDY(stable_sort_by_key) GREEDY(staged_from)
GREEDY(stages_of_sort) GREEDY(start_runs) GREEDY(stencil) GREEDY(stencil_on_device) GREEDY(stencil_on_host)
GREEDY(stencil_row) GREEDY(store) GREEDY(store_column) GREEDY(store_four) GREEDY(store_row) GREEDY(store_words)
GREEDY(stored) GREEDY(stored_for) GREEDY(sum_of_many_products) GREEDY(sum_of_products) GREEDY(sum_row)
GREEDY(swap_ranges) GREEDY(swap_tiles) GREEDY(sync_grid) GREEDY(synchronize) GREEDY(tabulate)
GREEDY(tabulate_output) GREEDY(tabulated) GREEDY(take_from_sorted) GREEDY(take_heads) GREEDY(take_ticket)
GREEDY(task_of) GREEDY(tensor_in) GREEDY(text_of) GREEDY(threads_that_fit) GREEDY(three_way_partition_copy)
GREEDY(three_way_partition_copy_into) GREEDY(to_dlpack) GREEDY(to_host) GREEDY(to_numbers) GREEDY(top_k)
GREEDY(top_k_by_projection) GREEDY(top_k_by_sorting) GREEDY(top_k_of) GREEDY(top_k_of_part) GREEDY(top_k_on_host) GREEDY(totals_by_rank)
GREEDY(transform) GREEDY(transform_if) GREEDY(transform_input) GREEDY(transform_reduce) GREEDY(transform_reduce_into)
GREEDY(transpose_tile) GREEDY(transposed) GREEDY(trim_pool) GREEDY(try_launch_together) GREEDY(two_outputs)
GREEDY(type_name) GREEDY(unbounded_output) GREEDY(undirected) GREEDY(unique_by_key) GREEDY(unique) GREEDY(unique_by_key_into)
GREEDY(unique_count) GREEDY(unique_count_into) GREEDY(unique_into)
GREEDY(unique_copy) GREEDY(unique_copy_into) GREEDY(unwrap) GREEDY(upper_bound) GREEDY(upper_product)
GREEDY(value_of_stored) GREEDY(values_of) GREEDY(values_of_all) GREEDY(views_of) GREEDY(volume_of)
GREEDY(warp_co_rank) GREEDY(warp_inclusive_scan) GREEDY(warp_partition_point) GREEDY(warp_reduce) GREEDY(warp_search)
GREEDY(warp_segmented_scan) GREEDY(widen_rows) GREEDY(widened) GREEDY(with_access) GREEDY(with_bits_of)
GREEDY(with_fitting_tuning) GREEDY(with_flags) GREEDY(with_index) GREEDY(with_moved) GREEDY(with_pairs_of_sets)
GREEDY(with_rest) GREEDY(with_room) GREEDY(with_search) GREEDY(with_sets) GREEDY(with_stored) GREEDY(with_widest_word)
GREEDY(word_of) GREEDY(write_in_place) GREEDY(write_products) GREEDY(write_values) GREEDY(write_word) GREEDY(zip) GREEDY(zip_of)
GREEDY(zip_output) GREEDY(zipped) GREEDY(zipped_with_start)
GREEDY(check_slabs) GREEDY(convolve_slabs) GREEDY(counts_of) GREEDY(exchange_halos) GREEDY(exchange_planes)
GREEDY(for_each_window) GREEDY(halo_pieces) GREEDY(make_by_call) GREEDY(make_stencil) GREEDY(partition_by)
GREEDY(planes_of) GREEDY(view_of_planes)
GREEDY(check_product) GREEDY(check_scan) GREEDY(check_spread_product) GREEDY(compares_calls) GREEDY(require_same_call)
GREEDY(round_once)
#undef GREEDY
template <class A, class B>
void operator,(A&&, B&&) = delete;
// clang-format on
template <class A>
void operator&(A&&) = delete;

struct number {
  int value;
  friend bool operator==(const number&, const number&) = default;
  PMPP_HOST_DEVICE friend number operator+(const number& a, const number& b) { return {a.value + b.value}; }
};
struct add {
  PMPP_HOST_DEVICE number operator()(const number& a, const number& b) const { return {a.value + b.value}; }
};
struct twice {
  PMPP_HOST_DEVICE number operator()(const number& a) const { return {2 * a.value}; }
};
struct precedes {
  PMPP_HOST_DEVICE bool operator()(const number& a, const number& b) const { return a.value < b.value; }
};
struct same {
  PMPP_HOST_DEVICE bool operator()(const number& a, const number& b) const { return a.value == b.value; }
};
struct is_odd {
  PMPP_HOST_DEVICE bool operator()(const number& a) const { return a.value % 2 != 0; }
};

/// The upper half of a float: what kernels take as they take half and bfloat16.
struct upper_half {
  std::uint16_t bits = 0;
  upper_half() = default;
  PMPP_HOST_DEVICE constexpr upper_half(float x)
      : bits(static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, x) >> 16)) {}
  PMPP_HOST_DEVICE constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
};

/// A factor such as alpha.
struct factor {
  float value;
  operator float() const { return value; }
};

template <class T>
struct iterator_to {
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using pointer = T*;
  using iterator_category = std::random_access_iterator_tag;
  T* p = nullptr;

  PMPP_HOST_DEVICE T& operator*() const { return *p; }
  PMPP_HOST_DEVICE T& operator[](std::ptrdiff_t i) const { return p[i]; }
  PMPP_HOST_DEVICE friend iterator_to operator+(iterator_to a, std::ptrdiff_t n) { return {a.p + n}; }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(iterator_to a, iterator_to b) { return a.p - b.p; }
};

/// Contiguous memory.
template <class T>
struct range_of {
  T* first;
  std::size_t count;
  T* data() const { return first; }
  T* begin() const { return first; }
  T* end() const { return first + count; }
  std::size_t size() const { return count; }
};
template <class Container>
auto range_over(Container& c) {
  return range_of<std::remove_pointer_t<decltype(c.data())>>{c.data(), c.size()};
}

}  // namespace hostile
