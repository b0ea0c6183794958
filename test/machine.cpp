// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/machine.hpp and of the machines that the emulator plays: blocks of a multiprocessor are
// counted as CUDA counts them; rates are those that were measured where they were; the limits of the machine that is
// played are those that launches keep; an unknown machine is refused with a list of those that are known.
#include <pmpp/core/machine.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include <pmpp/launch.hpp>

#include <doctest/doctest.h>

namespace {

const pmpp::machine& known(std::string_view name) {
  for (const pmpp::named_machine& m : pmpp::known_machines)
    if (m.name == name) return m.limits;
  throw std::logic_error("no such machine");
}

struct of_many_bytes {
  static constexpr int threads = 32;
  struct shared {
    char bytes[60 * 1024];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, char* out) const {
    memory.bytes[60 * 1024 - 1] = 7;
    block.sync();
    if (block.thread() == 0) *out = memory.bytes[60 * 1024 - 1];
  }
};

}  // namespace

TEST_CASE("blocks of a multiprocessor") {
  const pmpp::machine &h100 = known("h100"), &a100 = known("a100"), &ada = known("rtx4090"), &small = known("small");
  CHECK(h100.resident_blocks(1024, 0, 2) == 2);
  CHECK(ada.resident_blocks(1024, 0, 2) == 1);            // 1536 threads
  CHECK(h100.resident_blocks(128, 100 * 1024, 4) == 2);   // 101 KB of 228 each
  CHECK(a100.resident_blocks(128, 100 * 1024, 4) == 1);   // of 164
  CHECK(small.resident_blocks(512, 48 * 1024, 1) == 1);   // 49 of 49
  CHECK(h100.resident_blocks(32, 0, 64) == 32);           // slots
  CHECK(h100.resident_blocks(1024, 500 * 1024, 1) == 1);  // does not fit at all, which `fits` says
  CHECK(!h100.fits(227 * 1024 + 1));
  for (const pmpp::named_machine& m : pmpp::known_machines) {
    CAPTURE(m.name);
    CHECK(m.limits.fits(pmpp::machine::least_shared_per_block));
    CHECK(m.limits.shared_per_multiprocessor >= m.limits.shared_per_block + int(pmpp::machine::reserved_per_block));
    CHECK(m.limits.multiprocessors >= 1);
  }
}

TEST_CASE("rates that were measured") {
  const pmpp::machine &h100 = known("h100"), &h200 = known("h200");
  CHECK(h100.copy_rate() == doctest::Approx(2.99e12).epsilon(0.02));
  CHECK(h200.copy_rate() == doctest::Approx(4.2e12).epsilon(0.04));
  CHECK(h100.memory_rate() == doctest::Approx(1600).epsilon(0.01));
  CHECK(h100.l2_rate() == doctest::Approx(2800).epsilon(0.01));
}

TEST_CASE("the machine of a policy") {
  const pmpp::machine& m = pmpp::machine_of(pmpp::device);
  CHECK(m.multiprocessors >= 1);
  CHECK(m.fits(pmpp::machine::least_shared_per_block));
  CHECK(m.memory_bandwidth > 1e9);
  CHECK(m.clock > 1e8);
  CHECK(&m == &pmpp::machine_of(pmpp::device));  // asked once
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("launches keep the limits of the machine that is played") {
  char out = 0;
  pmpp::simt::emulator_options options = pmpp::simt::detail::options_of_this_launch();
  options.plays = &known("a100");
  {
    const pmpp::simt::scoped_emulator_options scope(options);
    CHECK(pmpp::machine_of(pmpp::device).multiprocessors == 108);
    pmpp::launch(pmpp::device, 1, of_many_bytes{}, &out);
    CHECK(out == 7);
  }
  options.plays = &known("small");
  const pmpp::simt::scoped_emulator_options scope(options);
  CHECK_THROWS_WITH_AS(pmpp::launch(pmpp::device, 1, of_many_bytes{}, &out),
                       doctest::Contains("asked for 61440, the limit is 49152"), std::invalid_argument);
}

TEST_CASE("the machine of the environment") {
  const char* const before = std::getenv("PMPP_EMULATOR_MACHINE");
  const std::string kept = before != nullptr ? before : "";
  const auto played = [](const char* text) {
    setenv("PMPP_EMULATOR_MACHINE", text, 1);
    return pmpp::simt::detail::machine_of_environment();
  };
  CHECK(played("rtx4090") == known("rtx4090"));
  CHECK(played("h100:4").multiprocessors == 4);
  CHECK(played("").multiprocessors == 2);
  CHECK(played("").shared_per_block == known("h100").shared_per_block);
  CHECK_THROWS_WITH_AS(played("h1000"), doctest::Contains("is none of a100, rtx4090, l4, h100"), std::invalid_argument);
  for (const char* wrong : {"h100:0", "h100:133", "h100:", "h100:x", "h100:-1", ":2"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(played(wrong), std::invalid_argument);
  }
  kept.empty() ? unsetenv("PMPP_EMULATOR_MACHINE") : setenv("PMPP_EMULATOR_MACHINE", kept.c_str(), 1);
}
#endif
