// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/communicator.hpp and local_communicator.hpp: bytes get to the rank, the place and in the order
// that calls name; ranks that take no part, other numbers of bytes, a read before the end of an exchange and a call outside of a group
// are exceptions that name ranks; a group that failed leaves nothing behind.
#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>

namespace {

using pmpp::communication_error;
static_assert(pmpp::communicator<pmpp::emulated_communicator>);

std::vector<pmpp::emulated_communicator> links(int p) {
  return pmpp::emulated_communicator::all(std::vector<int>(static_cast<std::size_t>(p)));
}
void begin(std::vector<pmpp::emulated_communicator>& all) {
  for (auto& link : all) link.group_begin();
}
void end(std::vector<pmpp::emulated_communicator>& all) {
  for (auto& link : all) link.group_end();
}

}  // namespace

TEST_CASE("messages of a pair arrive in the order of their calls, whichever comes first") {
  auto all = links(2);
  const int sent[2] = {5, 6};
  int received[2] = {0, 0};
  begin(all);
  all[1].receive(&received[0], sizeof(int), 0, nullptr);
  all[0].send(&sent[0], sizeof(int), 1, nullptr);
  all[0].send(&sent[1], sizeof(int), 1, nullptr);
  all[1].receive(&received[1], sizeof(int), 0, nullptr);
  end(all);
  CHECK(received[0] == 5);
  CHECK(received[1] == 6);
}

TEST_CASE("all_gather and all_to_all_v") {
  for (const int p : {1, 2, 3, 7, 8}) {
    auto all = links(p);
    const auto ranks = static_cast<std::size_t>(p);
    std::vector<std::vector<int>> gathered(ranks, std::vector<int>(ranks, -1)), out(ranks), in(ranks);
    std::vector<std::vector<std::size_t>> out_at(ranks, {0}), in_at(ranks, {0});
    for (std::size_t r = 0; r < ranks; ++r) {
      gathered[r][r] = int(r * r);
      for (std::size_t s = 0; s < ranks; ++s) {  // rank r sends (r + s) % 3 elements to rank s
        out[r].insert(out[r].end(), (r + s) % 3, int(100 * r + s));
        out_at[r].push_back(out[r].size() * sizeof(int));
        in_at[r].push_back(in_at[r].back() + (s + r) % 3 * sizeof(int));
      }
      in[r].resize(in_at[r].back() / sizeof(int));
    }
    begin(all);
    for (std::size_t r = 0; r < ranks; ++r) {
      pmpp::all_gather(all[r], &gathered[r][r], gathered[r].data(), sizeof(int), nullptr);
      pmpp::all_to_all_v(all[r], out[r].data(), out_at[r].data(), in[r].data(), in_at[r].data(), nullptr);
    }
    end(all);
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<int> expected;
      for (std::size_t s = 0; s < ranks; ++s) {
        CHECK(gathered[r][s] == int(s * s));
        expected.insert(expected.end(), (r + s) % 3, int(100 * s + r));
      }
      CHECK(in[r] == expected);
    }
  }
}

TEST_CASE("ranks that take no part are named, and nothing is copied") {
  auto all = links(4);
  std::array<std::array<int, 4>, 4> data{};
  for (int again = 0; again < 2; ++again) {
    begin(all);
    for (const std::size_t r : {0u, 1u}) pmpp::all_gather(all[r], &data[r][r], data[r].data(), sizeof(int), nullptr);
    CHECK_THROWS_WITH_AS(
        end(all),
        "pmpp: 4 bytes from rank 0 to rank 2 are sent, but not expected; ranks that took no part in this "
        "group: 2 3",
        communication_error);
    CHECK(data[0][1] == int(0xCDCDCDCD));
  }
  begin(all);  // nothing of it is left
  for (std::size_t r = 0; r < 4; ++r) pmpp::all_gather(all[r], &data[r][r], data[r].data(), sizeof(int), nullptr);
  end(all);
}

TEST_CASE("mistakes") {
  auto all = links(2);
  int a = 1, b[4] = {2, 3, 4, 5};
  CHECK_THROWS_AS(all[0].send(&a, sizeof a, 1, nullptr), communication_error);  // outside of a group

  begin(all);
  all[0].send(&a, sizeof a, 1, nullptr);
  all[1].receive(b, 2 * sizeof a, 0, nullptr);
  CHECK_THROWS_WITH_AS(end(all), "pmpp: 4 bytes from rank 0 to rank 1 are sent, but 8 expected", communication_error);

  begin(all);
  CHECK_THROWS_AS(all[0].send(&a, sizeof a, 2, nullptr), std::invalid_argument);
  end(all);

  begin(all);  // received where it is sent from
  all[0].send(&b[0], 2 * sizeof a, 1, nullptr);
  all[1].receive(&b[1], 2 * sizeof a, 0, nullptr);
  CHECK_THROWS_AS(end(all), communication_error);
}

TEST_CASE("a part that is asked for before its exchange has finished is a fault") {
  const pmpp::emulated_devices gpus{3};
  pmpp::distributed_buffer<int> x{gpus, std::vector<int>{1, 2, 3}}, y{gpus, 3};
  const auto shift = [&](bool too_early) {
    gpus.together([&](int i, pmpp::emulated_communicator& link, pmpp::stream_handle s) {
      link.receive(y.part(i).data(), sizeof(int), (i + 1) % 3, s);
      link.send(x.part(i).data(), sizeof(int), (i + 2) % 3, s);
      if (too_early && i == 1) static_cast<void>(y.part(0));
    });
  };
  CHECK_THROWS_WITH_AS(shift(true),
                       "pmpp: bytes that rank 0 receives from rank 1 are asked for before their exchange has finished",
                       communication_error);
  shift(false);
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>{2, 3, 1});
}

TEST_CASE("beside: bytes move after the work, and what reads them in it is a fault") {
  const pmpp::emulated_devices gpus{3};
  pmpp::distributed_buffer<int> x{gpus, std::vector<int>{1, 2, 3}}, y{gpus, 3}, z{gpus, 3};
  const auto shift = [&](auto& from, auto& to, auto work) {
    gpus.beside(
        [&](int i, pmpp::emulated_communicator& link, pmpp::stream_handle s) {
          link.receive(to.part(i).data(), sizeof(int), (i + 1) % 3, s);
          link.send(from.part(i).data(), sizeof(int), (i + 2) % 3, s);
        },
        work);
  };
  shift(x, y, [&](int i, const auto&) { z.part(i)[0] = x.part(i)[0]; });
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>{2, 3, 1});
  CHECK(pmpp::to_host(gpus, z) == std::vector<int>{1, 2, 3});
  CHECK_THROWS_WITH_AS(shift(x, y, [&](int i, const auto&) { z.part(i)[0] = y.part(i)[0]; }),
                       "pmpp: bytes that rank 0 receives from rank 1 are asked for before their exchange has finished",
                       communication_error);
  shift(x, y, [&](int i, const auto&) { x.part(i)[0] = 9; });  // overwrites what is sent
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>(3, 9));
  CHECK_THROWS_AS(shift(y, x, [](int, const auto&) { throw std::runtime_error("of the work"); }), std::runtime_error);
  shift(z, y, [](int, const auto&) {});  // nothing is left open
  CHECK(pmpp::to_host(gpus, y) == std::vector<int>{2, 3, 1});
}
