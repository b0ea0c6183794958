// SPDX-License-Identifier: Apache-2.0
//
// Which kernels find the k first numbers of rows:
//
//   many short rows; segments of few numbers short_rows_kernel: a warp for each
//   k = 1                                    first_key_kernel
//   rows that blocks hold in shared memory   held_rows_kernel; all of rows in any order: put_all_kernel
//   a few long rows                          spread_rows_kernel: by all multiprocessors, whose shared memory holds them
//   rows that a block takes alone            top_keys_kernel
//   longer ones                              sample_keys_kernel, top_keys_kernel
//   segments                                 segments_kernel; long ones by parts: top_keys_kernel (k = 1: first_key_kernel for both)
//   k past half of the room of a large block keys up to the limits of rows, or all, to one list that is sorted (sort/radix.hpp), by
//                                            rows at the end; of one row its k first come to the front (nth_element.hpp) where
//                                            any order will do
//   rows of more places than a key names     each part by itself; each key finds its place among those of all parts
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/nth_element.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/radix.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>
#include <pmpp/top_keys/kernels.hpp>
#include <pmpp/top_keys/held.hpp>
#include <pmpp/top_keys/lists.hpp>
#include <pmpp/top_keys/segments.hpp>
#include <pmpp/top_keys/short_rows.hpp>
#include <pmpp/top_keys/spread.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

/// Numbers with this code, from an iterator; k of each row to `output`.
template <top_k_tuning Tuning, class Code, class P, class In, int Items, class Output, class Order = sorted_order>
class number_selection {
  using source_type = number_source<Code, In, Items>;
  using keys = typename source_type::keys;
  template <class Rows>
  using selecting = top_keys_kernel<source_type, Rows, Output, Tuning>;

public:
  const P& where;
  source_type source;

  static constexpr std::int64_t longest_row = keys::longest_row;
  /// Of rows that do not fit into the room of a block; else k may be any. Not every machine holds the largest blocks.
  static std::int64_t most_k(const P& where) {
    using kernel = selecting<equal_rows>;
    const bool fits =
        machine_of(where).fits(kernel::shape(1, kernel::threads).dynamic_shared, sizeof(typename kernel::shared));
    return kernel::room_for(fits ? kernel::threads : Tuning.threads, false);
  }

  static std::size_t list_bytes(std::int64_t count) {
    return (keys::wide ? 2 : 1) * round_up(checked_bytes(count, 8, "top_k"), allocation_alignment);
  }
  static key_list<keys> take_list(scratch& memory, std::int64_t count) {
    auto* const first = memory.take<std::uint64_t>(count);
    return {first, keys::wide ? memory.take<std::uint64_t>(count) : nullptr};
  }

  /// k <= most_k, or 1, or no row has more elements than there is room for.
  void few(const equal_rows& rows, std::int64_t k, const Output& output) const {
    const std::int64_t resident = resident_blocks(), longest = rows.length;
    if (k == 1) return first_of_each(rows, output);
    using kernel = selecting<equal_rows>;
    const int threads = threads_for(rows.rows, longest, k, true);
    typename kernel::arguments a{source, rows,    k,     selection_stage::part, divisor(1), 0, {}, {}, nullptr, nullptr,
                                 0,      nullptr, output};
    if (longest <= Tuning.one_block) {
      pmpp::launch(where, kernel::shape(min(rows.rows, 64 * resident), threads), kernel{}, a);
      return;
    }
    const std::int64_t parts = parts_of_row(rows.rows, longest, resident * Tuning.threads / threads);
    a.part_room = kernel::room_for(threads, true);
    using sampling = sample_keys_kernel<source_type, Tuning>;
    const typename sampling::arguments s = sample_shape<sampling>(rows, longest, k, source);
    const std::int64_t slots = rows.rows * sampling::most_slots, places = rows.rows * parts * a.part_room;
    scratch memory(where,
                   list_bytes(slots) + list_bytes(rows.rows) + list_bytes(places) +
                       scratch_bytes({static_cast<std::size_t>(rows.rows + 1) * sizeof(std::int64_t)}),
                   static_cast<std::size_t>(rows.rows) * sizeof(unsigned));
    enqueue_sample<sampling>(memory, s, slots, rows.rows, a);
    a.list = take_list(memory, places);
    a.parts = divisor(parts);
    pmpp::launch(where, kernel::shape(rows.rows * parts, threads), kernel{}, a);
  }

