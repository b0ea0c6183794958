// SPDX-License-Identifier: Apache-2.0
//
// Verbs that are transforms, questions and moves, in a sweep: questions about a range, elements in place, moves under a condition, beside
// Thrust's. More of them: ask.cu, arrange.cu; by key: by_key.cu; by segment: rows.cu. What returns a value waits, here as there.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/equal.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/mismatch.h>
#include <thrust/partition.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scatter.h>
#include <thrust/sort.h>
#include <thrust/swap.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <pmpp/elementwise.hpp>
#include <pmpp/find.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/remove.hpp>
#include <pmpp/search.hpp>
#include <pmpp/select.hpp>

#include "beside_thrust.hpp"
#include "sweep.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace sweep;

struct is_above {
  u32 limit;
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x > limit; }
};
struct mixed {
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(i) * 2654435761u; }
};
struct seven {
  PMPP_HOST_DEVICE u32 operator()() const { return 7; }
};
struct index_of {
  i64 n;
  u64 seed;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(bits_of(seed + u64(i)) % u64(n)); }
};

/// Rising numbers, of which one comes twice.
struct repeating {
  i64 place;
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(i <= place ? i : i - 1); }
};
struct differ {
  PMPP_HOST_DEVICE bool operator()(u32 x, u32 y) const { return x != y; }
};

