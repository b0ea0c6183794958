// SPDX-License-Identifier: Apache-2.0
//
// A picture of errors over n, both by powers of two, as SVG.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace ladder {

struct curve {
  std::string name;
  std::vector<double> roundings;  // for n = 2^first, 2^(first + 1) ...
};

/// \return whether the file could be written
inline bool draw(const std::string& path, const std::vector<curve>& curves, int first) {
  static const char* const colours[] = {"#d55e00", "#cc79a7", "#0072b2", "#009e73", "#e69f00", "#56b4e9", "#7f7f7f"};
  const int low = -8, high = 12, left = 70, top = 50, width = 460, height = 300;  // pixels; errors from 2^low to 2^high
  const int last = first + int(curves[0].roundings.size()) - 1;
  const auto x = [&](int power) { return left + width * (power - first) / (last - first); };
  const auto y = [&](double error) {
    const double power = std::clamp(std::log2(std::max(error, 1e-30)), double(low), double(high));
    return top + height * (high - power) / (high - low);
  };
  std::ofstream file(path);
  file << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" font-family=\"Helvetica, Arial, "
          "sans-serif\" "
          "font-size=\"13\">\n<title>Errors of sums</title>\n<style>text { fill: #1b2026 } .ground { fill: #fff } "
          ".axis { stroke: "
          "#9aa2ab } @media (prefers-color-scheme: dark) { text { fill: #e8ebef } .ground { fill: #14181d } }</style>\n"
          "<rect class=\"ground\" width=\"720\" height=\"400\" rx=\"8\"/>\n"
          "<text x=\"20\" y=\"28\">Error of a sum of n floats, in roundings of the sum of sizes; below 2^"
       << low << " at the lower edge</text>\n";
  for (int power = low; power <= high; power += 4)
    file << "<path class=\"axis\" d=\"M" << left << ' ' << y(std::exp2(power)) << "h" << width
         << "\"/><text x=\"20\" y=\"" << y(std::exp2(power)) + 4 << "\">2^" << power << "</text>\n";
  for (int power = first; power <= last; power += 2)
    file << "<text x=\"" << x(power) - 8 << "\" y=\"" << top + height + 22 << "\">2^" << power << "</text>\n";
  for (std::size_t c = 0; c < curves.size(); ++c) {
    file << "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" << colours[c % 7] << "\" points=\"";
    for (int power = first; power <= last; ++power)
      file << x(power) << ',' << y(curves[c].roundings[std::size_t(power - first)]) << ' ';
    file << "\"/><rect x=\"" << left + width + 20 << "\" y=\"" << top + 24 * int(c)
         << "\" width=\"12\" height=\"12\" fill=\"" << colours[c % 7] << "\"/><text x=\"" << left + width + 40
         << "\" y=\"" << top + 24 * int(c) + 11 << "\">" << curves[c].name << "</text>\n";
  }
  file << "</svg>\n";
  return bool(file);
}

}  // namespace ladder