  /// Segments of n elements: k <= most_k, or 1. A block for each, and a second launch for those that are longer, if there can be
  /// such, by parts.
  template <class Offsets>
  void of_segments(const input<Offsets>& offsets, std::int64_t n, std::int64_t k, const Output& output) const {
    using rows_type = segment_rows<Offsets>;
    using kernel = selecting<rows_type>;
    using first_keys = first_key_kernel<source_type, rows_type, Output, Tuning>;
    const std::int64_t resident = resident_blocks(), segments = offsets.count.bound - 1,
                       average = ceil_div(n, segments);
    const int threads = threads_for(segments, average, k, false), large = max(threads, Tuning.threads);
    const std::int64_t of_part = max(Tuning.part, ceil_div(n, resident)), longest = 2 * of_part;
    const bool notes = n > (k > 1 ? longest : Tuning.alone);
    const std::int64_t most_noted = n / longest, most_parts = n / of_part + most_noted,
                       part_room = k == 1 ? 1 : kernel::room_for(large, true);
    const std::size_t bytes = list_bytes(most_parts * part_room) +
                              scratch_bytes({static_cast<std::size_t>(most_noted) * sizeof(noted_row)}),
                      state_bytes = static_cast<std::size_t>(rows_type::state_words + 2 * most_noted) * 8;
    scratch memory(where, notes ? bytes : 0, notes ? state_bytes : 0);
    rows_type rows{{offsets.first, offsets.count}, notes ? longest : 0, of_part};
    key_list<keys> list{};
    std::int64_t* found = nullptr;
    unsigned* arrived = nullptr;
    if (notes) {
      list = take_list(memory, most_parts * part_room);
      rows.noted = memory.take<noted_row>(most_noted);
      rows.state = reinterpret_cast<std::uint64_t*>(memory.state());
      found = reinterpret_cast<std::int64_t*>(rows.state + rows_type::state_words);
      arrived = reinterpret_cast<unsigned*>(found + most_noted);
    }
    const std::int64_t blocks = min(most_parts, resident * Tuning.threads / large);
    if (k == 1) {
      typename first_keys::arguments a{source, rows, divisor(1), list, arrived, output};
      const int some = average <= Tuning.short_row ? Tuning.short_threads : Tuning.threads;
      pmpp::launch(where, grid{min(segments, std::int64_t(1) << 30), some}, first_keys{}, a);
      a.rows.second = true;
      if (notes) pmpp::launch(where, grid{blocks, Tuning.threads}, first_keys{}, a);
      return;
    }
    typename kernel::arguments a{
        source, rows, k, selection_stage::part, divisor(1), part_room, list, {}, found, nullptr, 0, arrived, output};
    take_segments(a, segments, average, threads);
    a.rows.second = true;
    if (notes) pmpp::launch(where, kernel::shape(blocks, large), kernel{}, a);
  }

  /// Short rows: a warp takes the k first one after the other. False: rows are long, or few, or k is large.
  bool by_warps(const equal_rows& rows, std::int64_t k, const Output& output) const {
    using kernel = short_rows_kernel<source_type, equal_rows, Output>;
    const bool are_many = rows.rows >= std::int64_t(8) * machine_of(where).multiprocessors;
    const std::int64_t most_k = are_many && rows.length <= Tuning.of_a_warp ? 4 * Tuning.by_a_warp : Tuning.by_a_warp;
    if (rows.length > kernel::longest || k > most_k) return false;
    pmpp::launch(where, ceil_div(rows.rows, std::int64_t(kernel::warps)), kernel{},
                 typename kernel::arguments{source, rows, k, output});
    return true;
  }

