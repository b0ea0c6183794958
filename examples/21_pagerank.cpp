// SPDX-License-Identifier: Apache-2.0
//
// PageRank: where a reader is who follows links at random, and now and then starts anew on any page. A web is a sparse
// matrix, one step of all readers a product with it. Without a file the web is made up: 10,000 pages, page p links to
// pages that are more likely the lower their number is, and every seventh page links nowhere.
// usage: 21_pagerank [links.mtx]          (square; an entry in row i, column j: page i links to page j)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <pmpp/control_flow.hpp>
#include <pmpp/io/matrix_market.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transform.hpp>

using matrix = pmpp::csr_matrix<float>;

matrix made_up_web(int pages) {
  std::vector<pmpp::triplet<float>> links;
  unsigned random = 1;
  for (int page = 0; page < pages; ++page)
    for (int link = 0; page % 7 != 0 && link < 2 + page % 9; ++link) {
      random = random * 1664525u + 1013904223u;
      const double r = double(random) / 4294967296.0;
      links.push_back({page, int(r * r * r * pages), 1});
    }
  return matrix::from_triplets(pages, pages, links);
}

/// Of the readers on page i, an equal part goes to each page that i links to: rows of the result receive.
matrix steps_of(const matrix& links) {
  std::vector<pmpp::triplet<float>> steps;
  for (const auto& [from, to, value] : links.triplets())
    steps.push_back({to, from, 1.0f / float(links.view().row_length(from))});
  return matrix::from_triplets(links.cols(), links.rows(), steps);
}

struct difference {
  PMPP_HOST_DEVICE float operator()(float a, float b) const { return a < b ? b - a : a - b; }
};
/// Of a sum that should be 1, what is missing is shared out: readers of pages without links, and those who start anew.
struct add_rest {
  const double* sum;
  double pages;
  PMPP_HOST_DEVICE float operator()(float x) const { return x + float((1 - *sum) / pages); }
};
struct is_large {
  PMPP_HOST_DEVICE bool operator()(float change) const { return change > 1e-6f; }
};

int main(int argc, char** argv) try {
  const matrix links = argc > 1 ? pmpp::read_matrix_market<float>(argv[1]) : made_up_web(10000);
  const std::int64_t pages = links.rows();
  std::printf("%lld pages, %lld links\n", static_cast<long long>(pages), static_cast<long long>(links.nonzeros()));

  // [rank]
  const pmpp::device_csr_matrix steps{steps_of(links)};
  pmpp::device_buffer<float> rank(pages, 1.0f / float(pages)), next(pages), change(1, 1.0f);
  pmpp::device_buffer<double> sum_of_next(1);
  pmpp::device_buffer<std::int64_t> turns(1);
  pmpp::workspace scratch;
  const auto where = pmpp::device.with(scratch);
  const auto step = [&](auto on) {
    pmpp::spmv(on, 0.85f, steps, rank, 0, next);
    pmpp::reduce_into(on, next, sum_of_next, 0.0);
    pmpp::transform(on, next, next, add_rest{sum_of_next.data(), double(pages)});
    pmpp::transform_reduce_into(on, rank, next, change, 0.0f, pmpp::plus{}, difference{});
    pmpp::copy(on, next, rank);  // not std::swap: the device repeats what was enqueued, with these pointers
  };
  const pmpp::transform_iterator goes_on{change.data(), is_large{}};
  pmpp::repeat_while(where, goes_on, step, {.most_turns = 100, .turns = turns.data()});
  // [end]

  const std::vector<float> ranks = pmpp::to_host(rank);
  const auto best = std::max_element(ranks.begin(), ranks.end());
  double sum = 0;
  for (const float r : ranks) sum += double(r);
  std::printf("%lld steps\n", static_cast<long long>(pmpp::to_host(turns)[0]));
  std::printf("the first page is %lld with %.4f of all readers\n", static_cast<long long>(best - ranks.begin() + 1),
              double(*best));
  return pmpp::to_host(change)[0] <= 1e-6f && std::abs(sum - 1) < 1e-3 ? 0 : 1;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 1;
}
// Output ends, without a file: the first page is 1 with 0.0318 of all readers
