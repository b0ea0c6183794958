// SPDX-License-Identifier: Apache-2.0
//
// Histograms: how many samples of a range fall into each bin.
//
//   histogram_even            bins of equal width between two bounds
//   histogram_range           bins between levels of your own
//   histogram                 bins that a function of the sample chooses
//   histogram_even_channels   one histogram a channel, of interleaved samples (pixels)
//
// The size of `counts` is the number of bins. How it works is told in histogram/kernel.hpp, and what an exact bin is in
// histogram/bins.hpp. Work n; traffic n * sizeof(T) read; one launch, and one more to clear more than 32 KB of counters.
// Counts are exact, so they are the same on every run and on every policy. (PMPP ch. 9.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/histogram/bins.hpp>
#include <pmpp/histogram/kernel.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// What a histogram may do besides, as in histogram_even(where, r, counts, 0, 100, {.rejected = p}).
struct histogram_options {
  bool accumulate = false;  ///< add to the counts (and to *rejected) that are there, instead of overwriting them
  std::uint64_t* rejected = nullptr;  ///< gets the number of samples in no bin, one a channel; visible to `where`
};

namespace detail {

/// Checks the counters and runs the histogram that `binning(bins)` describes.
template <histogram_tuning Tuning, class Layers, class P, class In, class Counts, class MakeBinning>
void histogram_of(const char* function, const P& where, const input<In>& in, Counts& counts,
                  const histogram_options& options, MakeBinning binning_of) {
  auto* first = raw_pointer(std::data(counts));
  using Count = std::remove_pointer_t<decltype(first)>;
  static_assert(std::is_integral_v<Count> && (sizeof(Count) == 4 || sizeof(Count) == 8) && !std::is_const_v<Count>,
                "pmpp::histogram: counts must be 4- or 8-byte integers that can be written");
  static_assert(std::is_trivially_copyable_v<value_of<In>>, "pmpp: elements must be trivially copyable");
  const auto size = static_cast<std::int64_t>(std::size(counts));
  constexpr std::int64_t most = (std::int64_t(1) << 31) - 64;
  if (size < Layers::active || size > most || size % Layers::active != 0)
    detail::throw_length_error(detail::text("pmpp::") + function + ": counts has " + detail::text::of(size) +
                               " elements, needs as many bins for each of " + detail::text::of(Layers::active) +
                               " channels, at least 1 and less than 2^31 in all");
  check_output(function, "counts", first, size, in);
  if (options.rejected != nullptr) detail::check_output(function, "rejected", options.rejected, Layers::active, in);
  require(in.count.pointer != nullptr || in.count.bound % Layers::channels == 0, [&] {
    return detail::text("pmpp::") + function + ": the input has " + detail::text::of(in.count.bound) +
           " samples, which are no whole pixels of " + detail::text::of(Layers::channels);
  });
  const auto binning = binning_of(static_cast<std::uint32_t>(size / Layers::active));
  const bin_counters<Count> output{first, options.rejected, static_cast<std::uint32_t>(size)};
  if constexpr (kernel_execution<P>)
    histogram_on_blocks<Tuning, Layers>(where, in, binning, output, options.accumulate);
  else
    histogram_on_host<Layers>(where, in, binning, output, options.accumulate);
}

template <histogram_tuning Tuning, class Layers, class P, class In, class Counts, class L>
void histogram_of_even_bins(const char* function, const P& where, const input<In>& in, Counts& counts, const L& lower,
                            const L& upper, const histogram_options& options) {
  using T = value_of<In>;
  static_assert((std::is_arithmetic_v<T> || is_two_byte_float<T>)&&(std::is_arithmetic_v<L> || is_two_byte_float<L>),
                "pmpp::histogram_even: samples and bounds must be numbers; use pmpp::histogram with a function");
  histogram_of<Tuning, Layers>(function, where, in, counts, options, [&](std::uint32_t bins) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<L>)
      return even_integers<T, sizeof(L) <= 4>(function, bins, lower, upper);
    else
      return even_reals<T>(function, bins, static_cast<double>(as_number(lower)),
                           static_cast<double>(as_number(upper)));
  });
}

}  // namespace detail

/// Counts the samples in bins of equal width: bin i holds lower + i w <= x < lower + (i + 1) w with w = (upper - lower) /
/// bins, bins the size of counts. Samples below lower, from upper on, and NaN are in no bin.
///
/// \param r       a range, or two iterators, or an iterator and a device_count, of integers, floating-point numbers, half
///                or bfloat16; visible to `where`.
/// \param counts  a contiguous range of 4- or 8-byte integers, visible to `where`, apart from r; overwritten, or added to
///                with options.accumulate. A 4-byte counter wraps around.
/// \param lower, upper  lower < upper, of one type. Integers between integers are binned exactly. Otherwise x - lower and
///                upper - lower are rounded to double and everything else is exact.
/// \param options histogram_options{accumulate, rejected}.
/// The same counts on every run and policy. Asynchronous on a GPU; may be captured. Scratch: at most 32 KB of zeroed
/// state of the workspace, or one allocation in stream order. Cost: n samples read, in one launch, and bins written; a
/// second launch where the counters take more than 32 KB.
/// \throws std::invalid_argument for a null or reversed input, null counts, counts or rejected that overlap r, or unless
/// lower < upper; std::length_error for no or more than 2^31 - 64 bins; cuda_error.
/// Source: PMPP ch. 9. Example: test/histogram.cpp, even bins of every type.
template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, range_for<P> R,
          contiguous_for<P> Counts, class L>
