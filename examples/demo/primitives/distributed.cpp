// SPDX-License-Identifier: Apache-2.0
//
// The verbs of one array on several ranks: transform, reduce, min_element, inclusive_scan, copy_if, histogram_even, reduce_by_key,
// partition_by, sort, merge, top_k.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include <pmpp/distributed/by_key.hpp>
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/merge.hpp>
#include <pmpp/distributed/partition_by.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>
#include <pmpp/distributed/top_k.hpp>

#include "four_ranks.hpp"
#include "primitives.hpp"

namespace demo {
namespace {

using number = std::uint32_t;
using numbers = std::vector<number>;
using buffer = pmpp::distributed_buffer<number>;
using ranks = pmpp::devices<>;

struct scrambled {
  PMPP_HOST_DEVICE number operator()(number x) const { return x * 2654435761u; }
};
struct is_letter {
  PMPP_HOST_DEVICE bool operator()(number x) const { return (x | 32) >= 'a' && (x | 32) <= 'z'; }
};
struct rank_of {
  number ranks;
  PMPP_HOST_DEVICE number operator()(number x) const { return x % ranks; }
};

/// A task on the bytes of a text, as numbers. What it returns is called until there is a time; then check() judges.
struct measured {
  std::function<void()> call;
  std::function<bool()> check;
  double bytes_an_item;
};
using task = std::function<measured(const ranks& gpus, const numbers& values, buffer& x)>;

void show(const char* name, const inputs& in, table& out, const task& begin) {
  out.begin(name);
  for (const text& t : in.texts)
    on_several_ranks(out, t.name, std::int64_t(t.bytes.size()), [&](const ranks& gpus, std::int64_t n) {
      const numbers values(t.bytes.begin(), t.bytes.begin() + n);
      buffer x{gpus, values};
      const measured m = begin(gpus, values, x);
      const double seconds = seconds_on(gpus, m.call);
      return outcome{seconds, m.bytes_an_item * double(n), m.check()};
    });
}

/// A task whose result is an array.
void show_array(const char* name, const inputs& in, table& out, double bytes_an_item,
                const std::function<buffer(const ranks&, buffer&)>& make,
                const std::function<numbers(numbers, int ranks)>& loop) {
  show(name, in, out, [&](const ranks& gpus, const numbers& values, buffer& x) {
    const auto result = std::make_shared<buffer>();
    return measured{[&, result] { *result = make(gpus, x); },
                    [&, result] { return pmpp::to_host(gpus, *result) == loop(values, gpus.size()); }, bytes_an_item};
  });
}

}  // namespace

void show_distributed(const inputs& in, table& out) {
  show_array(
      "several ranks: transform", in, out, 8,
      [](const ranks& gpus, buffer& x) {
        buffer y{gpus, x.size()};
        pmpp::transform(gpus, x, y, scrambled{});
        return y;
      },
      [](numbers v, int) {
        for (number& e : v) e *= 2654435761u;
        return v;
      });
  show("several ranks: reduce", in, out, [](const ranks& gpus, const numbers& v, buffer& x) {
    const auto sum = std::make_shared<std::uint64_t>();
    return measured{[&, sum] { *sum = pmpp::reduce(gpus, x, std::uint64_t(0)); },
                    [&, sum] { return *sum == std::accumulate(v.begin(), v.end(), std::uint64_t(0)); }, 4};
  });
  show("several ranks: min_element", in, out, [](const ranks& gpus, const numbers& v, buffer& x) {
    const auto place = std::make_shared<std::int64_t>();
    return measured{[&, place] { *place = pmpp::min_element(gpus, x); },
                    [&, place] { return *place == std::min_element(v.begin(), v.end()) - v.begin(); }, 4};
  });
  show_array(
      "several ranks: inclusive_scan", in, out, 12,
      [](const ranks& gpus, buffer& x) {
        buffer y{gpus, x.size()};
        pmpp::inclusive_scan(gpus, x, y);
        return y;
      },
      [](numbers v, int) {
        std::partial_sum(v.begin(), v.end(), v.begin());
        return v;
      });
  show_array(
      "several ranks: copy_if", in, out, 8,
      [](const ranks& gpus, buffer& x) { return pmpp::copy_if(gpus, x, is_letter{}); },
      [](numbers v, int) {
        v.erase(std::remove_if(v.begin(), v.end(), [](number e) { return !is_letter{}(e); }), v.end());
        return v;
      });
  show("several ranks: histogram_even", in, out, [](const ranks& gpus, const numbers& v, buffer& x) {
    const auto counts = std::make_shared<std::vector<std::int64_t>>(256);
    return measured{[&, counts] { pmpp::histogram_even(gpus, x, *counts, number(0), number(256)); },
                    [&, counts] {
                      for (const number e : v) --(*counts)[e];
                      return *std::max_element(counts->begin(), counts->end()) == 0;
                    },
                    4};
  });
  show_array(
      "several ranks: reduce_by_key", in, out, 8,
      [](const ranks& gpus, buffer& x) { return pmpp::reduce_by_key(gpus, x, x).second; },
      [](numbers v, int) {
        numbers sums;
        for (std::size_t i = 0; i < v.size(); ++i)
          if (i == 0 || v[i] != v[i - 1])
            sums.push_back(v[i]);
          else
            sums.back() += v[i];
        return sums;
      });
  show_array(
      "several ranks: partition_by", in, out, 8,
      [](const ranks& gpus, buffer& x) { return pmpp::partition_by(gpus, x, rank_of{number(gpus.size())}); },
      [](numbers v, int count) {
        const rank_of rank{number(count)};
        std::stable_sort(v.begin(), v.end(), [&](number a, number b) { return rank(a) < rank(b); });
        return v;
      });
  show_array(
      "several ranks: sort", in, out, 8,
      [](const ranks& gpus, buffer& x) {
        buffer y{gpus, x.size()};
        pmpp::transform(gpus, x, y, scrambled{});
        pmpp::sort(gpus, y);
        return y;
      },
      [](numbers v, int) {
        for (number& e : v) e *= 2654435761u;
        std::sort(v.begin(), v.end());
        return v;
      });
  show("several ranks: merge", in, out, [](const ranks& gpus, const numbers& v, buffer& x) {
    pmpp::sort(gpus, x);
    const auto both = std::make_shared<buffer>();
    return measured{[&, both] { *both = pmpp::merge(gpus, x, x); },
                    [&, both] {
                      numbers twice(v.begin(), v.end());
                      twice.insert(twice.end(), v.begin(), v.end());
                      std::sort(twice.begin(), twice.end());
                      return pmpp::to_host(gpus, *both) == twice;
                    },
                    16};
  });
  show("several ranks: top_k", in, out, [](const ranks& gpus, const numbers& v, buffer& x) {
    struct found {
      numbers values;
      std::vector<std::int64_t> places;
    };
    const std::size_t k = std::min(v.size(), std::size_t(10));
    const auto most = std::make_shared<found>(found{numbers(k), std::vector<std::int64_t>(k)});
    return measured{[&, most, k] { pmpp::top_k(gpus, x, std::int64_t(k), most->values, most->places); },
                    [&, most] {
                      numbers sorted = v;
                      std::sort(sorted.begin(), sorted.end(), std::greater<>{});
                      bool ok = std::equal(most->values.begin(), most->values.end(), sorted.begin());
                      for (std::size_t i = 0; i < most->values.size(); ++i)
                        ok = ok && v[std::size_t(most->places[i])] == most->values[i];
                      return ok;
                    },
                    4};
  });
}

}  // namespace demo
