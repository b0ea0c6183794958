// SPDX-License-Identifier: Apache-2.0
//
// pmpp::host beside the standard library (sequential; parallel where TBB is installed) and Thrust on OpenMP (where the
// CUDA toolkit's headers are installed). Wall time of the whole call; sums of bytes add up in 32 bits everywhere.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#ifdef PMPP_BENCH_HAS_TBB
#include <execution>
#endif
#ifdef PMPP_BENCH_HAS_THRUST
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#endif

#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// The contenders of one algorithm: each calls it on window w. Peers that are not there stay out.
template <class Own, class Std, class Par, class Thrust>
std::vector<bench::contender> contenders(Own own, Std std_call, [[maybe_unused]] Par par,
                                         [[maybe_unused]] Thrust thrust_call) {
  std::vector<bench::contender> all{{"pmpp", own}, {"std", std_call}};
#ifdef PMPP_BENCH_HAS_TBB
  all.push_back({"std par", [=](int w) { par(std::execution::par, w); }});
#endif
#ifdef PMPP_BENCH_HAS_THRUST
  all.push_back({"thrust omp", [=](int w) { thrust_call(thrust::device, w); }});
#endif
  return all;
}

/// Twelve bytes, ordered by two of its numbers.
struct triple {
  std::uint32_t major, minor, tag;
};
struct by_both {
  bool operator()(const triple& x, const triple& y) const {
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
  }
};

}  // namespace

template <>
struct bench::random_element<triple> {
  triple operator()(std::int64_t i) const {
    const std::uint64_t bits = bench::random_bits(i);
    return {static_cast<std::uint32_t>(bits % 1000), static_cast<std::uint32_t>(bits >> 32),
            static_cast<std::uint32_t>(i)};
  }
};

namespace {

/// Types of sums.
template <class T>
using accumulator = std::conditional_t<sizeof(T) == 1, std::uint32_t, T>;

template <class T>
void add_sum(const std::string& type, std::int64_t n) {
  using A = accumulator<T>;
  bench::add("sum/" + type, n, double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n);
    const auto first = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto got = std::make_shared<A>();
    subject s;
    s.contenders = contenders([=](int w) { *got = pmpp::reduce(pmpp::host, first(w), first(w) + n, A{}); },
                              [=](int w) { *got = std::reduce(first(w), first(w) + n, A{}); },
                              [=](auto policy, int w) { *got = std::reduce(policy, first(w), first(w) + n, A{}); },
                              [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
                                *got = thrust::reduce(policy, first(w), first(w) + n, A{});
#endif
                              });
    const auto wanted = bench::fold(n, A{}, bench::random_element<T>{}, pmpp::plus{});
    s.spoil = [=] { *got = std::numeric_limits<A>::max(); };
    s.fault = [=] { return bench::difference<A>(*got, wanted, n, double(n)); };
    return s;
  });
}

template <class T>
void add_dot(const std::string& type, std::int64_t n) {
  using A = accumulator<T>;
  bench::add("dot/" + type, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n), y = bench::random_array<T>(windows * n, bench::second);
    const auto x_of = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto y_of = [=](int w) { return static_cast<const T*>(y->data()) + w * n; };
    const auto got = std::make_shared<A>();
    const auto product = [](T a, T b) { return static_cast<A>(static_cast<A>(a) * static_cast<A>(b)); };
    const std::plus<> plus;
    subject s;
    s.contenders = contenders(
        [=](int w) {
          *got = pmpp::transform_reduce(pmpp::host, x_of(w), x_of(w) + n, y_of(w), A{}, pmpp::plus{}, product);
        },
        [=](int w) { *got = std::transform_reduce(x_of(w), x_of(w) + n, y_of(w), A{}, plus, product); },
        [=](auto policy, int w) {
          *got = std::transform_reduce(policy, x_of(w), x_of(w) + n, y_of(w), A{}, plus, product);
        },
        [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
          *got = thrust::inner_product(policy, x_of(w), x_of(w) + n, y_of(w), A{}, plus, product);
#endif
        });
    const auto wanted = bench::fold(
        n, A{},
        [=](std::int64_t i) {
          return product(bench::random_element<T>{}(i), bench::random_element<T>{}(bench::second + i));
        },
        pmpp::plus{});
    s.spoil = [=] { *got = std::numeric_limits<A>::max(); };
    s.fault = [=] { return bench::difference<A>(*got, wanted, n, double(n)); };
    return s;
  });
}