void counted(trial& t) {
  t.draw_size(8);
  const i64 n = t.n;
  t.set_bytes(4.0 * double(n));
  const auto in = t.input<u32>(n);
  ask(
      t, [=](int s) { return pmpp::count_if(device(), in(s), in(s) + n, is_odd{}); },
      [=](const auto& on, int s) { return thrust::count_if(on, in(s), in(s) + n, is_odd{}); });
}
void counted_bytes(trial& t) {
  t.draw_size(2);
  const i64 n = t.n;
  t.set_bytes(double(n));
  const auto in = t.input<u8>(n);
  ask(
      t, [=](int s) { return pmpp::count(device(), in(s), in(s) + n, u8(7)); },
      [=](const auto& on, int s) { return thrust::count(on, in(s), in(s) + n, u8(7)); });
}
void all(trial& t) {
  t.draw_size(8);
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" to " + std::to_string(place));
  t.set_bytes(4.0 * double(place));
  const auto in = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0), n, rising_but_one{place});
  ask(
      t, [=](int s) { return pmpp::all_of(device(), in(s), in(s) + n, is_above{0}); },
      [=](const auto& on, int s) { return thrust::all_of(on, in(s), in(s) + n, is_above{0}); });
}
void sorted_until(trial& t) {
  t.draw_size(8);
  const i64 n = std::max<i64>(2, t.n), place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" to " + std::to_string(place));
  t.set_bytes(4.0 * double(place));
  const auto in = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0), n, rising_but_one{place});
  ask(
      t, [=](int s) { return pmpp::is_sorted_until(device(), in(s), in(s) + n) - in(s); },
      [=](const auto& on, int s) { return thrust::is_sorted_until(on, in(s), in(s) + n) - in(s); });
}
void alike(trial& t) {
  t.draw_size(8);
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" to " + std::to_string(place));
  t.set_bytes(8.0 * double(place));
  const auto x = t.array<u32>(n), y = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(x(0), n, rising_but_one{place});
  fill_by_index<<<1024, 256, 0, stream()>>>(y(0), n, rising_but_one{n});
  ask(
      t, [=](int s) { return pmpp::equal(device(), x(s), x(s) + n, y(s), y(s) + n); },
      [=](const auto& on, int s) { return thrust::equal(on, x(s), x(s) + n, y(s)); });
}
void different(trial& t) {
  t.draw_size(8);
  const i64 n = t.n;
  t.set_bytes(4.0 * double(n));
  const auto in = t.input<u32>(n);
  ask(
      t, [=](int s) { return pmpp::unique_count(device(), in(s), in(s) + n); },
      [=](const auto& on, int s) { return thrust::unique_count(on, in(s), in(s) + n); });
}
template <bool Bound>
void searched(trial& t) {
  t.draw_size(12, 100'000'000);
  const i64 n = t.n, m = t.draw.log_uniform(1, 100'000'000);
  t.add(" values in " + std::to_string(m) + " elements");
  t.set_bytes(8.0 * double(n) + 4.0 * double(std::min(n, m)));
  const auto values = t.input<u32>(n);
  const u32* const in = t.computed<u32>(m, rising<u32>{m, 1, 9});
  using T = std::conditional_t<Bound, u32, u8>;
  write<T>(
      t, n,
      [=](int s, T* out) {
        if constexpr (Bound)
          pmpp::upper_bound(device(), in, in + m, values(s), values(s) + n, out);
        else
          pmpp::binary_search(device(), in, in + m, values(s), values(s) + n, out);
      },
      [=](const auto& on, int s, T* out) {
        if constexpr (Bound)
          thrust::upper_bound(on, in, in + m, values(s), values(s) + n, out);
        else
          thrust::binary_search(on, in, in + m, values(s), values(s) + n, out);
      });
}
template <bool Gathers>
void moved_if(trial& t) {
  t.draw_size(20);
  const i64 n = t.n;
  const bool near = t.draw.chance(0.5);
  t.add(near ? " in order" : " at random");
  t.set_bytes(14.0 * double(n));
  const auto in = t.input<u32>(n, pattern::random), stencil = t.input<u32>(n, pattern::random);
  u32* const at = t.array<u32>(n)(0);
  if (near || !Gathers)  // no two to one place
    pmpp::iota(device(), at, at + n, u32(0));
  else
    fill_by_index<<<1024, 256, 0, stream()>>>(at, n, index_of{n, t.draw.bits()});
  const is_above half{0x7fffffff};
  write<u32>(
      t, n,
      [=](int s, u32* out) {
        if constexpr (Gathers)
          pmpp::gather_if(device(), at, at + n, stencil(s), in(s), out, half);
        else
          pmpp::scatter_if(device(), in(s), in(s) + n, at, stencil(s), out, half);
      },
      [=](const auto& on, int s, u32* out) {
        if constexpr (Gathers)
          thrust::gather_if(on, at, at + n, stencil(s), in(s), out, half);
        else
          thrust::scatter_if(on, in(s), in(s) + n, at, stencil(s), out, half);
      });
}
void transformed_if(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(12.0 * double(n));
  const auto in = t.input<u32>(n, pattern::random), stencil = t.input<u32>(n, pattern::random);
  const is_above half{0x7fffffff};
  write<u32>(
      t, n, [=](int s, u32* out) { pmpp::transform_if(device(), in(s), in(s) + n, stencil(s), out, mixed{}, half); },
      [=](const auto& on, int s, u32* out) {
        thrust::transform_if(on, in(s), in(s) + n, stencil(s), out, mixed{}, half);
      });
}
void tabulated(trial& t) {
  t.draw_size(8);
  const i64 n = t.n;
  t.set_bytes(4.0 * double(n));
  write<u32>(
      t, n, [=](int, u32* out) { pmpp::tabulate(device(), out, out + n, mixed{}); },
      [=](const auto& on, int, u32* out) { thrust::tabulate(on, out, out + n, mixed{}); });
}
void generated(trial& t) {
  t.draw_size(8);
  const i64 n = t.n;
  t.set_bytes(4.0 * double(n));
  write<u32>(
      t, n, [=](int, u32* out) { pmpp::generate(device(), out, out + n, seven{}); },
      [=](const auto& on, int, u32* out) { thrust::generate(on, out, out + n, seven{}); });
}
void reversed(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(8.0 * double(n));
  change(
      t, n, t.input<u32>(n, pattern::random), [=](u32* x) { pmpp::reverse(device(), x, x + n); },
      [=](const auto& on, u32* x) { thrust::reverse(on, x, x + n); });
}
void replaced(trial& t) {
  t.draw_size(16);
  const i64 n = t.n;
  t.set_bytes(8.0 * double(n));
  change(
      t, n, t.input<u32>(n), [=](u32* x) { pmpp::replace_if(device(), x, x + n, is_odd{}, 8u); },
      [=](const auto& on, u32* x) { thrust::replace_if(on, x, x + n, is_odd{}, 8u); });
}
void swapped(trial& t) {
  t.draw_size(16);
  const i64 n = t.n, half = n / 2;
  t.set_bytes(8.0 * double(n));
  change(
      t, n, t.input<u32>(n, pattern::random), [=](u32* x) { pmpp::swap_ranges(device(), x, x + half, x + (n - half)); },
      [=](const auto& on, u32* x) { thrust::swap_ranges(on, x, x + half, x + (n - half)); });
}
void rotated(trial& t) {
  t.draw_size(16);
  const i64 n = t.n, k = t.draw.below(n);
  t.add(" by " + std::to_string(k));
  t.set_bytes(8.0 * double(n));
  const auto in = t.input<u32>(n, pattern::random);
  write<u32>(
      t, n, [=](int s, u32* out) { pmpp::rotate_copy(device(), in(s), in(s) + k, in(s) + n, out); },
      [=](const auto& on, int s, u32* out) {
        thrust::copy(on, in(s) + k, in(s) + n, out);
        thrust::copy(on, in(s), in(s) + k, out + (n - k));
      });
}
/// Thrust has no merge in place: into an array, and back.
void merged_in_place(trial& t) {
  t.draw_size(24, 100'000'000);
  const i64 n = t.n, k = t.draw.chance(0.5) ? n / 2 : t.draw.below(n);
  t.add(" in front of " + std::to_string(k));
  t.set_bytes(8.0 * double(n));
  const auto in = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0), k, rising<u32>{std::max<i64>(1, k), 1, 9});
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0) + k, n - k, rising<u32>{n - k, 1, 7});
  u32* const room = t.array_at<u32>(n, 1, 0).first;
  change(
      t, n, in, [=](u32* x) { pmpp::inplace_merge(device(), x, x + k, x + n); },
      [=](const auto& on, u32* x) {
        thrust::merge(on, x, x + k, x + k, x + n, room);
        thrust::copy(on, room, room + n, x);
      });
}
void parted(trial& t) {
  t.draw_size(24);
  const i64 n = t.n;
  t.set_bytes(8.0 * double(n));
  const auto in = t.input<u32>(n, pattern::random);
  const is_above limit{u32(t.draw.unit() * 4294967295.0)};
  const auto found = std::make_shared<returned>();
  change(
      t, n, in, [=](u32* x) { found->own = pmpp::partition(device(), x, x + n, limit) - x; },
      [=](const auto& on, u32* x) { found->peer = thrust::partition(on, x, x + n, limit) - x; });
  t.fault = [=] { return found->difference(); };
}

