// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices and graphs of the types of a namespace with greedy functions (support/hostile.hpp): elements, factors,
// iterators, ranges and owners of matrices of its own.
#include <pmpp/bfs.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/sparse.hpp>
#include <pmpp/sparse_formats.hpp>
#include <pmpp/spmm.hpp>
#include <pmpp/spmv.hpp>

#include <cstdint>
#include <vector>

#include "support/hostile.hpp"
#include "support/policies.hpp"

namespace hostile {

/// A matrix, and a graph, that only says what it sees.
template <class T>
struct owner {
  pmpp::csr_view<const T, const int> seen;
  auto view() const { return seen; }
};

}  // namespace hostile

using hostile::factor;
using hostile::iterator_to;
using hostile::number;
using hostile::range_over;
using hostile::upper_half;

namespace {

/// 1 2 . / . 3 . / 4 5 6, in the memory of a policy.
template <class where, class T>
struct matrix_of {
  decltype(where::put(std::vector<int>())) offsets = where::put(std::vector<int>{0, 2, 3, 6}),
                                           columns = where::put(std::vector<int>{0, 1, 1, 0, 1, 2});
  decltype(where::put(std::vector<T>())) values = where::put(std::vector<T>{T{1}, T{2}, T{3}, T{4}, T{5}, T{6}});
  hostile::owner<T> owner() const { return {{3, 3, offsets.data(), columns.data(), values.data()}}; }
};

}  // namespace

TEST_ALL_PLACES("spmv and spmm") {
  const typename where::policy policy{};
  const matrix_of<where, upper_half> A;
  const auto x = where::put(std::vector<upper_half>{1.0f, 2.0f, 3.0f});
  auto y = where::put(std::vector<upper_half>{10.0f, 20.0f, 30.0f});
  const auto got = [&](int i) { return static_cast<float>(where::get(y)[std::size_t(i)]); };

  pmpp::spmv(policy, factor{2}, A.owner(), range_over(x), factor{1}, range_over(y));
  CHECK((got(0) == 20 && got(1) == 32 && got(2) == 94));
  pmpp::spmv(policy, factor{1}, A.owner().view(), iterator_to<const upper_half>{x.data()}, factor{0},
             iterator_to<upper_half>{y.data()});
  CHECK((got(0) == 5 && got(1) == 6 && got(2) == 32));

  const auto b = where::put(std::vector<upper_half>(24, 1.0f));
  auto c = where::put(std::vector<upper_half>(24));
  pmpp::spmm(policy, factor{1}, A.owner(), pmpp::matrix_view(b.data(), 3, 8), factor{0},
             pmpp::matrix_view(c.data(), 3, 8));
  CHECK((static_cast<float>(where::get(c)[0]) == 3 && static_cast<float>(where::get(c)[23]) == 15));
  pmpp::spmm(policy, factor{1}, A.owner(), pmpp::transposed(pmpp::matrix_view(b.data(), 8, 3)), factor{0},
             pmpp::transposed(pmpp::matrix_view(c.data(), 8, 3)));
  CHECK((static_cast<float>(where::get(c)[0]) == 3 && static_cast<float>(where::get(c)[23]) == 15));
}

TEST_ALL_PLACES("bfs") {
  const typename where::policy policy{};
  const matrix_of<where, number> A;  // edges 0 1, 2 0, 2 1 and loops
  auto distance = where::put(std::vector<int>(3)), parent = where::put(std::vector<int>(3));
  auto result = where::put(std::vector<pmpp::bfs_result>(1));
  const auto sources = where::put(std::vector<int>{2});
  const iterator_to<int> to{distance.data()}, tree{parent.data()};

  CHECK(pmpp::bfs(policy, A.owner(), 2, to).levels == 2);
  CHECK(where::get(distance) == std::vector<int>{1, 1, 0});
  CHECK(pmpp::bfs(policy, pmpp::directed(A.owner()), range_over(sources), range_over(distance), tree).levels == 2);
  CHECK(where::get(parent) == std::vector<int>{2, 2, 2});
  CHECK(pmpp::bfs(policy, pmpp::directed(A.owner(), A.owner()), 0, to, range_over(parent)).levels >= 2);
  pmpp::bfs_into(policy, pmpp::undirected(A.owner()), 0, to, tree, range_over(result));
  CHECK(where::get(result)[0].levels >= 2);
  pmpp::bfs_into(policy, A.owner(), range_over(sources), to, range_over(result));
  CHECK(where::get(result)[0].vertices_reached == 3);
}

TEST_ALL_PLACES("formats of sparse matrices") {
  const typename where::policy policy{};
  const pmpp::csr_matrix<number> host(3, 3, {0, 2, 3, 6}, {0, 1, 1, 0, 1, 2}, {{1}, {2}, {3}, {4}, {5}, {6}});
  const auto A = [&] {
    if constexpr (where::on_device)
      return pmpp::device_csr_matrix<number>(host);
    else
      return host;
  }();
  CHECK(where::get(pmpp::to_coo(policy, A).values)[5].value == 6);
  CHECK(where::get(pmpp::to_ell(policy, A).values)[8].value == 6);
  CHECK(where::get(pmpp::to_hybrid(policy, A, 1).coo.values)[2].value == 6);
  CHECK(where::get(pmpp::to_jds(policy, A).values)[5].value == 6);
  const auto turned = [&] {
    if constexpr (where::on_device)
      return pmpp::transposed(policy, A).to_host();
    else
      return pmpp::transposed(policy, A);
  }();
  CHECK(turned.values()[1].value == 4);
  if constexpr (where::on_device) {
    const auto rows = where::put(std::vector<int>{2, 0, 2}), columns = where::put(std::vector<int>{1, 0, 1});
    const auto values = where::put(std::vector<number>{{1}, {2}, {3}});
    const auto sum = pmpp::csr_from_triplets(policy, 3, 3, range_over(rows), range_over(columns), range_over(values));
    CHECK(sum.to_host().values()[1].value == 4);
  }
}