/// y = a x + y.
template <class T>
void add_saxpy(const std::string& type, std::int64_t n) {
  bench::add("saxpy/" + type, n, 3.0 * double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n), y = bench::array<T>(windows * n);
    const auto x_of = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto y_of = [=](int w) { return y->data() + w * n; };
    const auto f = [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(3 * a + b);
      else
        return static_cast<T>(T(0.75) * a + b);
    };
    subject s;
    s.contenders =
        contenders([=](int w) { pmpp::transform(pmpp::host, x_of(w), x_of(w) + n, y_of(w), y_of(w), f); },
                   [=](int w) { std::transform(x_of(w), x_of(w) + n, y_of(w), y_of(w), f); },
                   [=](auto policy, int w) { std::transform(policy, x_of(w), x_of(w) + n, y_of(w), y_of(w), f); },
                   [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
                     thrust::transform(policy, x_of(w), x_of(w) + n, y_of(w), y_of(w), f);
#endif
                   });
    s.spoil = [=] { bench::fill(y->data(), windows * n, bench::second); };
    s.fault = [=] {
      const bench::random_element<T> element;
      for (std::int64_t i = 0; i < n; ++i)
        if (y->data()[i] != f(element(i), element(bench::second + i))) return "element " + std::to_string(i);
      return std::string();
    };
    return s;
  });
}

template <class T>
void add_min_element(const std::string& type, std::int64_t n) {
  bench::add("min_element/" + type, n, double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n);
    const auto first = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto got = std::make_shared<std::int64_t>();
    subject s;
    s.contenders =
        contenders([=](int w) { *got = pmpp::min_element(pmpp::host, first(w), first(w) + n) - first(w); },
                   [=](int w) { *got = std::min_element(first(w), first(w) + n) - first(w); },
                   [=](auto policy, int w) { *got = std::min_element(policy, first(w), first(w) + n) - first(w); },
                   [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
                     *got = thrust::min_element(policy, first(w), first(w) + n) - first(w);
#endif
                   });
    const auto wanted = bench::fold(
        n, std::int64_t(0), [](std::int64_t i) { return i; },
        [](std::int64_t a, std::int64_t b) {
          const bench::random_element<T> element;
          return element(b) < element(a) || (element(b) == element(a) && b < a) ? b : a;
        });
    s.spoil = [=] { *got = -1; };
    s.fault = [=] { return bench::difference<std::int64_t>(*got, wanted, n); };
    return s;
  });
}

/// Sums of bytes are kept in bytes: they wrap.
template <class T>
void add_scan(const std::string& type, std::int64_t n) {
  bench::add("inclusive_scan/" + type, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n), y = bench::array<T>(windows * n);
    const auto first = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto out = [=](int w) { return y->data() + w * n; };
    subject s;
    s.contenders = contenders([=](int w) { pmpp::inclusive_scan(pmpp::host, first(w), first(w) + n, out(w)); },
                              [=](int w) { std::inclusive_scan(first(w), first(w) + n, out(w)); },
                              [=](auto policy, int w) { std::inclusive_scan(policy, first(w), first(w) + n, out(w)); },
                              [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
                                thrust::inclusive_scan(policy, first(w), first(w) + n, out(w));
#endif
                              });
    s.spoil = [=] { bench::fill(y->data(), windows * n, bench::second); };
    s.fault = [=] {
      bench::exact<T> sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        sum = static_cast<bench::exact<T>>(sum + bench::random_element<T>{}(i));
        if ((i & 1023) != 1023 && i != n - 1) continue;
        if (const std::string fault = bench::difference<T>(y->data()[i], sum, i + 1, double(i + 1)); !fault.empty())
          return "element " + std::to_string(i) + ": " + fault;
      }
      return std::string();
    };
    return s;
  });
}

/// Numbers over all of their type: few are equal.
template <class T>
bench::shared_array<T> any_elements(std::int64_t n, std::int64_t first = 0) {
  auto a = bench::random_array<T>(n, first);
  if constexpr (std::is_integral_v<T>)
    for (std::int64_t i = 0; i < n; ++i) a->data()[i] = static_cast<T>(bench::random_bits(first + i));
  return a;
}

/// Every contender copies unsorted elements first, with one thread. Those of the standard library need not be stable.
template <class T, class Comp>
void add_sort(const std::string& type, std::int64_t n, Comp comp) {
  bench::add("copy and sort/" + type, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto x = any_elements<T>(windows * n);
    const auto y = bench::array<T>(n);
    const auto copied = [=](int w) {
      std::copy_n(x->data() + w * n, n, y->data());
      return y->data();
    };
    subject s;
    s.contenders = contenders([=](int w) { pmpp::sort(pmpp::host, copied(w), y->data() + n, comp); },
                              [=](int w) { std::sort(copied(w), y->data() + n, comp); },
                              [=](auto policy, int w) { std::sort(policy, copied(w), y->data() + n, comp); },
                              [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
                                thrust::stable_sort(policy, copied(w), y->data() + n, comp);
#endif
                              });
    s.spoil = [=] { bench::spoil(y); };
    s.fault = [=] { return std::is_sorted(y->data(), y->data() + n, comp) ? "" : "not sorted"; };
    return s;
  });
}

