// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of io/matrix_market.hpp: every kind of header that is read gives the right matrix; what is not
// read says so; every malformed text is refused with the line and the reason, within bounds of memory; cut anywhere, or
// with any byte changed, a file is either read or refused; writing and reading again gives the same matrix; numbers are
// those of std::from_chars, in locales with a decimal comma too; the real files have the sizes that they are known to have.
#include <pmpp/io/matrix_market.hpp>

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/mutants.hpp"

using pmpp::csr_matrix;
using pmpp::parse_matrix_market;

namespace {

const std::string coordinate = "%%MatrixMarket matrix coordinate ";
const std::string array = "%%MatrixMarket matrix array ";

/// What a text is refused with; empty if it is read.
template <class T = double, class I = int>
std::string refusal(const std::string& text) {
  try {
    parse_matrix_market<T, I>(text, "x").validate();
  } catch (const std::runtime_error& e) {
    CHECK(test::fit_for_a_log(e.what()));
    return e.what();
  }
  return "";
}

/// Compares what read_number finds in `text` with std::from_chars; to the last bit, but for numbers that do not fit.
template <class T>
bool reads_as_from_chars(const std::string& text) {
  T expected{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
  const auto found = pmpp::detail::read_number<T>(text);
  const auto length = static_cast<std::size_t>(end - text.data());
  if constexpr (std::is_integral_v<T>) {
    const bool fits = error == std::errc{};
    if (error == std::errc::invalid_argument) return found.length == 0;
    return found.length == length && found.fits == fits && (!fits || found.value == expected);
  } else {  // only whole words count
    if (length < text.size()) return found.length < text.size();
    return found.length == length && (error != std::errc{} || std::memcmp(&found.value, &expected, sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("every kind of header") {
  using M = csr_matrix<double>;
  CHECK(parse_matrix_market<double>(coordinate + "real general\n3 2 3\n3 1 1.5\n1 2 -2e3\n1 1 .25\n") ==
        M(3, 2, {0, 2, 2, 3}, {0, 1, 0}, {.25, -2000, 1.5}));
  CHECK(parse_matrix_market<double>(coordinate + "real symmetric\n2 2 2\n1 1 4\n2 1 5\n") ==
        M(2, 2, {0, 2, 3}, {0, 1, 0}, {4, 5, 5}));
  CHECK(parse_matrix_market<double>(coordinate + "real skew-symmetric\n2 2 1\n2 1 5\n") ==
        M(2, 2, {0, 1, 2}, {1, 0}, {-5, 5}));
  CHECK(parse_matrix_market<double>(coordinate + "pattern general\n2 2 1\n2 1\n") == M(2, 2, {0, 0, 1}, {0}, {1}));
  CHECK(parse_matrix_market<std::int64_t>(coordinate + "integer general\n1 1 1\n1 1 9007199254740993\n").values()[0] ==
        9007199254740993);
  CHECK(parse_matrix_market<double>(array + "real general\n2 2\n1\n2\n0\n4\n") ==
        M(2, 2, {0, 1, 3}, {0, 0, 1}, {1, 2, 4}));
  CHECK(parse_matrix_market<double>(array + "real symmetric\n2 2\n1\n2\n3\n") ==
        M(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 3}));
  CHECK(parse_matrix_market<double>(array + "integer skew-symmetric\n2 2\n7\n") == M(2, 2, {0, 1, 2}, {1, 0}, {-7, 7}));
  CHECK(parse_matrix_market<double>(coordinate + "real general\n0 0 0\n") == M());
  CHECK(parse_matrix_market<double, std::int64_t>(coordinate + "real general\n2 2 1\n1 1 1\n").columns()[0] == 0);
}

TEST_CASE("comments, blank lines, cases, line ends, signs, duplicates") {
  const csr_matrix<double> wanted(2, 2, {0, 1, 2}, {0, 1}, {3, 2});
  CHECK(parse_matrix_market<double>("%%matrixmarket MATRIX Coordinate Real GENERAL\r\n%\r\n\r\n% 1\r\n2 2 2\r\n\r\n"
                                    "% between\r\n 1\t1  +3\r\n2 2 2 \r\n\r\n% behind\r\n") == wanted);
  CHECK(parse_matrix_market<double>(coordinate + "real general\n2 2 3\n2 2 2\n1 1 1\n1 1 2") == wanted);
  const auto odd =
      parse_matrix_market<double>(coordinate + "real general\n1 4 4\n1 1 nan\n1 2 -inf\n1 3 1e-400\n1 4 1e400\n");
  CHECK(std::isnan(odd.values()[0]));
  CHECK(odd.values()[1] == -std::numeric_limits<double>::infinity());
  CHECK(odd.values()[2] == 0);
  CHECK(odd.values()[3] == std::numeric_limits<double>::infinity());
}

TEST_CASE("what is refused, with its line") {
  const std::string general = coordinate + "real general\n";
  CHECK(refusal("") == "x:0: a Matrix Market file begins with '%%MatrixMarket matrix'");
  CHECK(refusal("3 3 3\n") == "x:1: a Matrix Market file begins with '%%MatrixMarket matrix'");
  CHECK(refusal("%%MatrixMarket vector coordinate real general\n") == "x:1: 'vector' is not 'matrix'");
  CHECK(refusal("%%MatrixMarket matrix list real general\n") == "x:1: the format is 'list', not coordinate or array");
  CHECK(refusal(coordinate + "complex general\n") == "x:1: the values are complex, which is not read");
  CHECK(refusal(coordinate + "quaternion general\n") ==
        "x:1: the values are 'quaternion', not real, integer or pattern");
  CHECK(refusal(coordinate + "real hermitian\n") ==
        "x:1: the matrix is hermitian, which is for complex values and not read");
  CHECK(refusal(coordinate + "real odd\n") == "x:1: the symmetry is 'odd', not general, symmetric or skew-symmetric");
  CHECK(refusal(coordinate + "pattern skew-symmetric\n") == "x:1: a pattern has no signs: it cannot be skew-symmetric");
  CHECK(refusal(array + "pattern general\n") == "x:1: an array has values: it cannot be a pattern");
  CHECK(refusal(general) == "x:1: the file ends before the line of sizes");
  CHECK(refusal(general + "2 2\n") == "x:2: the number of entries is missing");
  CHECK(refusal(general + "-2 2 1\n") == "x:2: the number of rows is negative: -2");
  CHECK(refusal(general + "2 2 1 1\n") == "x:2: '1' is more than belongs here");
  CHECK(refusal(general + "2 2 x\n") == "x:2: the number of entries is not an integer: 'x'");
  CHECK(refusal(general + "2 99999999999999999999 1\n") ==
        "x:2: the number of columns is not an integer that fits: '99999999999999999999'");
  CHECK(refusal(general + "2 2147483648 1\n") == "x:2: the number of columns does not fit the index type: 2147483648");
  CHECK(refusal<double, std::int64_t>(general + "2147483648 1 1\n1 1 1\n") ==
        "x:2: 2147483648 rows and 1 columns are too many for a file this size");
  CHECK(refusal(general + "2 2 1\n0 1 1\n") == "x:3: the row is 0, outside of [1, 2]");
  CHECK(refusal(general + "2 2 1\n1 3 1\n") == "x:3: the column is 3, outside of [1, 2]");
  CHECK(refusal(general + "2 2 1\n1 1\n") == "x:3: the value is missing");
  CHECK(refusal(general + "2 2 1\n1 1 1 1\n") == "x:3: '1' is more than belongs here");
  CHECK(refusal(general + "2 2 1\n1 1 two\n") == "x:3: the value is not a number: 'two'");
  CHECK(refusal(general + "2 2 1\n1.0 1 2\n") == "x:3: the row is not an integer: '1.0'");
  CHECK(refusal(general + "2 2 1\n1 1 +-2\n") == "x:3: the value is not a number: '+-2'");
  CHECK(refusal(general + "2 2 1\n1 1 2\n% more\n2 2 1\n") == "x:5: there are more entries than declared");
  CHECK(refusal(general + "2 2 3\n1 1 2\n\n") == "x:4: the file ends after 1 of 3 entries");
  CHECK(refusal(coordinate + "pattern general\n2 2 1\n1 1 1\n") == "x:3: '1' is more than belongs here");
  CHECK(refusal(coordinate + "real symmetric\n2 3 0\n") ==
        "x:2: a symmetric matrix is square, this one has 2 rows and 3 columns");
  CHECK(refusal(coordinate + "real skew-symmetric\n2 2 1\n1 1 1\n") ==
        "x:3: a skew-symmetric matrix has zeros on the diagonal");
  CHECK(refusal(array + "real general\n2 2\n1\n2\n") == "x:4: the file ends before element (1, 2)");
  CHECK(refusal(array + "real general\n1 1\n1\n2\n") == "x:4: there are more entries than declared");
  CHECK(refusal<int>(general + "1 1 1\n1 1 1.5\n") == "x:1: the values are real, the matrix to be read has integers");
  CHECK(refusal<std::int8_t>(coordinate + "integer general\n1 1 1\n1 1 300\n") ==
        "x:3: the value is not an integer that fits: '300'");
  CHECK_THROWS_AS(pmpp::read_matrix_market<double>("/no such file"), std::runtime_error);
}

TEST_CASE("numbers at the ends of their types") {
  const std::string most = "9223372036854775807";
  CHECK(refusal<double, std::int64_t>(coordinate + "real general\n" + most + " " + most + " 0\n") ==
        "x:2: " + most + " rows and " + most + " columns are too many for a file this size");
  CHECK(refusal<double, std::int64_t>(coordinate + "real general\n1 " + most + " 0\n") ==
        "x:2: 1 rows and " + most + " columns are too many for a file this size");
  CHECK(refusal<int>(coordinate + "integer skew-symmetric\n2 2 1\n2 1 -2147483648\n") ==
        "x:3: the negative of -2147483648, which the mirrored entry has, does not fit the type");
  CHECK(refusal<std::int8_t>(array + "integer skew-symmetric\n2 2\n-128\n") ==
        "x:3: the negative of -128, which the mirrored entry has, does not fit the type");
  CHECK(refusal<unsigned>(coordinate + "integer skew-symmetric\n2 2 1\n2 1 3\n") ==
        "x:3: the negative of 3, which the mirrored entry has, does not fit the type");
  CHECK(refusal<unsigned>(coordinate + "integer skew-symmetric\n2 2 1\n2 1 0\n").empty());
  CHECK(refusal<int>(coordinate + "integer symmetric\n2 2 1\n2 1 -2147483648\n").empty());
  CHECK(refusal<int>(coordinate + "integer general\n2 2 2\n2 1 2147483647\n2 1 1\n") ==
        "x:4: the sum of the values at row 1, column 0, both from 0, does not fit the type");
}

TEST_CASE("messages show at most 40 characters of a file, all printable") {
  using pmpp::detail::shown;
  CHECK(shown("") == "");
  CHECK(shown(std::string(40, 'a')) == std::string(40, 'a'));
  CHECK(shown(std::string(41, 'a')) == std::string(37, 'a') + "...");
  CHECK(shown("a\x1b[31m\xff") == "a\\x1b[31m\\xff");
  CHECK(shown(std::string(10, '\0')).size() == 40);
  CHECK(shown(std::string(11, '\1')) == shown(std::string(9, '\1')) + "...");
  const std::string longest(100000, '\x1b');
  CHECK(!refusal("%%MatrixMarket " + longest + " coordinate real general\n").empty());
  CHECK(!refusal("%%MatrixMarket matrix " + longest + " real general\n").empty());
  CHECK(!refusal(coordinate + longest + " general\n").empty());
  CHECK(!refusal(coordinate + "real " + longest + "\n").empty());
  CHECK(!refusal(coordinate + "real general\n" + longest).empty());
  CHECK(!refusal(coordinate + "real general " + longest).empty());
}

TEST_CASE("changed at random: read or refused, in few words") {
  for (const std::string& text :
       {coordinate + "integer symmetric\n% comment\n5 5 4\n1 1 15\n3 2 -2\n3 2 7\n5 5 5\n",
        coordinate + "real skew-symmetric\n3 3 2\n2 1 1.5\n3 2 -2e300\n",
        array + "integer skew-symmetric\n3 3\n1\n2\n3\n", coordinate + "pattern general\n3 4 2\n1 4\n3 3\n",
        array + "real general\n2 2\n1\n0\nnan\n-4.5\n"})
    for (int round = 0; round < 300; ++round) {
      const std::string changed = test::mutant(text);
      refusal(changed);
      refusal<int>(changed);
      refusal<std::uint8_t, std::int64_t>(changed);
    }
}

TEST_CASE("cut anywhere, or with any byte changed: read or refused") {
  const std::string text = coordinate + "real symmetric\n% comment\n5 5 4\n1 1 1.5\n3 2 -2\n5 4 1e3\n5 5 .5\n";
  const std::string odd = std::string("0129 -+.eE\n\r\t%xn") + '\0' + '\xff';
  for (std::size_t n = 0; n < text.size(); ++n) {
    refusal(text.substr(0, n));
    for (const char c : odd) {
      std::string changed = text;
      changed[n] = c;
      refusal(changed);
      refusal<float, std::int64_t>(changed);
    }
  }
}

TEST_CASE("written and read again") {
  for (auto& [name, matrix] : test::structures<double>(400)) {
    CAPTURE(name);
    const auto values = test::random_values<double>(matrix.nonzeros());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    const auto nonzeros = matrix.triplets();
    const auto A = csr_matrix<double>::from_triplets(matrix.rows(), matrix.cols(), nonzeros);
    CHECK(parse_matrix_market<double>(to_matrix_market(A)) == A);
  }
  const auto integers = csr_matrix<int>::from_triplets(2, 2, {{1, 0, std::numeric_limits<int>::min()}});
  CHECK(parse_matrix_market<int>(to_matrix_market(integers)) == integers);
  const std::string path = (std::filesystem::temp_directory_path() / "pmpp_test_matrix_market.mtx").string();
  pmpp::write_matrix_market(path, integers);
  CHECK(pmpp::read_matrix_market<int>(path) == integers);
  std::remove(path.c_str());
  CHECK_THROWS_AS(pmpp::write_matrix_market("/no such folder/x.mtx", integers), std::runtime_error);
}

TEST_CASE("numbers are those of std::from_chars") {
  const pmpp::detail::decimal_point point;
  for (
      const std::string text :
      {"-",       "+1",   "e5",       "1e",       "1e+",           "1e+-5",          "-.5",  ".",    "5.",
       "-0",      "-inf", "infinity", "0x1p3",    "1e99999999999", "1e-99999999999", "1e22", "1e23", "9007199254740993",
       "0.1e-21", "--1",  "1.2.3",    "4.9e-324", "1e-400",        "1e400"})
    CHECK_MESSAGE(reads_as_from_chars<double>(text), text);
  auto& random = test::generator();
  const char letters[] = "012345678901234567890123456789..ee+-";
  for (int n = 0; n < 100000; ++n) {
    std::string word;
    for (auto left = random() % 24; left > 0; --left) word += letters[random() % (sizeof letters - 1)];
    REQUIRE_MESSAGE(reads_as_from_chars<double>(word), word);
    std::string digits = word.substr(0, word.find_first_of(".e+"));
    REQUIRE_MESSAGE(reads_as_from_chars<std::int8_t>(digits), digits);
    REQUIRE_MESSAGE(reads_as_from_chars<std::uint16_t>(digits), digits);
    REQUIRE_MESSAGE(reads_as_from_chars<std::int64_t>(digits), digits);
    REQUIRE_MESSAGE(reads_as_from_chars<std::uint64_t>(digits), digits);
  }
}

TEST_CASE("a locale with a decimal comma changes nothing") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8", "es_ES.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  if (*std::localeconv()->decimal_point != ',') MESSAGE("no such locale on this machine");
  const std::string text = coordinate + "real general\n2 2 2\n1 1 1.2345678901234567\n2 2 1.5e400\n";
  const auto A = parse_matrix_market<double>(text);
  const auto written = to_matrix_market(A);
  std::setlocale(LC_ALL, before.c_str());
  CHECK(A.values()[0] == 1.2345678901234567);
  CHECK(A.values()[1] == std::numeric_limits<double>::infinity());
  CHECK(written.find(',') == std::string::npos);
  CHECK(parse_matrix_market<double>(written) == A);
}

TEST_CASE("each number takes as few digits as give it back") {
  const auto A = csr_matrix<double>::from_triplets(1, 4, {{0, 0, 0.1}, {0, 1, -2.5}, {0, 2, 1.0 / 3}, {0, 3, 1e300}});
  CHECK(to_matrix_market(A).find("1 1 0.1\n1 2 -2.5\n1 3 0.33333333333333331\n1 4 1e+300\n") != std::string::npos);
  const auto B = csr_matrix<float>::from_triplets(1, 2, {{0, 0, 0.1f}, {0, 1, 1.0f / 3}});
  CHECK(to_matrix_market(B).find("1 1 0.1\n1 2 0.333333343\n") != std::string::npos);
}

TEST_CASE("malformed files are refused with their line") {
  const std::string folder = test::data_folder();
  if (folder.empty()) return;
  const auto refused = [&](const std::string& name) {
    std::string said;
    for (const bool wide : {false, true}) {
      try {
        const std::string path = folder + "/malformed/" + name + ".mtx";
        wide ? pmpp::read_matrix_market<double, std::int64_t>(path).validate()
             : pmpp::read_matrix_market<double>(path).validate();
        return std::string("read");
      } catch (const std::runtime_error& e) {
        said = e.what();
      }
    }
    return said.substr(said.find(".mtx:") + 5, said.find(": ") - said.find(".mtx:") - 5);
  };
  CHECK(refused("bad_banner") == "1");
  CHECK(refused("no_size_line") == "2");
  CHECK(refused("negative_nnz") == "3");
  CHECK(refused("too_many_entries") == "7");
  CHECK(refused("dims_2_pow_40") == "3");
  CHECK(refused("symmetric_not_square") == "4");
  CHECK(refused("non_numeric") == "5");
  CHECK(refused("zero_based") == "66");
  CHECK(refused("row_out_of_range") == "115");
  CHECK(refused("truncated_mid_line") == "176");
  CHECK(refused("huge_declared_nnz") == "102");
  const auto crlf = pmpp::read_matrix_market<double>(folder + "/malformed/valid_crlf.mtx");
  CHECK(crlf.nonzeros() == 46);
  CHECK(crlf == pmpp::read_matrix_market<double>(folder + "/small/LFAT5.mtx"));
}

TEST_CASE("small files of every kind") {
  const std::string folder = test::data_folder();
  if (folder.empty()) return;
  const auto read = [&](const std::string& name) {
    auto m = pmpp::read_matrix_market<double>(folder + "/small/" + name + ".mtx");
    m.validate();
    return m;
  };
  CHECK(read("west0067") == read("west0067_jumbled"));
  CHECK(read("karate").nonzeros() == 156);
  CHECK(read("karate") == read("karate").transposed());
  CHECK(read("lp_afiro").nonzeros() == 102);
  CHECK(read("empty").nonzeros() == 0);
  CHECK(read("full_symmetric").nonzeros() == 16);
  CHECK(read("skew_int32").nonzeros() == 20);
  CHECK(std::isnan(read("comments_west0067").values()[0]));
  CHECK_THROWS_AS(read("complex"), std::runtime_error);
}

#if TEST_HAS_ZLIB
TEST_CASE("real files") {
  struct known {
    const char* name;
    std::int64_t rows, cols, nonzeros;
  };
  const known all[] = {{"Groebner_id2003_aug", 4967, 2456, 173670}, {"bcsstk16", 4884, 4884, 290378},
                       {"boyd1_kkt", 93279, 93279, 1211231},        {"cont300_A", 180895, 90597, 539396},
                       {"luxembourg_osm", 114599, 114599, 239332},  {"mbeacxc", 496, 496, 49920},
                       {"memplus", 17758, 17758, 126150},           {"mult_dcop_01", 25187, 25187, 193276},
                       {"rail_79841_A", 79841, 79841, 553921},      {"rajat01", 6833, 6833, 43250},
                       {"wave", 156317, 156317, 2118662},           {"wiki-crocodile", 11631, 11631, 180020}};
  const std::string folder = test::data_folder();
  if (folder.empty()) return;
  for (const known& k : all) {
    CAPTURE(k.name);
    const std::string path = folder + "/matrices/" + k.name + ".mtx.gz";
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: no ", path);
      continue;
    }
    const auto A = parse_matrix_market<double>(test::text_of(path), k.name);
    A.validate();
    CHECK(A.rows() == k.rows);
    CHECK(A.cols() == k.cols);
    CHECK(A.nonzeros() == k.nonzeros);
  }
  if (const std::string path = folder + "/matrices/qc324.mtx.gz"; std::filesystem::exists(path))
    CHECK_THROWS_AS(parse_matrix_market<double>(test::text_of(path)), std::runtime_error);
}
#endif