  /// The same of segments of n elements in all.
  template <class Offsets>
  bool segments_by_warps(const input<Offsets>& offsets, std::int64_t n, std::int64_t k, const Output& output) const {
    using rows_type = offset_rows<Offsets>;
    using kernel = short_rows_kernel<source_type, rows_type, Output>;
    if (n > kernel::longest || n * min(n, k) > std::int64_t(Tuning.by_a_warp) * kernel::longest) return false;
    pmpp::launch(where, ceil_div(offsets.count.bound - 1, std::int64_t(kernel::warps)), kernel{},
                 typename kernel::arguments{source, rows_type{offsets.first, offsets.count}, k, output});
    return true;
  }

  /// Rows that blocks hold in shared memory, or that come whole in any order. False: they are too long, or so short or many that
  /// others take less time.
  bool held(const equal_rows& rows, std::int64_t k, const Output& output) const {
    using kernel = held_rows_kernel<source_type, equal_rows, Output, Tuning, Order>;
    const machine& m = machine_of(where);
    if (!kernel::sorts && k == rows.length && rows.count.pointer == nullptr) {
      put_all(rows, 0, output);
      return true;
    }
    const std::int64_t shortest = (rows.rows > 8 * m.multiprocessors ? 2 : 1) * Tuning.short_threads,
                       // For larger k, words and short rows others take longer.
        halves = k > most_k(where)                           ? 128
                 : k > 512                                   ? 6
                 : keys::wide || rows.length < Tuning.spread ? 3
                                                             : 2;
    if (k == 1 || rows.length <= shortest || 2 * rows.count.bound > halves * Tuning.held * m.multiprocessors ||
        (kernel::sorts && k > kernel::room::tile))
      return false;
    const int most = gpu_execution<P> && !simt::can_begin_early ? 1 : m.most_blocks_of_cluster();
    for (int blocks = 1; blocks <= most; blocks *= 2) {
      const std::int64_t slice = ceil_div(rows.length, std::int64_t(blocks));
      const typename kernel::arguments a{source, rows, k, slice, blocks, static_cast<int>(kernel::keys_bytes(k)),
                                         output};
      const grid shape = kernel::shape(a, rows.rows, slice, m.multiprocessors);
      const std::size_t bytes = shape.dynamic_shared + sizeof(typename kernel::shared);
      // Shared by more blocks where multiprocessors are left, or would have one block each, whose memory and arithmetic wait for
      // each other.
      const bool is_large = 3 * bytes > static_cast<std::size_t>(m.shared_per_multiprocessor),
                 has_more = 2 * blocks <= most && (is_large || 2 * blocks * rows.rows <= m.multiprocessors);
      if (!m.fits(shape.dynamic_shared, sizeof(typename kernel::shared)) || (has_more && slice > Tuning.held_slice))
        continue;
      pmpp::launch(where, shape, kernel{}, a);
      return true;
    }
    return false;
  }

  /// A long row, or a few, held by blocks that all run at once. False: they do not, or rows are too short, too long or too many, or k is
  /// so large that the places of keys are found sooner by a sort.
  bool spread(const equal_rows& rows, std::int64_t k, const Output& output) const {
    using kernel = spread_rows_kernel<source_type, Output, Tuning>;
    const machine& m = machine_of(where);
    const std::int64_t blocks =
        min(m.multiprocessors / rows.rows, ceil_div(rows.length, std::int64_t(kernel::threads / 2)));
    const std::int64_t room = k + kernel::threads;
    if (k == 1 || blocks < Tuning.spread_blocks) return false;
    // A cluster takes a row in about 10 us and 0.14 for each 1000 elements; blocks of more multiprocessors in 14, and what they
    // compare. Of one row a sort is what else there is.
    const std::int64_t compared = room * room / blocks,
                       longer = Tuning.spread + Tuning.spread * compared / (keys::wide ? 1 << 15 : 1 << 16);
    const bool before_sort = rows.rows == 1 && rows.length > Tuning.spread && compared <= 1 << 18,
               before_cluster = rows.length > longer + 4 * longer / blocks && compared <= 1 << 19;
    if (!before_sort && !before_cluster) return false;
    const std::int64_t slice = round_up(ceil_div(rows.length, blocks), std::int64_t(64));  // whole vectors
    const std::size_t bytes = kernel::bytes(slice, room);
    if (!m.fits(bytes, sizeof(typename kernel::shared))) return false;
    scratch memory(where, list_bytes(rows.rows * room),
                   static_cast<std::size_t>(rows.rows) * kernel::state_words * sizeof(unsigned));
    return detail::launch_kernel<kernel::threads, true>(
        where, grid{rows.rows * blocks, kernel::threads, bytes}, kernel{},
        typename kernel::arguments{source, rows, k, slice, static_cast<int>(blocks), static_cast<int>(room),
                                   take_list(memory, rows.rows * room), memory.state(), output});
  }

