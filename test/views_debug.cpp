// SPDX-License-Identifier: Apache-2.0
//
// In debug mode every index outside a view or a buffer is a std::out_of_range that names the view, the index and the
// extent; in a kernel that the emulator runs, too; on a GPU it is a trap, which is not tried here because nothing else
// could run in this process afterwards. A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

static_assert(pmpp::debug_mode);

namespace {

/// The text of the std::out_of_range that `f` throws, or "" if it throws nothing.
template <class F>
std::string fault(F f) {
  try {
    f();
  } catch (const std::out_of_range& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("matrix indices are checked, each against its own extent") {
  std::vector<int> v(24);
  const pmpp::matrix_view<int> a{v.data(), 2, 5, 8};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j) CHECK(fault([&] { a(i, j) = 1; }) == "");
  CHECK(fault([&] { a(2, 0) = 1; }) == "pmpp::matrix_view row: index 2 is outside [0, 2)");
  CHECK(fault([&] { a(0, 5) = 1; }) == "pmpp::matrix_view column: index 5 is outside [0, 5)");
  CHECK(fault([&] { a(-1, 0) = 1; }) != "");
  CHECK(fault([&] { a(0, -1) = 1; }) != "");
  CHECK(fault([&] { a(0, std::int64_t{1} << 32) = 1; }) != "");
  CHECK(fault([&] { transposed(a)(4, 1) = 1; }) == "");
  CHECK(fault([&] { transposed(a)(1, 4) = 1; }) != "");
  CHECK(fault([&] { (void)a.row(2); }) != "");
  CHECK(fault([&] { pmpp::matrix_view<int>{}(0, 0) = 1; }) != "");
}

TEST_CASE("parts must lie inside") {
  std::vector<int> v(20);
  const pmpp::matrix_view<int> a{v.data(), 4, 5};
  CHECK(fault([&] { (void)a.subview(0, 0, 4, 5); }) == "");
  CHECK(fault([&] { (void)a.subview(4, 5, 0, 0); }) == "");
  CHECK(fault([&] { (void)a.subview(1, 1, 3, 4); }) == "");
  CHECK(fault([&] { (void)a.subview(1, 0, 4, 5); }) ==
        "pmpp::matrix_view::subview rows: 4 from 1 on are not a part of [0, 4)");
  CHECK(fault([&] { (void)a.subview(0, 1, 4, 5); }) != "");
  CHECK(fault([&] { (void)a.subview(-1, 0, 1, 1); }) != "");
  CHECK(fault([&] { (void)a.subview(0, 0, -1, 1); }) != "");
  CHECK(fault([&] { (void)a.subview(5, 0, 0, 0); }) != "");
  CHECK(fault([&] { (void)a.subview(1, 1, INT64_MAX, 1); }) != "");
}

TEST_CASE("volume and sparse indices are checked") {
  std::vector<int> v(2 * 3 * 4), offsets{0, 1, 1};
  const pmpp::volume_view<int> a{v.data(), 2, 3, 4};
  CHECK(fault([&] { a(1, 2, 3) = 1; }) == "");
  CHECK(fault([&] { a(2, 0, 0) = 1; }) == "pmpp::volume_view z: index 2 is outside [0, 2)");
  CHECK(fault([&] { a(0, 3, 0) = 1; }) == "pmpp::volume_view y: index 3 is outside [0, 3)");
  CHECK(fault([&] { a(0, 0, 4) = 1; }) == "pmpp::volume_view x: index 4 is outside [0, 4)");
  CHECK(fault([&] { (void)a.slice(2); }) != "");
  const pmpp::csr_view<void, int> s{2, 1, offsets.data(), nullptr};
  CHECK(fault([&] { (void)s.row_length(1); }) == "");
  CHECK(fault([&] { (void)s.row_begin(2); }) == "pmpp::csr_view row: index 2 is outside [0, 2)");
  CHECK(fault([&] { (void)s.row_end(-1); }) != "");
}

TEST_CASE("buffers that the host can index are checked") {
  pmpp::pinned_buffer<int> p{3, 1};
  pmpp::managed_buffer<int> m{3, 1};
  const auto& c = m;
  CHECK(fault([&] { p[2] = m[2]; }) == "");
  CHECK(fault([&] { p[3] = 1; }) == "pmpp::pinned_buffer: index 3 is outside [0, 3)");
  CHECK(fault([&] { m[-1] = 1; }) == "pmpp::managed_buffer: index -1 is outside [0, 3)");
  CHECK(fault([&] { (void)c[std::size_t{3}]; }) != "");
  p.resize_discard(2);
  CHECK(fault([&] { p[2] = 1; }) != "");  // the size counts, not the capacity
}

#if PMPP_WITH_EMULATOR
namespace {

struct writes_past_the_end {
  static constexpr int threads = 64;
  struct shared {};
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared&, pmpp::matrix_view<int> out) const {
    out(0, block.thread()) = 1;
  }
};

}  // namespace

TEST_CASE("kernels in the emulator are checked") {
  std::vector<int> v(128);
  CHECK_NOTHROW(pmpp::launch(pmpp::emulated, 1, writes_past_the_end{}, pmpp::matrix_view<int>{v.data(), 2, 64}));
  CHECK_THROWS(pmpp::launch(pmpp::emulated, 1, writes_past_the_end{}, pmpp::matrix_view<int>{v.data(), 2, 63}));
}
#endif
