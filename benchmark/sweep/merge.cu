// SPDX-License-Identifier: Apache-2.0
//
// Merges of a sweep, beside CUB's. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_merge.cuh>

#include <pmpp/merge.hpp>

#include "sweep.hpp"

#include <string>

namespace {

using namespace sweep;

/// Rising keys of one of several kinds, from `first` on.
struct rising {
  i64 n, same;
  u64 first, span;
  PMPP_HOST_DEVICE u64 operator()(i64 i) const {
    const u64 step = span / u64(n);
    return first + u64(i / same * same) * step + (same > 1 ? 0 : bits_of(u64(i) + first) % step);
  }
};
template <class T>
struct element_of_key {
  rising key;
  PMPP_HOST_DEVICE T operator()(i64 i) const { return element_of<T>(key(i), i); }
};

/// The sizes and elements of both inputs.
template <class T>
struct inputs {
  i64 n_a = 0, n_b = 0;
  slots<T> a, b;
  explicit inputs(trial& t) {
    const double share = t.draw.one_of({0.5, 0.5, 0.5, t.draw.unit(), 1.0 / 64, 0.999});
    n_a = i64(double(t.n) * share);
    n_b = t.n - n_a;
    const bool apart = t.draw.chance(0.1);
    const i64 same = t.draw.chance(0.3) ? t.draw.log_uniform(2, 1000) : 1;
    t.add(" " + std::to_string(n_a) + " and " + std::to_string(n_b) + (apart ? " apart" : "") + " repeats " +
          std::to_string(same));
    const u64 all = u64(1) << 63;
    a = fill(t, n_a, rising{std::max<i64>(n_a, 1), same, 0, apart ? all : all * 2 - 1});
    b = fill(t, n_b, rising{std::max<i64>(n_b, 1), same, apart ? all : 1, all - 1});
  }

private:
  static slots<T> fill(trial& t, i64 n, rising key) {
    const auto all = t.array<T>(n, t.slot_count);
    for (int s = 0; s < t.slot_count; ++s)
      if (n > 0) fill_by_index<<<1024, 256, 0, stream()>>>(all(s), n, element_of_key<T>{key});
    return all;
  }
};

template <class T, class Comp>
void merged_keys(trial& t) {
  t.draw_size(4 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const inputs<T> in(t);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) { pmpp::merge(device(), in.a(s), in.a(s) + in.n_a, in.b(s), in.b(s) + in.n_b, a, Comp{}); },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceMerge::MergeKeys(storage, bytes, in.a(s), in.n_a, in.b(s), in.n_b, b, Comp{}, stream());
  });
  t.fault = [=] { return difference_of(stream(), "merged", a, b, n); };
}
template <class K, class V>
void pairs(trial& t) {
  t.draw_size(4 * (sizeof(K) + sizeof(V)));
  const i64 n = t.n;
  t.set_bytes(2.0 * double(n) * (sizeof(K) + sizeof(V)));
  const inputs<K> in(t);
  const auto va = t.input<V>(in.n_a, pattern::random), vb = t.input<V>(in.n_b, pattern::random);
  const auto [keys_a, keys_b] = t.outputs<K>(n);
  const auto [values_a, values_b] = t.outputs<V>(n);
  K *const ka = keys_a, *const kb = keys_b;
  V *const ra = values_a, *const rb = values_b;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::merge_by_key(device(), in.a(s), in.a(s) + in.n_a, va(s), in.b(s), in.b(s) + in.n_b, vb(s), ka, ra);
           },
           {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceMerge::MergePairs(storage, bytes, in.a(s), va(s), in.n_a, in.b(s), vb(s), in.n_b, kb, rb,
                                        pmpp::less{}, stream());
  });
  t.fault = [=] {
    const std::string text = difference_of(stream(), "keys", ka, kb, n);
    return text.empty() ? difference_of(stream(), "values", ra, rb, n) : text;
  };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("merge", argc, argv,
                    {{"u32", merged_keys<u32, pmpp::less>},
                     {"u64", merged_keys<u64, pmpp::less>},
                     {"f32", merged_keys<float, pmpp::less>},
                     {"u8", merged_keys<u8, pmpp::less>},
                     {"16 bytes by the first word", merged_keys<words<4>, by_first_word>},
                     {"u32, u32", pairs<u32, u32>},
                     {"u32, u64", pairs<u32, u64>},
                     {"u64, u64", pairs<u64, u64>}});
}