  /// Rows, any k: the keys that samples let through, or all, in one list, which is sorted by rows at the end.
  template <bool Batched>
  void many(const equal_rows& rows, std::int64_t k, const Output& output) const {
    const std::int64_t n = rows.count.bound, length = rows.length;
    const bool several = Batched && rows.rows > 1,
               all = length / k < Tuning.sort_from || (several && n <= Tuning.together / 8);
    const int place_bits = several ? ceil_log2(max(std::int64_t(2), length)) : 0;
    scratch list_memory(where, list_bytes(n), 0);
    const key_list<keys> list = take_list(list_memory, n);
    item_count listed = rows.count;
    const auto count_words = static_cast<std::size_t>(rows.rows + 1);
    scratch words(where, scratch_bytes({count_words * sizeof(std::int64_t), count_words * sizeof(bool)}), 0);
    if (all) {
      list_all(rows, place_bits, list, output);
    } else {
      using kernel = selecting<equal_rows>;
      using sampling = sample_keys_kernel<source_type, Tuning>;
      const typename sampling::arguments s = sample_shape<sampling>(rows, length, k, source);
      const std::int64_t slots = rows.rows * sampling::most_slots,
                         parts = parts_of_row(rows.rows, length, resident_blocks());
      typename kernel::arguments a{
          source,     rows,    k,     selection_stage::gather, divisor(parts), 0, list, {}, nullptr, nullptr,
          place_bits, nullptr, output};
      scratch memory(where, list_bytes(slots) + list_bytes(rows.rows),
                     static_cast<std::size_t>(rows.rows) * sizeof(unsigned));
      a.found = words.take<std::int64_t>(rows.rows + 1);
      a.too_few = words.take<bool>(rows.rows);
      enqueue_sample<sampling>(memory, s, slots, rows.rows, a);
      const grid shape = kernel::shape(rows.rows * parts, Tuning.threads);
      pmpp::launch(where, shape, kernel{}, a);
      listed = {n, a.found + rows.rows, true};
      a.stage = selection_stage::rest;
      pmpp::launch(where, shape, kernel{}, a);
    }
    bool sorts = true;
    if constexpr (std::is_same_v<Order, any_order> && !keys::wide) {
      sorts = several || k < Tuning.parting.sort_up_to;
      if (!sorts) detail::place_nth<Tuning.parting, std::uint64_t>("top_k", where, list.first, listed, k - 1, less{});
    }
    if (sorts) sort_list(list, listed, {0, all ? 0 : max(1, floor_log2(length) + 1)});
    if (several) sort_places(list, listed, {place_bits, place_bits + ceil_log2(rows.rows)});
    join(rows, list, n, k, output, place_bits, listed);
  }