/// The first of two neighbours that are equal. Thrust: where the range differs from itself, a place further on.
void neighbours(trial& t) {
  t.draw_size(8);
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" at " + std::to_string(place));
  t.set_bytes(4.0 * double(place));
  const auto in = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(in(0), n, repeating{place});
  ask(
      t, [=](int s) { return pmpp::adjacent_find(device(), in(s), in(s) + n) - in(s); },
      [=](const auto& on, int s) {
        const i64 at = thrust::mismatch(on, in(s), in(s) + (n - 1), in(s) + 1, differ{}).first - in(s);
        return at == n - 1 ? n : at;
      });
}
void ordered(trial& t) {
  t.draw_size(8);
  const i64 n = t.n, place = t.draw.chance(0.5) ? n : t.draw.below(n);
  t.add(" to " + std::to_string(place));
  t.set_bytes(8.0 * double(place));
  const auto x = t.array<u32>(n), y = t.array<u32>(n);
  fill_by_index<<<1024, 256, 0, stream()>>>(x(0), n, rising_but_one{place});
  fill_by_index<<<1024, 256, 0, stream()>>>(y(0), n, rising_but_one{n});
  ask(
      t, [=](int s) { return pmpp::lexicographical_compare(device(), x(s), x(s) + n, y(s), y(s) + n); },
      [=](const auto& on, int s) { return thrust::mismatch(on, x(s), x(s) + n, y(s)).first - x(s) < n; });
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("verbs", argc, argv,
                    {{"count_if u32", counted},
                     {"count u8", counted_bytes},
                     {"all_of u32", all},
                     {"is_sorted_until u32", sorted_until},
                     {"equal u32", alike},
                     {"unique_count u32", different},
                     {"upper_bound u32", searched<true>},
                     {"binary_search u32", searched<false>},
                     {"gather_if u32", moved_if<true>},
                     {"scatter_if u32", moved_if<false>},
                     {"transform_if u32", transformed_if},
                     {"tabulate u32", tabulated},
                     {"generate u32", generated},
                     {"reverse u32", reversed},
                     {"replace_if u32", replaced},
                     {"swap_ranges u32", swapped},
                     {"rotate_copy u32", rotated},
                     {"inplace_merge u32", merged_in_place},
                     {"partition u32", parted},
                     {"adjacent_find u32", neighbours},
                     {"lexicographical_compare u32", ordered}});
}
