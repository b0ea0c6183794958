// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector, or a few dense columns, over several ranks: spmv and spmm, for a spread_csr.
//
//   1. Each rank gathers, in one buffer, what others need of its block of x.
//   2. While these elements move, each rank multiplies the nonzeros whose columns are its own (inner).
//   3. Rows that have other nonzeros as well (outer) get the products with what has arrived.
//
// Each of two sums of a row is that of one device, with the same bits on every run; they add up to what one device gives but for
// roundings. Traffic of a rank: that of spmv for its nonzeros, three more elements for each row that has outer ones, and twice those
// that move. (PMPP ch. 14 and 20.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/matrix.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/spread_csr.hpp>
#include <pmpp/spmm.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Element n of rows that lie next to each other: an element of row place[n / width].
template <class X, class I>
struct pack_rows {
  const X* source;
  const I* place;
  std::int64_t width;
  X* packed;
  PMPP_HOST_DEVICE void operator()(std::int64_t n) const {
    packed[n] = source[static_cast<std::int64_t>(place[n / width]) * width + n % width];
  }
};
/// Adds row k of sums to row place[k].
template <class S, class Y, class I>
struct add_to_rows {
  const S* sums;
  const I* place;
  std::int64_t width;
  Y* target;
  PMPP_HOST_DEVICE void operator()(std::int64_t n) const {
    Y& to = target[static_cast<std::int64_t>(place[n / width]) * width + n % width];
    to = static_cast<Y>(static_cast<S>(to) + sums[n]);
  }
};
template <class P, class F>
void for_each_number(const P& where, std::int64_t n, const F& f) {
  if (n != 0) pmpp::for_each(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(n), f);
}

/// Steps 1 to 3 for rows of `width` elements. source(i), target(i): the blocks of rank number i; inner(i, where) multiplies the inner
/// nonzeros, outer(i, where, arrived, sums) the outer ones.
template <class S, class X, class Y, class P, class C, class T, class I, class Source, class Target, class Inner,
          class Outer>
void multiply_spread(const devices<P, C>& gpus, const spread_csr<T, I>& a, std::int64_t width, Source source,
                     Target target, Inner inner, Outer outer) {
  const auto group = gpus.group();
  const auto packed = detail::arrays_of<X>(*group, [&](int i) { return a.part(i).sent.size() * width; });
  const auto arrived = detail::arrays_of<X>(*group, [&](int i) { return a.part(i).received_at.back() * width; });
  gpus.each([&](int i, const P& where) {
    const auto& sent = a.part(i).sent;
    detail::for_each_number(where, sent.size() * width,
                            pack_rows<X, I>{source(i), sent.data(), width, packed[std::size_t(i)].data()});
  });
  gpus.beside(
      [&](int i, C& link, stream_handle s) {
        const auto& part = a.part(i);
        const std::size_t element = std::size_t(width) * sizeof(X);
        const auto out = detail::byte_offsets(part.sent_at, element),
                   in = detail::byte_offsets(part.received_at, element);
        pmpp::all_to_all_v(link, packed[std::size_t(i)].data(), out.data(), arrived[std::size_t(i)].data(), in.data(),
                           s);
      },
      inner);
  const auto sums = detail::arrays_of<S>(*group, [&](int i) { return a.part(i).outer.rows * width; });
  gpus.each([&](int i, const P& where) {
    const auto& part = a.part(i);
    if (part.outer.rows == 0 || width == 0) return;
    S* const sum = sums[std::size_t(i)].data();
    outer(i, where, static_cast<const X*>(arrived[std::size_t(i)].data()), sum);
    detail::for_each_number(where, part.outer.rows * width,
                            add_to_rows<S, Y, I>{sum, part.outer_rows.data(), width, target(i)});
  });
}

template <class P, class C, class T, class I>
void require_on(const char* function, const char* argument, const devices<P, C>& gpus, const spread_csr<T, I>& a) {
  require(a.group() == gpus.group().get(), [&] {
    return text("pmpp::") + function + ": " + argument + " lies on other devices than those of the call" +
           (a.group() == nullptr ? ", on none" : "");
  });
}

