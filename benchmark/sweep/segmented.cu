// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans of segments in a sweep, beside CUB's: where it has calls for segments of one length and segmented
// scans (CCCL 3.3 and later) those too, else its scan by key with the keys there beforehand. Half the sums of segments of one length
// are told so (equal_segments), the others read offsets, as CUB's call with offsets does; both stand beside both of CUB's calls.
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#if CUB_VERSION >= 300300
#include <cub/device/device_segmented_scan.cuh>
#endif

#include <pmpp/segmented.hpp>

#include "segments.hpp"
#include "sweep.hpp"

namespace {

using namespace sweep;

template <class T, class A, class Op, class PeerOp = Op>
void reduce(trial& t) {
  t.draw_size(sizeof(T) + 2 * sizeof(A) + 4);
  const segments_of segments(t);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(double(n) * sizeof(T) + double(count) * (sizeof(A) + 4));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n);
  const A init = element_of<A>(u64(1) << 63, 0);
  const auto [mine, theirs] = t.outputs<A>(count);
  A *const a = mine, *const b = theirs;
  t.own = {
      "pmpp",
      [=](int s) { pmpp::segmented_reduce(device(), in(s), in(s) + n, offsets, offsets + count + 1, a, init, Op{}); },
      {}};
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedReduce::Reduce(storage, bytes, in(s), b, count, offsets, offsets + 1, PeerOp{}, init,
                                              stream());
  });
#if CUB_VERSION >= 300100
  if (segments.kind == lengths::equal)
    t.add_peer("cub, one length", [=, mean = int(segments.mean)](void* storage, std::size_t& bytes, int s) {
      return cub::DeviceSegmentedReduce::Reduce(storage, bytes, in(s), b, count, mean, PeerOp{}, init, stream());
    });
#endif
#if CUB_VERSION >= 300100
  if (segments.kind == lengths::equal && t.draw.chance(0.5)) {
    t.add(", told so");
    t.set_bytes(double(n) * sizeof(T) + double(count) * sizeof(A));
    t.own = {"pmpp",
             [=, rows = pmpp::equal_segments(segments.mean, count)](int s) {
               pmpp::segmented_reduce(device(), in(s), in(s) + n, rows, a, init, Op{});
             },
             {}};
  }
#endif
  t.fault = [=] { return difference_of(stream(), "sums", a, b, count, is_float<A> ? double(n) : 1); };
}

template <class T, class Op>
void scan(trial& t) {
  t.draw_size(3 * sizeof(T) + 8);
  const segments_of segments(t);
  const i64 n = t.n, count = segments.count;
  t.set_bytes(2.0 * double(n) * sizeof(T) + 4.0 * double(count));
  const i32* const offsets = segments.offsets;
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {
      "pmpp",
      [=](int s) { pmpp::segmented_inclusive_scan(device(), in(s), in(s) + n, offsets, offsets + count + 1, a, Op{}); },
      {}};
#if CUB_VERSION >= 300300
  t.add_peer("cub", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceSegmentedScan::InclusiveSegmentedScan(storage, bytes, in(s), b, offsets, offsets + 1, count, Op{},
                                                            stream());
  });
#endif
  const i32* const keys = t.computed<i32>(n, segment_of_element{offsets, count});
  t.add_peer("cub, by key", [=](void* storage, std::size_t& bytes, int s) {
    return cub::DeviceScan::InclusiveScanByKey(storage, bytes, keys, in(s), b, Op{}, int(n), cuda::std::equal_to<>{},
                                               stream());
  });
  const i64 end = segments.kind == lengths::equal ? count * segments.mean : n;
  t.fault = [=] { return difference_of(stream(), "sums", a, b, end, is_float<T> ? double(n) : 1); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("segmented", argc, argv,
                    {{"reduce f32", reduce<float, float, pmpp::plus, cuda::std::plus<>>},
                     {"reduce f64", reduce<double, double, pmpp::plus, cuda::std::plus<>>},
                     {"reduce u8 to u32", reduce<u8, u32, pmpp::plus, cuda::std::plus<>>},
                     {"reduce u32", reduce<u32, u32, pmpp::plus, cuda::std::plus<>>},
                     {"reduce max i32", reduce<i32, i32, pmpp::maximum, pmpp::maximum>},
                     {"reduce add 16 bytes", reduce<words<4>, words<4>, add_words>},
                     {"scan u32", scan<u32, add_as<u32>>},
                     {"scan f32", scan<float, add_as<float>>},
                     {"scan u64", scan<u64, add_as<u64>>}});
}