  /// A row of more elements than keys have places: the k first of each part, then those of all.
  void of_parts(const item_count& count, std::int64_t k, const Output& output) const {
    const equal_rows parts{count, Tuning.longest_row, ceil_div(count.bound, Tuning.longest_row)};
    scratch memory(where, list_bytes(parts.rows * k), 0);
    Output to_list = output;
    to_list.as_keys = true;
    to_list.first = 0;
    to_list.list = take_list(memory, parts.rows * k);
    if (k == 1 || k <= most_k(where)) {
      few(parts, k, to_list);
    } else {
      require(count.pointer == nullptr, [&] {
        return "pmpp::top_k: k is " + detail::text::of(k) + " of a length that the device knows; past " +
               detail::text::of(parts.length) + " elements the limit is " + detail::text::of(most_k(where));
      });
      for (std::int64_t part = 0; part < parts.rows; ++part) {
        const In from = source.in + parts.begin(part);
        const std::int64_t n = parts.end(part) - parts.begin(part);
        to_list.first = part * k;
        using sorting = number_selection<Tuning, Code, P, In, Items, Output>;  // join takes lists that are sorted
        sorting{where, {from, block::access<In>::template lead<Items>(from)}}.template many<false>(
            equal_rows{{n}, n, 1}, min(k, n), to_list);
      }
    }
    join(parts, to_list.list, k, k, output);
  }

private:
  /// A block for each segment. It has room for one of four times the average, or for more if all blocks run at once even so.
  template <class Arguments>
  void take_segments(const Arguments& a, std::int64_t segments, std::int64_t average, int threads) const {
    using kernel = segments_kernel<source_type, decltype(a.rows), Output, Tuning>;
    using holding = typename kernel::holding;
    const machine& m = machine_of(where);
    typename holding::arguments h{source, a.rows, a.k, 0, 1, static_cast<int>(holding::keys_bytes(a.k)), a.output};
    const std::int64_t at_once = ceil_div(segments, std::int64_t(m.multiprocessors)),
                       rest = m.shared_per_multiprocessor / at_once - std::int64_t(sizeof(typename kernel::shared)) -
                              machine::reserved_per_block - h.keys_bytes,
                       share = rest / std::int64_t(sizeof(typename keys::code)) - 2 * Items - 16;
    grid shape = kernel::selecting::shape(
        segments, at_once <= 2 && average > Tuning.short_row / 8 ? max(threads, Tuning.threads) : threads);
    h.slice = average > Tuning.segment ? 0 : min(Tuning.segment, max(share, round_up(4 * average, std::int64_t(2048))));
    const grid held = holding::shape(h, segments, average, m.multiprocessors);
    grid both = kernel::selecting::shape(segments, static_cast<int>(max(held.threads.x, shape.threads.x)));
    both.dynamic_shared = max(both.dynamic_shared, held.dynamic_shared);
    if (h.slice > 0 && m.fits(both.dynamic_shared, sizeof(typename kernel::shared)))
      shape = both;
    else
      h.slice = 0;
    pmpp::launch(where, shape, kernel{}, h, a);
  }
  std::int64_t resident_blocks() const { return std::int64_t(Tuning.blocks) * machine_of(where).multiprocessors; }
  /// Of a block that takes rows alone: few where rows are short, or not long and so many that it counts how many run at once.
  int threads_for(std::int64_t rows, std::int64_t longest, std::int64_t k, bool may_fit) const {
    using kernel = selecting<equal_rows>;
    const bool is_short = longest <= Tuning.short_row || (longest <= 4 * Tuning.short_row && rows >= resident_blocks());
    int threads = is_short ? Tuning.short_threads : Tuning.threads;
    while (threads < kernel::threads &&
           k > kernel::room_for(threads, may_fit && longest <= kernel::room_for(threads, true)))
      threads *= 2;
    return threads;
  }
  /// The keys of all elements.
  void list_all(const equal_rows& rows, int place_bits, const key_list<keys>& list, Output to) const {
    to.k = rows.length;
    to.first = 0;
    to.as_keys = true;
    to.list = list;
    put_all(rows, place_bits, to);
  }
  void put_all(const equal_rows& rows, int place_bits, const Output& output) const {
    using kernel = put_all_kernel<source_type, Output>;
    pmpp::launch(where,
                 min(ceil_div(rows.count.bound, std::int64_t(kernel::each * kernel::threads)),
                     std::int64_t(16) * machine_of(where).multiprocessors),
                 kernel{}, typename kernel::arguments{source, rows, place_bits, output});
  }

  void join(const equal_rows& parts, const key_list<keys>& list, std::int64_t list_room, std::int64_t k,
            const Output& output, int row_shift = 0, const item_count& listed = {0}) const {
    using kernel = join_lists_kernel<source_type, Output>;
    pmpp::launch(where,
                 min(ceil_div(parts.rows * k, std::int64_t(kernel::threads)),
                     std::int64_t(32) * machine_of(where).multiprocessors),
                 kernel{}, typename kernel::arguments{parts, list, list_room, k, row_shift, listed, output});
  }