void histogram_even(const P& where, R&& r, Counts&& counts, L lower, std::type_identity_t<L> upper,
                    const histogram_options& options = {}) {
  detail::histogram_of_even_bins<Tuning, detail::interleaved<1, 1>>(
      "histogram_even", where, detail::input_of("histogram_even", r), counts, lower, upper, options);
}

/// Counts the samples in bins between levels: bin i holds levels[i] <= x < levels[i + 1]. Samples below the first level,
/// from the last one on, and NaN are in no bin.
///
/// \param levels  a range of one more element than counts has, or an iterator at this many; visible to `where` when the
///                kernels run; ascending (equal neighbours: an empty bin). Compared with samples as numbers, whatever the
///                two types are (an integer with a floating-point number in double).
/// As histogram_even otherwise. Levels up to half of the shared memory of a block are searched there, more in place.
/// \throws as histogram_even, also if counts or rejected overlap levels; std::length_error if levels has fewer elements.
/// In debug mode levels that do not ascend are a std::invalid_argument, or on a GPU a printed line and a trap.
/// Source: PMPP ch. 9. Example: test/histogram.cpp, bins between levels.
template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, range_for<P> R,
          contiguous_for<P> Counts, output_for<P> Levels>
void histogram_range(const P& where, R&& r, Counts&& counts, Levels&& levels, const histogram_options& options = {}) {
  const auto bins = static_cast<std::int64_t>(std::size(counts));
  detail::check_room("histogram_range", "levels", levels, bins + 1);
  const auto first = detail::unwrap(detail::begin_of(levels));
  const auto edges = detail::input_of("histogram_range", first, bins + 1);
  detail::check_apart("histogram_range", "counts", detail::raw_pointer(std::data(counts)), bins, edges);
  detail::check_apart("histogram_range", "rejected", options.rejected, options.rejected == nullptr ? 0 : 1, edges);
  detail::histogram_of<Tuning, detail::interleaved<1, 1>>(
      "histogram_range", where, detail::input_of("histogram_range", r), counts, options, [&](std::uint32_t n) {
        detail::check_reachable(where, "histogram_range", first);
        const detail::ranged_bins<element_value<R>, std::remove_const_t<decltype(first)>> binning(first, n);
        if constexpr (debug_mode && !gpu_execution<P>) binning.check_order(0, 1);
        return binning;
      });
}

/// Counts the samples in the bins that bin_of chooses: sample x in bin bin_of(x). A result that is negative or not below
/// the number of bins means: in no bin.
///
/// \param r       of any trivially copyable type.
/// \param bin_of  a function object from a sample to an integer, without side effects. For one-byte samples it is called
///                once for every value that a part of the data has, not once a sample.
/// As histogram_even otherwise. Source: PMPP ch. 9. Example: test/histogram.cpp, bins that a function chooses.
template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, range_for<P> R,
          contiguous_for<P> Counts, class F>
void histogram(const P& where, R&& r, Counts&& counts, F bin_of, const histogram_options& options = {}) {
  detail::histogram_of<Tuning, detail::interleaved<1, 1>>(
      "histogram", where, detail::input_of("histogram", r), counts, options,
      [&](std::uint32_t bins) { return detail::chosen_bins<F>(bin_of, bins); });
}

/// One histogram a channel: r holds pixels of Channels interleaved samples, of which the first Active are counted.
///
/// \param counts  Active * bins counters, channel by channel: those of channel c start at c * bins.
/// \param options as for histogram_even; rejected has room for Active numbers.
/// As histogram_even otherwise: all channels have the same bins. \throws also std::invalid_argument for a broken pixel.
/// Source: PMPP ch. 9. Example: test/histogram.cpp, channels.
template <int Channels, int Active = Channels, histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P,
          range_for<P> R, contiguous_for<P> Counts, class L>
void histogram_even_channels(const P& where, R&& r, Counts&& counts, L lower, std::type_identity_t<L> upper,
                             const histogram_options& options = {}) {
  static_assert(0 < Active && Active <= Channels && Channels <= 16,
                "pmpp: 1 to 16 channels, of which some are counted");
  detail::histogram_of_even_bins<Tuning, detail::interleaved<Channels, Active>>(
      "histogram_even_channels", where, detail::input_of("histogram_even_channels", r), counts, lower, upper, options);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, random_access It, end_of<It> End, contiguous_data Counts, class L>
void histogram_even(const P& where, It first, End last, Counts&& counts, L lower, std::type_identity_t<L> upper, const histogram_options& options = {}) { histogram_even<Tuning>(where, subrange{first, last}, counts, lower, upper, options); }

template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, random_access It, end_of<It> End, contiguous_data Counts, output Levels>
void histogram_range(const P& where, It first, End last, Counts&& counts, Levels&& levels, const histogram_options& options = {}) { histogram_range<Tuning>(where, subrange{first, last}, counts, levels, options); }

template <histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, random_access It, end_of<It> End, contiguous_data Counts, class F>
void histogram(const P& where, It first, End last, Counts&& counts, F bin_of, const histogram_options& options = {}) { histogram<Tuning>(where, subrange{first, last}, counts, bin_of, options); }

template <int Channels, int Active = Channels, histogram_tuning Tuning = tuned<histogram_tuning>, execution_policy P, random_access It, end_of<It> End, contiguous_data Counts, class L>
void histogram_even_channels(const P& where, It first, End last, Counts&& counts, L lower, std::type_identity_t<L> upper, const histogram_options& options = {}) { histogram_even_channels<Channels, Active, Tuning>(where, subrange{first, last}, counts, lower, upper, options); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
