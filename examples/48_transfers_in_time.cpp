// SPDX-License-Identifier: Apache-2.0
//
// When data is on its way, and when it is worked on: an array of the host goes to the device, a kernel changes it, it comes back; by
// six ways. Each prints how long it took. With a file name as argument the time line of all is drawn there, as SVG:
// docs/images/transfers.svg is that of an H100.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/transform.hpp>

/// Some work: as many steps as make the kernel take as long as a copy.
struct settle {
  int steps;
  PMPP_HOST_DEVICE float operator()(float x) const {
    for (int i = 0; i < steps; ++i) x = 0.5f * x + 1;
    return x;
  }
};

/// What happens on a stream, between points of it.
class timeline {
public:
  enum unit { to_device, kernel, to_host };
  struct bar {
    unit what;
    double begin, end;  ///< ms
  };
  explicit timeline(const pmpp::stream& s) { start_.record(s); }

  /// Runs enqueue(), which belongs to `what`.
  void add(unit what, const pmpp::stream& s, const std::function<void()>& enqueue) {
    enqueue();
    marks_.push_back({what, {}});
    marks_.back().done.record(s);
  }
  /// A unit does one thing after the other, and what is on one stream waits for what was there before: parts go round `streams`.
  std::vector<bar> bars(std::size_t streams) const {
    std::vector<bar> all;
    double free[3] = {};
    std::vector<double> before(streams);
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      const mark& m = marks_[i];
      double& own = before[i / 3 % streams];
      const double end = pmpp::event::elapsed_ms(start_, m.done);
      all.push_back({m.what, std::min(end, std::max(free[m.what], own)), end});
      free[m.what] = own = end;
    }
    return all;
  }

private:
  struct mark {
    unit what;
    pmpp::event done;
  };
  pmpp::event start_;
  std::vector<mark> marks_;
};

struct way {
  std::string name;
  std::vector<timeline::bar> bars;
  double ms() const {
    double last = 0;
    for (const timeline::bar& b : bars) last = std::max(last, b.end);
    return last;
  }
};

void draw(const char* file, const std::vector<way>& ways) {
  std::vector<double> times;
  for (const way& w : ways) times.push_back(w.ms());
  std::nth_element(times.begin(), times.end() - 2, times.end());
  const double longest = *(times.end() - 2);  // but one, which goes past the edge
  std::FILE* const f = std::fopen(file, "w");
  if (f == nullptr) return;
  const double left = 190, width = 500, scale = width / longest;
  const char* const colours[] = {"#0072b2", "#d55e00", "#009e73"};
  const char* const words[] = {"to the device", "kernel", "to the host"};
  std::fprintf(
      f,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 %d\" font-family=\"Helvetica, Arial, sans-serif\" "
      "font-size=\"13\">\n<title>Transfers and kernels in time</title>\n<style>text { fill: #1b2026 } .ground { fill: "
      "#fff } "
      ".axis { stroke: #9aa2ab } @media (prefers-color-scheme: dark) { text { fill: #e8ebef } .ground { fill: #14181d "
      "} "
      "}</style>\n<rect class=\"ground\" width=\"760\" height=\"%d\" rx=\"8\"/>\n",
      int(90 + 56 * ways.size()), int(90 + 56 * ways.size()));
  for (int u = 0; u < 3; ++u)
    std::fprintf(f,
                 "<rect x=\"%d\" y=\"18\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"29\">%s</text>\n",
                 190 + 130 * u, colours[u], 208 + 130 * u, words[u]);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const double top = 44 + 56 * double(i);
    std::fprintf(f, "<text x=\"20\" y=\"%.0f\">%s</text><text x=\"20\" y=\"%.0f\">%.1f ms</text>\n", top + 18,
                 ways[i].name.c_str(), top + 36, ways[i].ms());
    for (const timeline::bar& b : ways[i].bars) {
      const double begin = std::min(b.begin, longest), end = std::min(b.end, longest);
      if (begin < longest)
        std::fprintf(f, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"12\" fill=\"%s\"/>\n",
                     left + scale * begin, top + 15 * b.what, std::max(0.8, scale * (end - begin) - 0.6),
                     colours[b.what]);
    }
    if (ways[i].ms() > longest) std::fprintf(f, "<text x=\"%.0f\" y=\"%.0f\">...</text>\n", left + width + 6, top + 11);
  }
  const double bottom = 52 + 56 * double(ways.size());
  std::fprintf(f, "<path class=\"axis\" d=\"M%.0f %.0fh%.0f\"/>\n", left, bottom, width);
  for (int i = 0; i <= 5; ++i)
    std::fprintf(f, "<text x=\"%.0f\" y=\"%.0f\">%.1f ms</text>\n", left - 8 + width * i / 5, bottom + 20,
                 longest * i / 5);
  std::fprintf(f, "</svg>\n");
  std::fclose(f);
}