/// What spmv and spmm ask of their arguments. \param size_of  (in or out, rank) -> how many rows, or elements, lie there
template <class P, class C, class T, class I, class In, class Out, class SizeOf>
void check_spread_product(const char* function, const devices<P, C>& gpus, const spread_csr<T, I>& a,
                          const char* in_name, const In& in, const char* out_name, const Out& out, const char* of_what,
                          SizeOf size_of) {
  detail::require_on(function, "A", gpus, a);
  detail::require_on(function, in_name, gpus, in);
  detail::require_on(function, out_name, gpus, out);
  detail::require_blocks(
      function, gpus.size(), in_name, [&](int r) { return size_of(in, r); }, of_what,
      [&](int r) { return a.cols_of(r); });
  detail::require_blocks(
      function, gpus.size(), out_name, [&](int r) { return size_of(out, r); }, of_what,
      [&](int r) { return a.rows_of(r); });
}

}  // namespace detail

/// y <- alpha A x + beta y.
///
/// \param alpha, beta  numbers, converted as in spmv on one device.
/// \param x  A.cols() elements in the blocks of A.col_sizes(). \param y  A.rows() elements in those of A.row_sizes(); not x.
/// As on one device: y is not read if beta is 0; what of x is not needed does not matter.
/// The same bits on every run with the same blocks. Asynchronous where messages are (not over MPI). Cost: nonzeros read once; elements
/// of x that a rank needs and has not are received once, beside the product with those that it has; up to four launches a rank.
/// Allocates what is sent and received, and a sum for each row with outer nonzeros.
/// \throws std::invalid_argument if an argument lies on other devices, or x is y; std::length_error if blocks do not fit;
/// communication_error; out_of_memory, cuda_error. Source: PMPP ch. 14, 20. Example: test/distributed_sparse.cpp, spmv.
template <class P, class C, class Alpha, class T, class I, class X, class Beta, class Y>
void spmv(const devices<P, C>& gpus, Alpha alpha, const spread_csr<T, I>& a, const distributed_buffer<X>& x, Beta beta,
          distributed_buffer<Y>& y) {
  detail::check_spread_product("spmv", gpus, a, "x", x, "y", y, "elements",
                               [](const auto& of, int r) { return of.size_of(r); });
  require(!detail::same_object(x, y),
          [&] { return "pmpp::spmv: x (" + detail::text::of(x.size()) + " elements) is y"; });
  detail::require_same_call<T, I, X, Y>(gpus, "spmv", {a.rows(), a.cols()});
  using S = typename detail::product_sum<T, X>::type;
  detail::multiply_spread<S, X, Y>(
      gpus, a, 1, [&](int i) { return x.part(i).data(); }, [&](int i) { return y.part(i).data(); },
      [&](int i, const P& where) { pmpp::spmv(where, alpha, a.part(i).inner.view(), x.part(i), beta, y.part(i)); },
      [&](int i, const P& where, const X* arrived, S* sums) {
        pmpp::spmv(where, alpha, a.part(i).outer.view(), arrived, S(0), sums);
      });
}

/// C <- alpha A B + beta C, for dense B and C with rows in blocks.
///
/// \param b  A.cols() rows in the blocks of A.col_sizes(). \param c  A.rows() rows in those of A.row_sizes(), as many columns; not B.
/// As spmv, with a row of B in place of an element of x. \throws as spmv; std::invalid_argument if the columns of B and C differ.
/// Example: test/distributed_sparse.cpp, spmm.
template <class P, class C, class Alpha, class T, class I, class X, class Beta, class Y>
void spmm(const devices<P, C>& gpus, Alpha alpha, const spread_csr<T, I>& a, const distributed_matrix<X>& b, Beta beta,
          distributed_matrix<Y>& c) {
  detail::check_spread_product("spmm", gpus, a, "B", b, "C", c, "rows",
                               [](const auto& of, int r) { return of.rows_of(r); });
  require(b.cols() == c.cols(),
          [&] { return "pmpp::spmm: B is " + b.shape() + ", C is " + c.shape() + ": the columns differ"; });
  require(!detail::same_object(b, c), [&] { return "pmpp::spmm: B (" + b.shape() + ") is C"; });
  detail::require_same_call<T, I, X, Y>(gpus, "spmm", {a.rows(), a.cols(), b.cols()});
  using S = typename detail::product_sum<T, X>::type;
  const std::int64_t width = b.cols();
  detail::multiply_spread<S, X, Y>(
      gpus, a, width, [&](int i) { return b.part(i).data(); }, [&](int i) { return c.part(i).data(); },
      [&](int i, const P& where) { pmpp::spmm(where, alpha, a.part(i).inner.view(), b.part(i), beta, c.part(i)); },
      [&](int i, const P& where, const X* arrived, S* sums) {
        const auto outer = a.part(i).outer.view();
        pmpp::spmm(where, alpha, outer, matrix_view<const X>(arrived, outer.cols, width), S(0),
                   matrix_view<S>(sums, outer.rows, width));
      });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