/// Half of the elements are kept, at random.
template <class T>
void add_copy_if(const std::string& type, std::int64_t n) {
  bench::add("copy_if/" + type, n, 1.5 * double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::random_array<T>(windows * n), y = bench::array<T>(windows * n);
    const auto first = [=](int w) { return static_cast<const T*>(x->data()) + w * n; };
    const auto out = [=](int w) { return y->data() + w * n; };
    const auto keep = [](T v) { return v >= T(std::is_unsigned_v<T> ? T(-1) / 2 + 1 : 0); };
    const auto kept = std::make_shared<std::int64_t>();
    subject s;
    s.contenders = contenders(
        [=](int w) { *kept = pmpp::copy_if(pmpp::host, first(w), first(w) + n, out(w), keep) - out(w); },
        [=](int w) { *kept = std::copy_if(first(w), first(w) + n, out(w), keep) - out(w); },
        [=](auto policy, int w) { *kept = std::copy_if(policy, first(w), first(w) + n, out(w), keep) - out(w); },
        [=]([[maybe_unused]] auto policy, [[maybe_unused]] int w) {
#ifdef PMPP_BENCH_HAS_THRUST
          *kept = thrust::copy_if(policy, first(w), first(w) + n, out(w), keep) - out(w);
#endif
        });
    s.spoil = [=] { *kept = -1, bench::fill(y->data(), windows * n, bench::second); };
    s.fault = [=] {
      std::int64_t k = 0;
      for (std::int64_t i = 0; i < n; ++i)
        if (const T v = bench::random_element<T>{}(i); keep(v) && y->data()[k++] != v)
          return "element " + std::to_string(k - 1);
      return k == *kept ? std::string() : std::to_string(*kept) + " kept instead of " + std::to_string(k);
    };
    return s;
  });
}

template <class T, class Comp>
void add_merge(const std::string& type, std::int64_t n, Comp comp) {
  bench::add("merge/" + type, 2 * n, 4.0 * double(n) * sizeof(T), [=](int) {
    const auto x = bench::random_array<T>(n), y = bench::random_array<T>(n, bench::second),
               out = bench::array<T>(2 * n);
    pmpp::sort(pmpp::host, x->data(), x->data() + n, comp);
    pmpp::sort(pmpp::host, y->data(), y->data() + n, comp);
    const T *a = x->data(), *b = y->data();
    subject s;
    s.contenders = contenders([=](int) { pmpp::merge(pmpp::host, a, a + n, b, b + n, out->data(), comp); },
                              [=](int) { std::merge(a, a + n, b, b + n, out->data(), comp); },
                              [=](auto policy, int) { std::merge(policy, a, a + n, b, b + n, out->data(), comp); },
                              [=]([[maybe_unused]] auto policy, int) {
#ifdef PMPP_BENCH_HAS_THRUST
                                thrust::merge(policy, a, a + n, b, b + n, out->data(), comp);
#endif
                              });
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=, hold_x = x, hold_y = y] {
      return std::is_sorted(out->data(), out->data() + 2 * n, comp) ? "" : "not sorted";
    };
    return s;
  });
}

void add_cases() {
  const auto for_each_size = [](auto add_one) {
    for (const int power : {16, 20, 24, 26}) add_one(std::int64_t(1) << power);
  };
  for_each_size([](std::int64_t n) { add_sum<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_sum<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_sum<std::uint8_t>("u8", n); });
  for_each_size([](std::int64_t n) { add_dot<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_dot<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_dot<std::uint8_t>("u8", n); });
  for_each_size([](std::int64_t n) { add_saxpy<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_saxpy<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_saxpy<std::uint8_t>("u8", n); });
  for_each_size([](std::int64_t n) { add_min_element<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_min_element<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_min_element<std::uint8_t>("u8", n); });
  for_each_size([](std::int64_t n) { add_scan<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_scan<double>("f64", n); });
  for_each_size([](std::int64_t n) { add_scan<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_scan<std::int64_t>("i64", n); });
  for_each_size([](std::int64_t n) { add_scan<std::uint8_t>("u8", n); });
  for_each_size([](std::int64_t n) { add_copy_if<float>("f32", n); });
  for_each_size([](std::int64_t n) { add_copy_if<std::int32_t>("i32", n); });
  for_each_size([](std::int64_t n) { add_copy_if<std::uint8_t>("u8", n); });
  for (const int power : {16, 20, 24}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_sort<std::uint32_t>("u32", n, pmpp::less{});
    add_sort<triple>("12 bytes", n, by_both{});
    add_merge<std::uint32_t>("u32", n, pmpp::less{});
    add_merge<triple>("12 bytes", n, by_both{});
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