  static constexpr std::int64_t tile = std::int64_t(Tuning.threads) * selecting<equal_rows>::loads * Items;
  /// Blocks of a row: as many as run at once, or where rows are several, so many that the last ones to run are a small part.
  static std::int64_t parts_of_row(std::int64_t rows, std::int64_t longest, std::int64_t resident) {
    const std::int64_t wanted = rows == 1 ? resident : ceil_div(4 * resident, rows);
    return max(std::int64_t(1), min(wanted, longest / (2 * tile)));
  }

  template <class Kernel>
  static typename Kernel::arguments sample_shape(const equal_rows& rows, std::int64_t longest, std::int64_t k,
                                                 const source_type& source) {
    constexpr std::int64_t width = source_type::widest, threads = Tuning.threads, in_sample = 100;
    const std::int64_t part = longest < 1 << 24 ? max(1, Tuning.sample_part / 4) : Tuning.sample_part;
    // Of the k first 100 on average, at most.
    const std::int64_t wanted = min(max(longest / (part * width), std::int64_t(Kernel::most_slots)),
                                    max(threads, min(in_sample * (longest / k) / width, std::int64_t(1) << 17)));
    std::int64_t blocks = 1;
    while (blocks < 64 && 4 * blocks * threads <= wanted &&
           2 * blocks * threads <= simt::warp_size * Kernel::most_slots)
      blocks *= 2;
    int clusters = 1;
    while (clusters * blocks * threads < wanted) clusters *= 2;
    return {source, rows, k, static_cast<int>(blocks), clusters, {}, {}, nullptr, nullptr};
  }

  /// Finds the limits of rows, for kernels with arguments `a`.
  template <class Kernel, class Arguments>
  void enqueue_sample(scratch& memory, typename Kernel::arguments s, std::int64_t slots, std::int64_t rows,
                      Arguments& a) const {
    s.slots = take_list(memory, slots);
    s.limits = a.limits = take_list(memory, rows);
    if (a.found == nullptr) a.found = memory.take<std::int64_t>(rows + 1);
    s.found = a.found;
    s.arrived = a.arrived = memory.state();
    pmpp::launch(where, rows * s.blocks, Kernel{}, s);
  }

  void first_of_each(const equal_rows& rows, const Output& output) const {
    using kernel = first_key_kernel<source_type, equal_rows, Output, Tuning>;
    // A block alone goes through some tiles in the time in which several come to an end together.
    const std::int64_t parts = rows.length < 8 * tile ? 1 : parts_of_row(rows.rows, rows.length, resident_blocks());
    scratch memory(where, parts > 1 ? list_bytes(rows.rows * parts) : 0,
                   parts > 1 ? static_cast<std::size_t>(rows.rows) * sizeof(unsigned) : 0);
    const int threads = rows.length <= Tuning.short_row ? Tuning.short_threads : Tuning.threads;
    pmpp::launch(where, grid{min(rows.rows * parts, std::int64_t(1) << 30), threads}, kernel{},
                 typename kernel::arguments{source, rows, divisor(parts),
                                            parts > 1 ? take_list(memory, rows.rows * parts) : key_list<keys>{},
                                            memory.state(), output});
  }

  /// Sorts a list by codes, after the bits `places` of the places.
  void sort_list(const key_list<keys>& list, const item_count& count, const key_bits& places) const {
    if constexpr (keys::wide) {
      if (places.hi > places.lo) sort_places(list, count, places);
      sort_words(list.first, list.second, count, {0, Code::width});
    } else {
      sort_words(list.first, list.second, count, {places.hi > places.lo ? 0 : 32, 32 + Code::width});
    }
  }
  void sort_places(const key_list<keys>& list, const item_count& count, const key_bits& places) const {
    if constexpr (keys::wide)
      sort_words(list.second, list.first, count, places);
    else
      sort_words(list.first, list.second, count, places);
  }
  /// Sorts by the bits of one word, others along with it.
  void sort_words(std::uint64_t* by, [[maybe_unused]] std::uint64_t* with, const item_count& count,
                  const key_bits& bits) const {
    constexpr radix_tuning tuning{.threads = 1024, .items = 16, .short_items = 16};  // one shape of pass is enough
    using code = radix_code<std::uint64_t, false>;
    if constexpr (keys::wide) {
      using pairs = zip_iterator<std::uint64_t*, std::uint64_t*>;
      const pairs both{by, with};
      radix_sort_by_passes<tuning, code, std::uint64_t, pair<std::uint64_t, std::uint64_t>>(where, both, both, count,
                                                                                            bits);
    } else {
      radix_sort_by_passes<tuning, code, no_value, std::uint64_t>(where, by, by, count, bits);
    }
  }
};