int main(int argc, char** argv) {
  const std::int64_t n = PMPP_CUDA ? std::int64_t(1) << 24 : 1 << 12, parts = 8;
  const settle work{PMPP_CUDA ? 1500 : 3};
  const float wanted = work(0);
  std::vector<float> pageable(static_cast<std::size_t>(n));
  pmpp::pinned_buffer<float> pinned(n);
  pmpp::managed_buffer<float> managed(n);
  pmpp::device_buffer<float> there(n);
  std::vector<way> ways;
  int wrong = 0;

  // Runs it twice, so that everything is there, and keeps the times of the second run.
  const auto add = [&](const char* name, auto& here, std::size_t count, auto&& enqueue) {
    const std::vector<pmpp::stream> streams(count);
    for (int turn = 0; turn < 2; ++turn) {
      std::fill(here.begin(), here.end(), 0.0f);
      pmpp::synchronize(pmpp::device);
      timeline line(streams[0]);
      enqueue(streams, line);
      for (const pmpp::stream& s : streams) s.synchronize();
      if (turn == 1) ways.push_back({name, line.bars(count)});
    }
    const bool right = std::all_of(here.begin(), here.end(), [&](float x) { return x == wanted; });
    std::printf("%-24s %9.2f ms   %s\n", name, ways.back().ms(), right ? "right" : "WRONG");
    wrong += !right;
  };
  const auto one_after_the_other = [&](auto& here) {
    return [&](const std::vector<pmpp::stream>& streams, timeline& line) {
      const pmpp::stream& s = streams[0];
      line.add(timeline::to_device, s, [&] { pmpp::copy(s, here, there); });
      line.add(timeline::kernel, s, [&] { pmpp::transform(pmpp::device.on(s), there, there, work); });
      line.add(timeline::to_host, s, [&] { pmpp::copy(s, there, here); });
    };
  };
  const auto in_parts = [&](const std::vector<pmpp::stream>& streams, timeline& line) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const pmpp::stream& s = streams[std::size_t(part) % streams.size()];
      const auto here = pinned.span().subspan(std::size_t(part * (n / parts)), std::size_t(n / parts));
      const auto on_device = there.span().subspan(std::size_t(part * (n / parts)), std::size_t(n / parts));
      line.add(timeline::to_device, s, [&] { pmpp::copy(s, here, on_device); });
      line.add(timeline::kernel, s, [&] { pmpp::transform(pmpp::device.on(s), on_device, on_device, work); });
      line.add(timeline::to_host, s, [&] { pmpp::copy(s, on_device, here); });
    }
  };
  add("pageable memory", pageable, 1, one_after_the_other(pageable));
  add("pinned memory", pinned, 1, one_after_the_other(pinned));
  add("pinned, two streams", pinned, 2, in_parts);
  add("pinned, four streams", pinned, 4, in_parts);
  add("managed, prefetched", managed, 1, [&](const std::vector<pmpp::stream>& streams, timeline& line) {
    const pmpp::stream& s = streams[0];
    line.add(timeline::to_device, s, [&] { managed.prefetch(pmpp::device.on(s)); });
    line.add(timeline::kernel, s, [&] { pmpp::transform(pmpp::device.on(s), managed, managed, work); });
    line.add(timeline::to_host, s, [&] { managed.prefetch(pmpp::host, s); });
  });
  add("zero copy", pinned, 1, [&](const std::vector<pmpp::stream>& streams, timeline& line) {
    const pmpp::stream& s = streams[0];
    line.add(timeline::kernel, s, [&] { pmpp::transform(pmpp::device.on(s), pinned, pinned, work); });
  });
  if (argc > 1) draw(argv[1], ways);
  return wrong;
}