/// The k first of rows of `length` numbers each, of one row `count`, in order. False: blocks that run at once do not hold them.
template <top_k_tuning Tuning, class Code, class P, class In, class Output>
bool spread_numbers(const P& where, const In& in, const item_count& count, std::int64_t length, std::int64_t rows,
                    std::int64_t k, const Output& output) {
  bool done = false;
  block::with_access(in, [&](auto items, std::int64_t lead) {
    using ways = number_selection<Tuning, Code, P, In, min(decltype(items)::value, 16), Output>;
    done = ways{where, {in, lead}}.spread(equal_rows{count, length, rows}, k, output);
  });
  return done;
}

/// The k first of rows of `length` numbers each, of one row `count`. k >= 1. Of several rows: Batched.
template <top_k_tuning Tuning, class Code, class Order = sorted_order, bool Batched = false, class P, class In,
          class Output>
void select_numbers(const P& where, const In& in, const item_count& count, std::int64_t length, std::int64_t rows,
                    std::int64_t k, const Output& output) {
  block::with_access(in, [&](auto items, std::int64_t lead) {
    constexpr int width = min(decltype(items)::value, 16);
    using ways = number_selection<Tuning, Code, P, In, width, Output, Order>;
    const std::int64_t longest = min(Tuning.longest_row, ways::longest_row);
    if constexpr (Batched)
      if (ways{where, {in, lead}}.by_warps(equal_rows{count, length, rows}, k, output)) return;
    if (length <= longest && ways{where, {in, lead}}.held(equal_rows{count, length, rows}, k, output)) return;
    if (length <= longest && (k == 1 || k <= ways::most_k(where) || length <= 2 * ways::most_k(where))) {
      const ways all{where, {in, lead}};
      return all.few(equal_rows{count, length, rows}, k, output);
    }
    const std::int64_t at_once =
        Batched && length <= longest ? max(std::int64_t(1), min(Tuning.together / length, rows)) : 1;
    for (std::int64_t row = 0; row < rows; row += at_once) {
      const std::int64_t some = min(at_once, rows - row);
      const In from = in + row * length;
      const ways part{where, {from, block::access<In>::template lead<width>(from)}};
      Output to = output;
      to.first += row * k;
      const item_count of_rows = rows == 1 ? count : item_count{some * length};
      length <= longest ? part.template many<Batched>(equal_rows{of_rows, length, some}, k, to)
                        : part.of_parts(of_rows, k, to);
    }
  });
}

/// The k first of each segment of numbers. False: k is too large for this, or segments are many and short.
template <top_k_tuning Tuning, class Code, class P, class In, class Offsets, class Output>
bool select_in_segments(const P& where, const In& in, const input<Offsets>& offsets, std::int64_t n, std::int64_t k,
                        const Output& output) {
  bool done = false;
  block::with_access(in, [&](auto items, std::int64_t lead) {
    using ways = number_selection<Tuning, Code, P, In, decltype(items)::value, Output>;
    const ways all{where, {in, lead}};
    done = all.segments_by_warps(offsets, n, k, output);
    if (done) return;
    const std::int64_t segments = offsets.count.bound - 1;
    const bool short_ones = segments > std::int64_t(16) * machine_of(where).multiprocessors &&
                            n <= segments * Tuning.sorting.segment * (k > 1 ? 4 : 1);
    if (short_ones || (k > 1 && k > ways::most_k(where)) || n > ways::longest_row) return;
    all.of_segments(offsets, n, k, output);
    done = true;
  });
  return done;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
