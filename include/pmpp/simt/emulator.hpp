// SPDX-License-Identifier: Apache-2.0
//
// The machine behind simt::emulated_block: it runs the blocks of a grid on the CPU and watches what their threads do.
//
//   1. A grid hands out numbers of clusters, most of one block, in the order that the options ask for, to workers. A worker is an OS thread with
//      a stock of fibers; the thread that launches is the first worker, so small grids start no OS thread.
//   2. A worker runs one cluster at a time (more with emulator_options::resident_blocks). A fiber takes the block's first
//      thread and calls the kernel. If the call returns, the same fiber goes on with the next thread: a kernel without
//      barriers is a plain loop. If the thread has to wait, its fiber switches to another fiber, which takes the next.
//   3. All scheduling is one function, worker::next(): the lowest thread that can run, or a random one under a seed.
//      A thread waits in a barrier of its block, in a collective of its warp, or in spin(); whoever arrives last makes
//      the others ready again. No thread waits in the operating system, so when no thread can run it is a deadlock, and
//      every thread's record says what it waits for and where.
//   4. Each arrival is checked against those who wait already: same operation, same mask, same place in the source.
//      Around the shared memory lie canaries; a thread that reaches a barrier or its end checks them.
//   5. The first fault, or the first exception that a kernel throws, ends the grid. Threads that are suspended are
//      resumed once more, and `abandoned` is thrown in them, so that their destructors run.
//   6. Built with -fsanitize=thread, each CUDA thread is a thread to ThreadSanitizer, ordered with others by barriers,
//      sync_warp, atomics and fences alone, as CUDA has it: races in shared and global memory become faults too. A fence
//      orders only what a word says that is written after it and read before another fence (simt/sanitizer.hpp).
//
// Cost: a switch per arrival (about 15 ns with Boost.Context), some 10 ns per thread that never waits.
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/fiber.hpp>

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

namespace detail {

struct block_record;

/// Who wants to know what the threads of a launch do: simt/counters.hpp.
class block_watcher {
public:
  virtual ~block_watcher() = default;
  virtual void block_ended(const block_record& b) = 0;
};

}  // namespace detail

/// The order in which blocks start.
enum class block_order { ascending, descending, shuffled };

/// How the emulator runs a grid. No choice may change what a correct kernel computes.
struct emulator_options {
  /// OS threads; 0: all cores, fewer for small grids. PMPP_EMULATOR_THREADS
  int threads = 0;
  /// PMPP_EMULATOR_ORDER = ascending, descending or shuffled
  block_order order = block_order::ascending;
  /// 0: threads run in their order; else in an order drawn from the seed and the block's number. PMPP_EMULATOR_SEED
  std::uint64_t seed = 0;
  /// Blocks that an OS thread may have begun at once: further ones start when all threads of the others poll or wait.
  /// A kernel whose blocks wait for later blocks, as in a grid-wide barrier, needs as many as the grid has.
  int resident_blocks = 1;
  /// What the emulator plays: limits of a block, number of multiprocessors; nullptr: as PMPP_EMULATOR_MACHINE says, or an
  /// H100 with two multiprocessors, which keeps grids small.
  const machine* plays = nullptr;
  /// A grid that does nothing but poll for so long is reported as a deadlock.
  double deadlock_seconds = 10;
  /// Set by scoped_counting (simt/counters.hpp).
  detail::block_watcher* watcher = nullptr;
};

namespace detail {

inline const emulator_options*& scoped_options() {
  thread_local const emulator_options* current = nullptr;
  return current;
}

/// The integer in the environment variable `name`, or `otherwise` where it is unset or empty.
inline std::uint64_t environment_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  require(*end == '\0' && *text != '-', [&] { return std::string(name) + "=" + text + " is not a number"; });
  return value;
}

inline emulator_options options_of_this_launch() {
  if (scoped_options()) return *scoped_options();
  emulator_options options;
  options.threads = int(std::min<std::uint64_t>(environment_number("PMPP_EMULATOR_THREADS", 0), 4096));
  options.seed = environment_number("PMPP_EMULATOR_SEED", 0);
  if (const char* text = std::getenv("PMPP_EMULATOR_ORDER"); text && *text) {
    const std::string_view order = text;
    if (order == "descending")
      options.order = block_order::descending;
    else if (order == "shuffled")
      options.order = block_order::shuffled;
    else
      require(order == "ascending", [&] {
        return "PMPP_EMULATOR_ORDER=" + std::string(order) + " is none of ascending, descending, shuffled";
      });
  }
  return options;
}

/// The machine of the environment: a name of core/machine.hpp, and after a colon the number of multiprocessors, where it
/// is to have fewer: h100:4.
inline machine machine_of_environment() {
  const char* text = std::getenv("PMPP_EMULATOR_MACHINE");
  machine m;
  m.multiprocessors = 2;
  if (!text || !*text) return m;
  const std::string_view asked = text, name = asked.substr(0, asked.find(':'));
  std::string names;
  const named_machine* found = nullptr;
  for (const named_machine& known : known_machines) {
    if (known.name == name) found = &known;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  require(found != nullptr, [&] { return "PMPP_EMULATOR_MACHINE=" + std::string(asked) + " is none of " + names; });
  m = found->limits;
  if (name.size() == asked.size()) return m;
  const std::string count(asked.substr(name.size() + 1));
  char* end = nullptr;
  const long multiprocessors = std::strtol(count.c_str(), &end, 10);
  require(*end == '\0' && multiprocessors >= 1 && multiprocessors <= m.multiprocessors, [&] {
    return "PMPP_EMULATOR_MACHINE=" + std::string(asked) + ": after the colon stand 1 to " +
           std::to_string(m.multiprocessors) + " multiprocessors";
  });
  m.multiprocessors = static_cast<int>(multiprocessors);
  return m;
}

}  // namespace detail

/// The machine that launches of this OS thread play. \throws std::invalid_argument if PMPP_EMULATOR_MACHINE names none.
inline const machine& played_machine() {
  if (const emulator_options* options = detail::scoped_options(); options && options->plays) return *options->plays;
  static const machine of_environment = detail::machine_of_environment();
  return of_environment;
}

/// While it lives, launches by this OS thread use these options instead of the environment's.
class scoped_emulator_options {
public:
  explicit scoped_emulator_options(const emulator_options& options)
      : options_(options), previous_(detail::scoped_options()) {
    detail::scoped_options() = &options_;
  }
  ~scoped_emulator_options() { detail::scoped_options() = previous_; }
  scoped_emulator_options(const scoped_emulator_options&) = delete;
  scoped_emulator_options& operator=(const scoped_emulator_options&) = delete;

private:
  emulator_options options_;
  const emulator_options* previous_;
};

class emulated_block;

namespace detail {

/// Thrown in threads that cannot go on because the grid has failed; ends where the emulator called the kernel.
struct abandoned {};

/// What a thread waits in. The order matters: block barriers, then warp collectives, then the rest.
// clang-format off
enum class operation : unsigned char {
  sync, sync_or, sync_and, sync_count,
  sync_warp, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all, match_any,
  warp_add, warp_min, warp_max, warp_and, warp_or, warp_xor,
  spin, active_lanes, cluster_sync, nothing
};

inline const char* name_of(operation op) {
  constexpr const char* names[] = {
      "sync", "sync_or", "sync_and", "sync_count",
      "sync_warp", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "ballot", "any", "all", "match_any",
      "warp_add", "warp_min", "warp_max", "warp_and", "warp_or", "warp_xor",
      "spin", "active_lanes", "cluster.sync", "nothing"};
  return names[int(op)];
}
// clang-format on

/// A place in a kernel: where a thread called the emulator.
using place = std::source_location;

inline bool same_place(const place& a, const place& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

inline std::string to_text(const place& at) { return std::string(at.file_name()) + ":" + std::to_string(at.line()); }

inline std::string hexadecimal(lane_mask mask) {
  std::string text = "0x";
  for (int shift = warp_size - 4; shift >= 0; shift -= 4) text += "0123456789abcdef"[mask >> shift & 15u];
  return text;
}

/// The usual 64-bit mixer (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

inline int lowest_bit(std::uint64_t mask) { return __builtin_ctzll(mask); }

/// One CUDA thread, as its block sees it.
struct thread_record {
  fiber* context = nullptr;  ///< where it runs or is suspended; nullptr before it starts
  operation waits_in = operation::nothing;
  lane_mask mask = 0;             ///< the lanes it expects, in a warp collective
  unsigned bytes = 0;             ///< size of the operand
  int source = 0;                 ///< the lane whose operand it asks for
  const void* operand = nullptr;  ///< on the thread's stack, like result
  void* result = nullptr;
  place at;
  place spun_at;
  place arrived_at;          ///< in its cluster
  bool has_arrived = false;  ///< there, and has not waited yet
  unsigned arrived_in = 0;   ///< which barrier of its cluster
};

/// Which threads of a warp are in which state; every existing lane that is not running is in exactly one.
struct warp_record {
  lane_mask exists = 0, ready = 0, in_sync = 0, in_collective = 0, spinning = 0, left = 0;
  lane_mask gathering = 0;  ///< in active_lanes
  lane_mask in_cluster = 0;
  bool one_group = true;  ///< all lanes in_collective are in the same call
};

class worker;
class grid;

/// What the blocks of a cluster share (simt/emulated_cluster.hpp). A launch without clusters has one for each block.
struct cluster_record {
  /// Who has mapped a block's shared memory since the last barrier of the cluster.
  struct mapping {
    const block_record* by = nullptr;
    int thread = 0;
    place at;
  };
  std::int64_t index = 0, count = 0;  ///< in the grid
  std::vector<block_record*> blocks;  ///< by rank
  std::vector<mapping> mapped;        ///< likewise: none where `by` is nullptr
  int threads = 0;                    ///< of all blocks; of these ...
  int arrived = 0, left = 0;          ///< ... in the barrier, and done with the kernel
  unsigned barriers = 0;              ///< number of barriers released
  place synced_at;                    ///< of those that have arrived: where one called sync(), if `syncs`
  bool syncs = false;
  std::uint64_t barrier_clock[2] = {};
};

/// A block while it runs: its threads, its shared memory, its barriers.
struct block_record {
  grid* launch = nullptr;
  worker* owner = nullptr;
  std::int64_t index = 0;
  std::int64_t blocks = 0;  ///< of the grid
  extent3 position, shape, grid_shape;
  int threads = 0, warps = 0;
  int live = 0;              ///< threads that have not left
  int arrived = 0;           ///< threads in the block barrier
  int votes = 0;             ///< of those that have arrived
  int last_votes = 0;        ///< of the barrier that was released last
  unsigned ready_warps = 0;  ///< bit w: some lane of warp w is ready
  unsigned spinning_warps = 0;
  unsigned barriers = 0;  ///< number of barriers released
  place last_barrier;
  cluster_record* cluster = nullptr;
  int cluster_rank = 0;
  cluster_record own_cluster;  ///< in use in the block of rank 0, which is there as long as the others
  std::uint64_t random = 0;
  int first_warp = -1;  ///< under a seed: the warp that runs as long as it can, or -1
  warp_record warp[1024 / warp_size];
  std::vector<thread_record> thread;
  std::byte* shared = nullptr;
  std::byte* dynamic_shared = nullptr;
  std::byte* memory = nullptr;              ///< zone, struct shared, zone, dynamic shared memory, zone
  std::uint64_t end_clock = 0;              // before and after all its threads
  std::uint64_t barrier_clock[2] = {};      // addresses on which ThreadSanitizer hangs its clocks
  std::uint64_t warp_clock[1024 * 2] = {};  // by first lane of the mask and parity of that lane's sync_warp
  unsigned char warp_syncs[1024] = {};

  std::uint64_t draw(std::uint64_t bound) {
    random = mix(random);
    return (random >> 32) * bound >> 32;
  }
  void make_ready(int w, lane_mask lanes) {
    warp[w].ready |= lanes;
    ready_warps |= 1u << w;
  }
};

struct thread_ref {
  block_record* block = nullptr;
  int thread = 0;

  explicit operator bool() const { return block != nullptr; }
  thread_record& record() const { return block->thread[std::size_t(thread)]; }
};

/// The bytes of a block's shared memory. Sizes do not change during a launch.
struct shared_layout {
  static constexpr std::size_t zone = 128, last_zone = 512;
  static constexpr unsigned char canary = 0xfd, poison = 0xcd;
  std::size_t align = 16, static_offset = 0, static_bytes = 0, dynamic_offset = 0, dynamic_bytes = 0, total = 0;

  constexpr shared_layout(std::size_t bytes, std::size_t alignment, std::size_t dynamic)
      : align(std::max<std::size_t>(alignment, 16)), static_bytes(bytes), dynamic_bytes(dynamic) {
    static_offset = (zone + align - 1) / align * align;
    dynamic_offset = (static_offset + static_bytes + zone + 15) / 16 * 16;
    total = dynamic_offset + dynamic_bytes + last_zone;
  }
};

/// One launch: what to run, what is left of it, and how it failed if it did.
class grid {
public:
  using call_function = void (*)(const void* kernel_and_arguments, block_record& block, int thread);

  static constexpr std::uint64_t finished = ~std::uint64_t(0);

  launch_shape shape;
  std::string_view kernel_name;
  emulator_options options;
  shared_layout layout;
  call_function call;
  const void* closure;
  std::int64_t blocks;
  int threads;
  int cluster_blocks;
  std::int64_t clusters;
  int workers = 1;
  std::uint64_t begin_clock = 0, end_clock = 0;    // for ThreadSanitizer: before and after all threads of the grid
  std::vector<std::atomic<std::uint64_t>> rounds;  // per worker: how often all its threads spun, or `finished`
  std::atomic<std::uint64_t> generation = 0;       // changes whenever a worker that spun gets further

  grid(const launch_shape& s, std::string_view name, const emulator_options& o, shared_layout l, call_function f,
       const void* c)
      : shape(s),
        kernel_name(name),
        options(o),
        layout(l),
        call(f),
        closure(c),
        blocks(s.blocks.volume()),
        threads(int(s.threads.volume())),
        cluster_blocks(int(s.cluster.volume())),
        clusters(blocks / cluster_blocks) {
    // A permutation of the numbers of clusters: i -> (i * factor + offset) mod clusters.
    if (options.order == block_order::shuffled && clusters > 1) {
      const auto n = std::uint64_t(clusters);
      offset_ = mix(options.seed) % n;
      factor_ = mix(options.seed + 1) % std::min<std::uint64_t>(n, std::uint64_t(1) << 30);
      auto common = [](std::uint64_t a, std::uint64_t b) {
        while (b) a = std::exchange(b, a % b);
        return a;
      };
      while (common(factor_, n) != 1) factor_ = (factor_ + 1) % n;
    }
  }

  /// The number of a cluster that has not started yet, or -1.
  std::int64_t take_cluster() {
    // relaxed: an ordering here would hide races between blocks from ThreadSanitizer
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= clusters || failed()) return -1;
    if (options.order == block_order::descending) return clusters - 1 - i;
    if (options.order == block_order::shuffled)
      return std::int64_t((std::uint64_t(i) * factor_ + offset_) % std::uint64_t(clusters));
    return i;
  }

  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  void fail(std::exception_ptr reason) {
    const std::lock_guard lock(mutex_);
    if (!reason_) reason_ = std::move(reason);
    failed_.store(true, std::memory_order_relaxed);
  }

  void rethrow_failure() {
    if (reason_) std::rethrow_exception(std::exchange(reason_, nullptr));
  }

private:
  std::atomic<std::int64_t> next_ = 0;
  std::uint64_t factor_ = 1, offset_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr reason_;
};

// ---- What went wrong, in words -------------------------------------------------------------------------------------

inline std::string name_of(const thread_ref& t) { return "thread " + std::to_string(t.thread); }

inline std::string text_of_block(const block_record& b) {
  std::string text = "kernel " + std::string(b.launch->kernel_name) + ", block " + std::to_string(b.index);
  const extent3 &g = b.launch->shape.blocks, &p = b.position;
  if (g.y > 1 || g.z > 1)
    text += " (" + std::to_string(p.x) + ", " + std::to_string(p.y) + ", " + std::to_string(p.z) + ")";
  return text;
}

inline std::string text_of_wait(const thread_record& r) {
  if (r.waits_in == operation::nothing) return "runs";
  std::string text = std::string(r.waits_in == operation::spin ? "polls in " : "waits in ") + name_of(r.waits_in);
  if (r.waits_in >= operation::sync_warp && r.waits_in < operation::spin) text += " with mask " + hexadecimal(r.mask);
  return text + " at " + to_text(r.at);
}

/// "threads 0-15, 17: left the kernel; thread 16: waits in sync at a.cpp:7": who waits where.
inline std::string who_waits_where(const block_record& b) {
  struct group {
    std::string state, who;
    int count, ranges, last;
  };
  std::vector<group> groups;
  auto state_of = [&](int t) -> std::string {
    const warp_record& w = b.warp[t / warp_size];
    const thread_record& r = b.thread[std::size_t(t)];
    if (w.left >> t % warp_size & 1u) return "left the kernel";
    if (w.ready >> t % warp_size & 1u && r.waits_in != operation::spin)
      return r.context ? "can run" : "has not started";
    return text_of_wait(r);
  };
  for (int t = 0; t < b.threads; ++t) {
    const std::string state = state_of(t);
    std::size_t i = 0;
    while (i < groups.size() && groups[i].state != state) ++i;
    if (i == groups.size()) groups.push_back({state, "", 0, 0, -2});
    group& g = groups[i];
    if (g.last + 1 < t) {  // a new range
      if (g.who.ends_with('-')) g.who += std::to_string(g.last);
      if (++g.ranges <= 12) g.who += (g.count ? ", " : "") + std::to_string(t);
      if (g.ranges == 13) g.who += ", ...";
    } else if (g.ranges <= 12 && !g.who.ends_with('-')) {
      g.who += '-';
    }
    g.last = t;
    ++g.count;
  }
  std::string text;
  for (group& g : groups) {
    if (g.who.ends_with('-')) g.who += std::to_string(g.last);
    text += (text.empty() ? "" : "; ") + std::string(g.count == 1 ? "thread " : "threads ") + g.who + ": " + g.state;
  }
  return text;
}

/// The same of all blocks of a cluster: "block 4: threads ...; block 5: threads ...".
inline std::string who_waits_in_cluster(const cluster_record& c) {
  if (c.blocks.size() == 1) return who_waits_where(*c.blocks[0]);
  std::string text;
  for (const block_record* b : c.blocks)
    text += (text.empty() ? "block " : "; block ") + std::to_string(b->index) + ": " + who_waits_where(*b);
  return text;
}

/// Ends the grid with a kernel_fault "kernel K, block B, thread T: what".
[[noreturn, gnu::cold, gnu::noinline]] inline void report(const thread_ref& t, const std::string& what) {
  t.block->launch->fail(
      std::make_exception_ptr(kernel_fault(text_of_block(*t.block) + ", " + name_of(t) + ": " + what)));
  throw abandoned{};
}

/// A race that ThreadSanitizer has found, until the emulator can report it: the two accesses, the later one first.
struct race_record {
  struct access {
    char who[64];  ///< the fiber's name
    void* code;
    bool write;
  };
  std::atomic<bool> pending = false;
  access by[2] = {};
  const void* address = nullptr;
  int bytes = 0;
};

/// The worker of this OS thread.
inline worker*& current_worker() {
  thread_local worker* current = nullptr;
  return current;
}

// ---- Workers -------------------------------------------------------------------------------------------------------

/// An OS thread's share of the machine: fibers, and the blocks that run on them. Kept between launches for its stacks.
class worker {
public:
  worker() = default;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// Runs blocks of `g` until none is left. Several workers run the same grid, each on its OS thread.
  void run(grid& g, int rank) {
    const sanitizer::unobserved scope;
    worker* const outer = std::exchange(current_worker(), this);  // a kernel may launch a grid of its own
    if constexpr (sanitizer::thread) sanitizer::race_handler = &worker::remember_race;
    grid_ = &g;
    rank_ = rank;
    main_.adopt_this_thread();
    residents_ = current_ = 0;
    rounds_.clear();
    sanitizer::acquire(&g.begin_clock);  // what the launching thread has done ...
    sanitizer::release(&start_clock_);   // ... and this OS thread comes before all threads of the grid
    try {
      if (admit(0)) {
        residents_ = g.cluster_blocks;
        if (const thread_ref t = next()) fiber::switch_to(main_, context_for(t));
      }
    } catch (...) {
      g.fail(std::current_exception());
    }
    for (auto& b : blocks_) free_memory(*b);
    g.rounds[std::size_t(rank)].store(grid::finished, std::memory_order_relaxed);
    sanitizer::acquire(&g.end_clock);
    current_worker() = outer;
  }

  /// Thread t, which has said in its record what it waits for, gives way to others. Returns when it may go on.
  void suspend(const thread_ref& t) {
    gather(t);
    const thread_ref n = next();
    if (n.block != t.block || n.thread != t.thread) {
      // What this thread has thrown and not yet caught is its own, although it shares an OS thread with others.
      struct exceptions {
        void* caught;
        unsigned uncaught;
      };
      auto* const globals = reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
      const exceptions mine = std::exchange(*globals, exceptions{});
      fiber::switch_to(*t.record().context, context_for(n));
      *globals = mine;
    }
    stop_if_failed();
  }

  /// Throws `abandoned` if the grid has failed. Returns true if it has failed and the caller is unwinding already.
  bool stop_if_failed() {
    if constexpr (sanitizer::thread) report_race();
    if (!grid_->failed()) [[likely]]
      return false;
    if (std::uncaught_exceptions() == 0) throw abandoned{};
    return true;
  }

  void made_progress() { ++progress_; }

private:
  /// A fiber that runs CUDA threads, one after the other.
  struct runner {
    worker& owner;
    thread_ref starting;
    fiber context;

    runner(worker& w, fiber_stack stack) : owner(w), context(stack, &runner::enter, this) {}
    static void enter(void* self) { static_cast<runner*>(self)->loop(); }
    [[noreturn]] void loop() noexcept {
      for (;;) {
        owner.execute(starting, context);
        const thread_ref n = owner.next();
        if (n && !n.record().context && !sanitizer::thread) {  // the next thread can have this stack
          n.record().context = &context;
          starting = n;
          continue;
        }
        fiber& target = n ? owner.context_for(n) : owner.main_;
        owner.idle_.push_back(this);
        fiber::switch_to(context, target);
      }
    }
  };

  void execute(const thread_ref& t, [[maybe_unused]] fiber& context) {
    block_record& b = *t.block;
    try {
      if constexpr (sanitizer::thread) {
        context.name(("block " + std::to_string(b.index) + ", " + name_of(t)).c_str());
        sanitizer::acquire(&start_clock_);
        sanitizer::observe(true);
      }
      grid_->call(grid_->closure, b, t.thread);
    } catch (const abandoned&) {
    } catch (...) {
      grid_->fail(std::current_exception());
    }
    if constexpr (sanitizer::thread) {
      sanitizer::observe(false);
      sanitizer::release(&grid_->end_clock);
      context.forget_fences();
    }
    try {
      leave(t);
    } catch (const abandoned&) {
    }
  }

  /// Thread t has returned from the kernel.
  void leave(const thread_ref& t) {
    block_record& b = *t.block;
    warp_record& w = b.warp[t.thread / warp_size];
    const lane_mask bit = lane_mask(1) << t.thread % warp_size;
    w.left |= bit;
    --b.live;
    ++b.cluster->left;
    sanitizer::release(&b.end_clock);
    made_progress();
    gather(t);
    if constexpr (sanitizer::thread) report_race();
    if (grid_->failed()) return;
    check_shared(t, nullptr);
    if (b.arrived) [[unlikely]]
      report(t, "left the kernel while others wait for it: " + who_waits_where(b));
    for (lane_mask lanes = w.in_collective; lanes; lanes &= lanes - 1)
      if (b.thread[std::size_t(t.thread / warp_size * warp_size + lowest_bit(lanes))].mask & bit)
        report(t, "left the kernel while lanes of its warp wait for it: " + who_waits_where(b));
    const thread_record& r = t.record();
    if (r.has_arrived) [[unlikely]]
      report(t, "left the kernel without waiting for its cluster, where it has arrived at " + to_text(r.arrived_at));
    if (b.cluster->arrived) [[unlikely]]
      report(t, "left the kernel while others of its cluster wait for it: " + who_waits_in_cluster(*b.cluster));
    if (b.live == 0 && b.cluster->blocks.size() > 1) end_shared_memory(t);
  }

  /// The last thread of a block of a cluster has left: the block's shared memory is no more, while others still run.
  void end_shared_memory(const thread_ref& t) {
    block_record& b = *t.block;
    if (const auto& m = b.cluster->mapped[std::size_t(b.cluster_rank)]; m.by)
      report(t, "its block ends, and with it its shared memory, which block " + std::to_string(m.by->index) +
                    ", thread " + std::to_string(m.thread) + " has mapped at " + to_text(m.at) +
                    ": a cluster.sync() must lie between the two");
    const shared_layout& l = grid_->layout;
    sanitizer::acquire(&b.end_clock);
    overwrite(b.shared, l.static_bytes);
    overwrite(b.dynamic_shared, l.dynamic_bytes);
    if constexpr (sanitizer::address) sanitizer::__asan_poison_memory_region(b.memory, l.total);
  }

  /// Poisons memory that has ended. To ThreadSanitizer a write, with which whoever reads late is in a race.
  [[gnu::noinline]] static void overwrite(std::byte* p, std::size_t bytes) {
    sanitizer::observe(true);
    std::memset(p, shared_layout::poison, bytes);
    sanitizer::observe(false);
  }

  /// Lanes in active_lanes go on when no other lane of their warp can: together, if they are at the same place. Under a seed
  /// perhaps not all of them, as a GPU may have it.
  static void gather(const thread_ref& t) {
    block_record& b = *t.block;
    const int first = t.thread / warp_size;
    warp_record& w = b.warp[first];
    if (!w.gathering || w.ready) [[likely]]
      return;
    const place at = b.thread[std::size_t(first * warp_size + lowest_bit(w.gathering))].at;
    lane_mask together = 0;
    for (lane_mask lanes = w.gathering; lanes; lanes &= lanes - 1)
      if (same_place(b.thread[std::size_t(first * warp_size + lowest_bit(lanes))].at, at)) together |= lanes & -lanes;
    if (b.launch->options.seed != 0 && b.draw(2))
      together &= lane_mask(mix(b.draw(std::uint64_t(1) << 32))) | (together & -together);
    for (lane_mask lanes = together; lanes; lanes &= lanes - 1)
      b.thread[std::size_t(first * warp_size + lowest_bit(lanes))].mask = together;
    w.gathering &= ~together;
    b.make_ready(first, together);
  }

public:
  /// Reports a write outside the shared memory. `at` is the barrier that t has reached, or nullptr at its end.
  void check_shared(const thread_ref& t, const place* at) {
    if constexpr (!sanitizer::address) {  // AddressSanitizer watches the zones itself, and says who wrote
      const shared_layout& l = grid_->layout;
      if (l.static_bytes + l.dynamic_bytes == 0) return;
      const std::byte* m = t.block->memory;
      const std::size_t end = l.static_offset + l.static_bytes, dynamic_end = l.dynamic_offset + l.dynamic_bytes;
      if (intact(m + l.static_offset - shared_layout::zone, shared_layout::zone) &&
          intact(m + end, l.dynamic_offset - end) && intact(m + dynamic_end, shared_layout::last_zone)) [[likely]]
        return;
      report_shared(t, at);
    }
  }

private:
  static bool intact(const std::byte* p, std::size_t bytes) {  // all bytes are equal, and the first is right
    return *p == std::byte(shared_layout::canary) && std::memcmp(p, p + 1, bytes - 1) == 0;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void report_shared(const thread_ref& t, const place* at) {
    const shared_layout& l = grid_->layout;
    const std::byte* m = t.block->memory;
    const auto s = std::ptrdiff_t(l.static_offset), se = s + std::ptrdiff_t(l.static_bytes);
    const auto d = std::ptrdiff_t(l.dynamic_offset), de = d + std::ptrdiff_t(l.dynamic_bytes);
    std::ptrdiff_t i = s - std::ptrdiff_t(shared_layout::zone);
    while ((i >= s && i < se) || (i >= d && i < de) || m[i] == std::byte(shared_layout::canary)) ++i;
    std::string where = i < s    ? std::to_string(s - i) + " bytes before struct shared"
                        : i < de ? std::to_string(i - se) + " bytes past the end of struct shared (" +
                                       std::to_string(l.static_bytes) + " bytes)"
                                 : std::to_string(i - de) + " bytes past the end of the dynamic shared memory (" +
                                       std::to_string(l.dynamic_bytes) + " bytes)";
    if (l.dynamic_bytes == 0 && i >= se)
      where = std::to_string(i - se) + " bytes past the end of struct shared (" + std::to_string(l.static_bytes) +
              " bytes)";
    const block_record& b = *t.block;
    report(t, "shared memory was written " + where + "; found when the thread " +
                  (at ? "reached the barrier at " + to_text(*at) : std::string("left the kernel")) +
                  ", so this thread wrote it, or one that has run since " +
                  (b.barriers ? "the barrier at " + to_text(b.last_barrier) : std::string("the block began")));
  }

  /// ThreadSanitizer calls this inside the thread that ran into the race, with its own locks held: only takes notes.
  static void remember_race(void* report) {
    const sanitizer::unobserved scope;  // a race in here would wait for those locks for ever
    worker* const w = current_worker();
    if (!w || w->race_.pending) return;
    const char* text = nullptr;
    int count = 0, stacks = 0, accesses = 0, locations = 0, mutexes = 0, threads = 0, unique = 0;
    void* trace[1] = {};
    sanitizer::__tsan_get_report_data(report, &text, &count, &stacks, &accesses, &locations, &mutexes, &threads,
                                      &unique, trace, 1);
    if (accesses < 2) return;  // not a data race
    for (int i = 0; i < 2; ++i) {
      race_record::access& a = w->race_.by[i];
      int thread = 0, size = 0, write = 0, atomic = 0;
      void* address = nullptr;
      sanitizer::__tsan_get_report_mop(report, std::size_t(i), &thread, &address, &size, &write, &atomic, trace, 1);
      a.code = trace[0];
      a.write = write != 0;
      a.who[0] = '\0';
      for (int j = 0; j < threads; ++j) {
        int id = 0, running = 0, parent = 0;
        unsigned long long os_thread = 0;
        const char* name = nullptr;
        sanitizer::__tsan_get_report_thread(report, std::size_t(j), &id, &os_thread, &running, &name, &parent, trace,
                                            1);
        if (id != thread || !name) continue;
        std::size_t k = 0;
        for (; name[k] && k + 1 < sizeof a.who; ++k) a.who[k] = name[k];
        a.who[k] = '\0';
      }
      if (i == 0) {
        w->race_.address = address;
        w->race_.bytes = size;
      }
    }
    w->race_.pending = true;
  }

  /// Turns a race that has been noted into the grid's failure.
  void report_race() {
    if (!race_.pending) return;
    race_.pending = false;
    auto text_of = [](const race_record::access& a) {
      char at[512] = "";
      sanitizer::__sanitizer_symbolize_pc(a.code, "%s:%l", at, sizeof at);
      return std::string(a.write ? "write" : "read") + " by " + (a.who[0] ? a.who : "a thread outside the grid") +
             " at " + at;
    };
    std::string where = "memory outside the block";
    const auto* const p = static_cast<const std::byte*>(race_.address);
    for (int i = 0; i < residents_; ++i) {
      const std::ptrdiff_t offset = p - blocks_[std::size_t(i)]->shared;
      const std::ptrdiff_t dynamic_offset = p - blocks_[std::size_t(i)]->dynamic_shared;
      if (offset >= 0 && offset < std::ptrdiff_t(grid_->layout.static_bytes))
        where = "byte " + std::to_string(offset) + " of struct shared";
      else if (dynamic_offset >= 0 && dynamic_offset < std::ptrdiff_t(grid_->layout.dynamic_bytes))
        where = "byte " + std::to_string(dynamic_offset) + " of the dynamic shared memory";
    }
    grid_->fail(std::make_exception_ptr(kernel_fault(
        "kernel " + std::string(grid_->kernel_name) + ": data race on " + where + " (" + std::to_string(race_.bytes) +
        " bytes): " + text_of(race_.by[0]) + "; " + text_of(race_.by[1]) + "; no barrier or atomic orders them")));
  }

  /// The thread that runs next, no longer marked ready; none when the grid is done.
  thread_ref next() {
    for (;;) {
      if (residents_ == 0) return {};
      if (grid_->failed()) [[unlikely]]
        return next_to_unwind();
      if (grid_->cluster_blocks > 1) current_ = next_of_cluster();
      block_record& b = *blocks_[std::size_t(current_)];
      if (b.ready_warps) [[likely]]
        return choose(b);
      bool ended = true, polls = false;
      for (const block_record* other : b.cluster->blocks) {
        ended = ended && other->live == 0;
        polls = polls || other->spinning_warps != 0;
      }
      if (polls) {
        all_spin(b);
      } else if (ended) {
        made_progress();
        if (grid_->options.watcher)
          for (const block_record* other : b.cluster->blocks) grid_->options.watcher->block_ended(*other);
        const int n = grid_->cluster_blocks;
        current_ -= b.cluster_rank;
        if (!admit(current_)) {
          residents_ -= n;
          std::swap_ranges(blocks_.begin() + current_, blocks_.begin() + current_ + n, blocks_.begin() + residents_);
          if (current_ == residents_) current_ = 0;
        }
      } else {
        report_deadlock(b);
      }
    }
  }

  /// A block of the current cluster that can run: the current one as long as it can; under a seed now and then another.
  int next_of_cluster() {
    const int n = grid_->cluster_blocks, first = current_ / n * n;
    int begin = current_ - first;
    block_record& b = *blocks_[std::size_t(first)];
    if (grid_->options.seed != 0 && b.draw(4) == 0) begin = int(b.draw(std::uint64_t(n)));
    for (int i = 0; i < n; ++i)
      if (const int k = first + (begin + i) % n; blocks_[std::size_t(k)]->ready_warps) return k;
    return current_;
  }

  thread_ref choose(block_record& b) {
    int w, lane;
    if (grid_->options.seed == 0) [[likely]] {
      w = lowest_bit(b.ready_warps);
      lane = lowest_bit(b.warp[w].ready);
    } else {
      // Half of the time one warp runs as far as it can while the others stand still, which is how real warps drift
      // apart; else any warp that can run.
      w = b.first_warp;
      if (w < 0 || !(b.ready_warps >> w & 1u)) {
        w = nth_bit(b.ready_warps, int(b.draw(std::uint64_t(__builtin_popcount(b.ready_warps)))));
        if (b.first_warp >= 0) b.first_warp = w;
      }
      lane = nth_bit(b.warp[w].ready, int(b.draw(std::uint64_t(__builtin_popcountll(b.warp[w].ready)))));
    }
    b.warp[w].ready &= ~(lane_mask(1) << lane);
    if (b.warp[w].ready == 0) b.ready_warps &= ~(1u << w);
    return {&b, w * warp_size + lane};
  }

  static int nth_bit(std::uint64_t mask, int n) {
    while (n--) mask &= mask - 1;
    return lowest_bit(mask);
  }

  /// Threads that have not begun are forgotten; those that are suspended must unwind.
  thread_ref next_to_unwind() {
    for (; residents_; --residents_) {
      block_record& b = *blocks_[std::size_t(residents_ - 1)];
      for (int t = 0; t < b.threads; ++t)
        if (b.thread[std::size_t(t)].context && !(b.warp[t / warp_size].left >> t % warp_size & 1u)) return {&b, t};
    }
    return {};
  }

  [[gnu::cold, gnu::noinline]] void report_deadlock(block_record& b) {
    grid_->fail(std::make_exception_ptr(
        kernel_fault(text_of_block(b) + ": deadlock, no thread can go on: " + who_waits_in_cluster(*b.cluster))));
  }

  /// Every thread of b and its cluster that does not wait in a barrier polls. Lets them poll again, after other clusters.
  void all_spin(block_record& b) {
    for (block_record* const of_cluster : b.cluster->blocks) {
      for (unsigned warps = of_cluster->spinning_warps; warps; warps &= warps - 1) {
        const int w = lowest_bit(warps);
        of_cluster->make_ready(w, std::exchange(of_cluster->warp[w].spinning, 0));
      }
      of_cluster->spinning_warps = 0;
    }
    current_ += grid_->cluster_blocks - b.cluster_rank;
    if (current_ < residents_) return;
    current_ = 0;
    if (residents_ < grid_->options.resident_blocks && admit(residents_)) {
      current_ = std::exchange(residents_, residents_ + grid_->cluster_blocks);
      return;
    }
    std::this_thread::yield();  // what they poll for is in the hands of another OS thread
    grid_->rounds[std::size_t(rank_)].fetch_add(1, std::memory_order_relaxed);
    if (progress_ != seen_progress_) {
      seen_progress_ = progress_;
      grid_->generation.fetch_add(1, std::memory_order_relaxed);
    }
    if (++pauses_ % 64 == 0) watch_for_deadlock(b);
  }

  static double seconds() {
    timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  }

  /// Deadlock: for the whole time that the options allow, each worker went round all its polling threads in every
  /// twentieth of it, and no thread anywhere got any further.
  [[gnu::noinline]] void watch_for_deadlock(const block_record& b) {
    const double now = seconds(), limit = grid_->options.deadlock_seconds;
    const bool first = rounds_.empty();
    if (!first && now < checked_at_ + limit / 20) return;
    checked_at_ = now;
    rounds_.resize(grid_->rounds.size());
    const std::uint64_t generation = grid_->generation.load(std::memory_order_relaxed);
    bool quiet = !first && std::exchange(generation_, generation) == generation;
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      const std::uint64_t round = grid_->rounds[i].load(std::memory_order_relaxed);
      quiet = quiet && (round == grid::finished || round != rounds_[i]);
      rounds_[i] = round;
    }
    if (!quiet) quiet_since_ = now;
    if (now - quiet_since_ >= limit)
      grid_->fail(std::make_exception_ptr(
          kernel_fault(text_of_block(b) + ": deadlock, for " + std::to_string(limit) +
                       " s no thread of the grid has done anything but poll: " + who_waits_where(b))));
  }

  /// The fiber on which t goes on, or starts.
  fiber& context_for(const thread_ref& t) {
    fiber*& context = t.record().context;
    if (!context) {
      if (idle_.empty()) add_runners();
      runner* r;
      if constexpr (sanitizer::thread) {
        r = idle_.front();  // the one that has been idle longest
        idle_.erase(idle_.begin());
      } else {
        r = idle_.back();
        idle_.pop_back();
      }
      r->starting = t;
      context = &r->context;
    }
    return *context;
  }

  void add_runners() {
    constexpr std::size_t bytes = (sanitizer::address || sanitizer::thread ? 256 : 64) * 1024;
    constexpr int count = 32;
    auto& slab = *slabs_.emplace_back(std::make_unique<stack_slab>(count, bytes));
    runners_.reserve(runners_.size() + std::size_t(count));
    idle_.reserve(runners_.capacity());
    for (int i = count; i-- > 0;) {
      runners_.push_back(std::make_unique<runner>(*this, slab.stack(i)));
      idle_.push_back(runners_.back().get());
    }
  }

  /// Starts the blocks of the grid's next cluster from blocks_[slot] on. False when there is none, or no memory for it.
  bool admit(int slot) {
    const std::int64_t index = grid_->take_cluster();
    if (index < 0) return false;
    try {
      for (int rank = 0; rank < grid_->cluster_blocks; ++rank) {
        prepare(slot + rank, index, rank);
        prepare_cluster(*blocks_[std::size_t(slot + rank)], *blocks_[std::size_t(slot)], index);
      }
      return true;
    } catch (...) {
      grid_->fail(std::current_exception());
      return false;
    }
  }

  /// b joins the cluster of `leader`, which is b itself if its rank is 0.
  void prepare_cluster(block_record& b, block_record& leader, std::int64_t index) {
    cluster_record& c = leader.own_cluster;
    b.cluster = &c;
    if (b.cluster_rank == 0) {
      c.index = index;
      c.count = grid_->clusters;
      c.threads = grid_->cluster_blocks * grid_->threads;
      c.arrived = c.left = 0;
      c.barriers = 0;
      c.syncs = false;
      c.blocks.clear();
      c.mapped.assign(std::size_t(grid_->cluster_blocks), {});
    }
    c.blocks.push_back(&b);
  }

  void prepare(int slot, std::int64_t cluster, int rank) {
    if (std::size_t(slot) == blocks_.size()) blocks_.push_back(std::make_unique<block_record>());
    block_record& b = *blocks_[std::size_t(slot)];
    const grid& g = *grid_;
    b.launch = grid_;
    b.owner = this;
    b.blocks = g.blocks;
    b.shape = g.shape.threads;
    b.grid_shape = g.shape.blocks;
    b.cluster_rank = rank;
    const extent3 &all = g.shape.blocks, &c = g.shape.cluster;
    const auto r = unsigned(rank);
    const std::int64_t x = all.x / c.x, y = all.y / c.y;  // clusters along the axes
    b.position = {unsigned(cluster % x) * c.x + r % c.x, unsigned(cluster / x % y) * c.y + r / c.x % c.y,
                  unsigned(cluster / x / y) * c.z + r / c.x / c.y};
    b.index = b.position.x + std::int64_t(all.x) * (b.position.y + std::int64_t(all.y) * b.position.z);
    b.threads = b.live = g.threads;
    b.warps = (g.threads + warp_size - 1) / warp_size;
    b.arrived = b.votes = 0;
    b.spinning_warps = b.barriers = 0;
    b.random = mix(g.options.seed ^ mix(std::uint64_t(b.index)));
    b.first_warp = b.draw(2) ? int(b.draw(std::uint64_t(b.warps))) : -1;
    b.ready_warps = 0;
    for (int w = 0; w < b.warps; ++w) {
      const int lanes = std::min(warp_size, g.threads - w * warp_size);
      b.warp[w] = {};
      b.warp[w].exists = all_lanes >> (warp_size - lanes);
      b.make_ready(w, b.warp[w].exists);
    }
    b.thread.assign(std::size_t(g.threads), thread_record{});
    // To ThreadSanitizer a fiber is a thread: those of two blocks in a row must be different ones, or races between the
    // blocks would look like one thread's steps.
    if constexpr (sanitizer::thread)
      while (runners_.size() < std::size_t(2 * g.threads * g.cluster_blocks)) add_runners();
    prepare_memory(b);
  }

  void prepare_memory(block_record& b) {
    const shared_layout& l = grid_->layout;
    if constexpr (sanitizer::thread)
      free_memory(b);  // fresh memory has no history, so the last block cannot race with this
    if (!b.memory) {
      b.memory = static_cast<std::byte*>(::operator new(l.total, std::align_val_t(l.align)));
      std::memset(b.memory, shared_layout::canary, l.total);
      b.shared = b.memory + l.static_offset;
      b.dynamic_shared = b.memory + l.dynamic_offset;
      if constexpr (sanitizer::address) sanitizer::__asan_poison_memory_region(b.memory, l.total);
    }
    if constexpr (sanitizer::address) {
      sanitizer::__asan_unpoison_memory_region(b.shared, l.static_bytes);
      sanitizer::__asan_unpoison_memory_region(b.dynamic_shared, l.dynamic_bytes);
    }
    std::memset(b.shared, shared_layout::poison, l.static_bytes);
    std::memset(b.dynamic_shared, shared_layout::poison, l.dynamic_bytes);
  }

  void free_memory(block_record& b) {
    if (!b.memory) return;
    if constexpr (sanitizer::address) sanitizer::__asan_unpoison_memory_region(b.memory, grid_->layout.total);
    ::operator delete(b.memory, std::align_val_t(grid_->layout.align));
    b.memory = nullptr;
  }

  grid* grid_ = nullptr;
  int rank_ = 0;
  fiber main_;  // the OS thread that called run()
  std::vector<std::unique_ptr<stack_slab>> slabs_;
  std::vector<std::unique_ptr<runner>> runners_;
  std::vector<runner*> idle_;
  std::vector<std::unique_ptr<block_record>> blocks_;  // the first residents_ of them are running
  int residents_ = 0, current_ = 0;
  std::uint64_t progress_ = 0, seen_progress_ = 0, pauses_ = 0;
  std::vector<std::uint64_t> rounds_;
  std::uint64_t generation_ = 0;
  double checked_at_ = 0, quiet_since_ = 0;
  race_record race_;
  std::uint64_t start_clock_ = 0;
};

// ---- What threads wait for -----------------------------------------------------------------------------------------

/// Thread t reaches a barrier of its block with `vote`; returns the number of votes of all threads.
inline int block_barrier(const thread_ref& t, operation op, bool vote, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  worker& owner = *b.owner;
  if (owner.stop_if_failed()) return 0;
  owner.check_shared(t, &at);
  thread_record& r = t.record();
  r.waits_in = op;
  r.at = at;
  if (b.live < b.threads) [[unlikely]]
    report(t, text_of_wait(r) + ", but not all threads of the block can come: " + who_waits_where(b));
  if (b.arrived == 0) {
    b.last_barrier = at;
  } else if (!same_place(b.last_barrier, at)) [[unlikely]] {
    report(t, text_of_wait(r) + ", but others wait in another barrier: " + who_waits_where(b));
  }
  std::uint64_t* clock = &b.barrier_clock[b.barriers & 1u];
  sanitizer::release(clock);
  b.votes += vote;
  b.warp[t.thread / warp_size].in_sync |= lane_mask(1) << t.thread % warp_size;
  if (++b.arrived == b.threads) {
    for (int w = 0; w < b.warps; ++w) b.make_ready(w, std::exchange(b.warp[w].in_sync, 0));
    b.arrived = 0;
    b.last_votes = std::exchange(b.votes, 0);
    ++b.barriers;
    if (b.first_warp >= 0) b.first_warp = int(b.draw(std::uint64_t(b.warps)));
    owner.made_progress();
  }
  owner.suspend(t);
  sanitizer::acquire(clock);
  r.waits_in = operation::nothing;
  return b.last_votes;
}

/// First half of a collective: checks; true when t is the last to arrive.
inline bool arrive_in_warp(const thread_ref& t, operation op, lane_mask mask, const place& at) {
  block_record& b = *t.block;
  thread_record& r = t.record();
  const int first = t.thread / warp_size * warp_size;
  warp_record& w = b.warp[t.thread / warp_size];
  const lane_mask bit = lane_mask(1) << t.thread % warp_size;
  r.waits_in = op;
  r.mask = mask;
  r.at = at;
  if (!(mask & bit)) [[unlikely]]
    report(t, text_of_wait(r) + ": the mask does not name the calling lane");
  if (mask & ~w.exists) [[unlikely]]
    report(t, text_of_wait(r) + ": the mask names lanes that do not exist, the warp has " +
                  std::to_string(__builtin_popcount(w.exists)) + " threads");
  if (mask & w.left) [[unlikely]]
    report(t, text_of_wait(r) + ": the mask names lanes that have left the kernel: " + who_waits_where(b));
  auto agrees = [&](const thread_record& other) {
    return other.mask == mask && other.waits_in == op && other.bytes == r.bytes &&
           (op == operation::sync_warp || same_place(other.at, at));  // CUDA lets __syncwarp meet another __syncwarp
  };
  lane_mask come = w.in_collective;  // of the lanes that this one expects
  if (come == 0) {
    w.one_group = true;
  } else if (!w.one_group || !agrees(b.thread[std::size_t(first + lowest_bit(come))])) {
    w.one_group = false;
    come = 0;
    for (lane_mask lanes = w.in_collective; lanes; lanes &= lanes - 1) {
      const int lane = lowest_bit(lanes);
      const thread_record& other = b.thread[std::size_t(first + lane)];
      if (agrees(other))
        come |= 1u << lane;
      else if (other.mask & bit && mask >> lane & 1u) [[unlikely]]  // each waits for the other, in different calls
        report(t, text_of_wait(r) + ", but lanes of its warp disagree: thread " + std::to_string(first + lane) + " " +
                      text_of_wait(other));
    }
  }
  w.in_collective |= bit;
  return (come | bit) == mask;
}

/// lanes[i].result for each lane i of the mask: the operand of the lane that it asks for.
inline void exchange(const thread_record* lanes, lane_mask mask) {
  for (lane_mask rest = mask; rest; rest &= rest - 1) {
    const thread_record& r = lanes[lowest_bit(rest)];
    if (mask >> r.source & 1u)
      std::memcpy(r.result, lanes[r.source].operand, r.bytes);
    else
      std::memset(r.result, shared_layout::poison, r.bytes);  // undefined in CUDA
  }
}

/// Likewise for match_any: the lanes with the same bytes.
inline void match(const thread_record* lanes, lane_mask mask) {
  for (lane_mask rest = mask; rest; rest &= rest - 1) {
    const thread_record& r = lanes[lowest_bit(rest)];
    lane_mask same = 0;
    for (lane_mask others = mask; others; others &= others - 1)
      if (std::memcmp(r.operand, lanes[lowest_bit(others)].operand, r.bytes) == 0) same |= others & -others;
    std::memcpy(r.result, &same, sizeof same);
  }
}

/// Likewise for ballot: a bit for each lane whose operand is not 0.
inline void vote(const thread_record* lanes, lane_mask mask) {
  lane_mask all = 0;
  for (lane_mask rest = mask; rest; rest &= rest - 1) {
    unsigned v;
    std::memcpy(&v, lanes[lowest_bit(rest)].operand, sizeof v);
    if (v != 0) all |= rest & -rest;
  }
  for (lane_mask rest = mask; rest; rest &= rest - 1) std::memcpy(lanes[lowest_bit(rest)].result, &all, sizeof all);
}

/// Likewise for the collectives that give every lane the same 32-bit word.
inline void combine(const thread_record* lanes, lane_mask mask, operation op) {
  unsigned all = 0;
  for (lane_mask rest = mask; rest; rest &= rest - 1) {
    const int lane = lowest_bit(rest);
    unsigned v;
    std::memcpy(&v, lanes[lane].operand, sizeof v);
    const bool less = lanes[lane].source ? int(v) < int(all) : v < all;  // source: the word is signed
    if (rest == mask)
      all = v;
    else if (op == operation::warp_add)
      all += v;
    else if (op == operation::warp_min)
      all = less ? v : all;
    else if (op == operation::warp_max)
      all = less ? all : v;
    else if (op == operation::warp_and || op == operation::all)
      all &= v;
    else if (op == operation::warp_or || op == operation::any)
      all |= v;
    else
      all ^= v;
  }
  for (lane_mask rest = mask; rest; rest &= rest - 1) std::memcpy(lanes[lowest_bit(rest)].result, &all, sizeof all);
}

/// Thread t reaches a collective of its warp with an operand of this many bytes. The last of the lanes in the mask to
/// arrive computes the results of all.
inline void warp_collective(const thread_ref& t, operation op, lane_mask mask, const place& at, const void* operand,
                            void* result, unsigned bytes, int source) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  if (b.owner->stop_if_failed()) return;
  const int first = t.thread / warp_size * warp_size;
  thread_record& r = t.record();
  r.operand = operand;
  r.result = result;
  r.bytes = bytes;
  r.source = source;
  const bool last = arrive_in_warp(t, op, mask, at);
  // Of all collectives only sync_warp orders memory in CUDA, so only it does for ThreadSanitizer.
  const bool orders_memory = op == operation::sync_warp;
  const int leader = first + lowest_bit(mask);
  unsigned char& count = b.warp_syncs[leader];
  std::uint64_t* clock = &b.warp_clock[leader * 2 + (count & 1u)];
  if (orders_memory) sanitizer::release(clock);
  if (last) {
    const thread_record* lanes = &b.thread[std::size_t(first)];
    if (op == operation::match_any)
      match(lanes, mask);
    else if (op >= operation::shuffle && op <= operation::shuffle_xor)
      exchange(lanes, mask);
    else if (op == operation::ballot)
      vote(lanes, mask);
    else if (op != operation::sync_warp)
      combine(lanes, mask, op);
    if (orders_memory) ++count;
    b.warp[t.thread / warp_size].in_collective &= ~mask;
    b.make_ready(t.thread / warp_size, mask);
    b.owner->made_progress();
  }
  b.owner->suspend(t);
  if (orders_memory) sanitizer::acquire(clock);
  r.waits_in = operation::nothing;
}

/// Thread t polls: others go first.
inline void spin(const thread_ref& t, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  if (b.owner->stop_if_failed()) return;
  thread_record& r = t.record();
  r.waits_in = operation::spin;
  if (!same_place(r.spun_at, at)) b.owner->made_progress();  // another loop: the previous one has ended
  r.at = r.spun_at = at;
  b.warp[t.thread / warp_size].spinning |= lane_mask(1) << t.thread % warp_size;
  b.spinning_warps |= 1u << t.thread / warp_size;
  b.owner->suspend(t);
  r.waits_in = operation::nothing;
}

/// Thread t asks which lanes of its warp are at the same place with it: worker::gather says when.
inline lane_mask active_lanes(const thread_ref& t, const place& at) {
  const sanitizer::unobserved scope;
  block_record& b = *t.block;
  if (b.owner->stop_if_failed()) return lane_mask(1) << t.thread % warp_size;
  thread_record& r = t.record();
  r.waits_in = operation::active_lanes;
  r.at = at;
  b.warp[t.thread / warp_size].gathering |= lane_mask(1) << t.thread % warp_size;
  b.owner->suspend(t);
  r.waits_in = operation::nothing;
  return r.mask;
}

// ---- Launch --------------------------------------------------------------------------------------------------------

/// Workers that no launch uses just now. Their stacks are the expensive part of a launch.
class worker_pool {
public:
  static worker_pool& instance() {
    static worker_pool pool;
    return pool;
  }
  std::unique_ptr<worker> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<worker>();
    auto w = std::move(idle_.back());
    idle_.pop_back();
    return w;
  }
  void give_back(std::unique_ptr<worker> w) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(w));
  }

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<worker>> idle_;
};

inline int workers_for(const grid& g) {
  static const int cores = std::max(1, int(std::thread::hardware_concurrency()));
  std::int64_t wanted = g.options.threads;
  if (wanted == 0) {
    // An OS thread takes as long to start as some thousand emulated threads take to run.
    constexpr std::int64_t worth_a_worker = sanitizer::thread ? 1 : 2048;
    wanted = std::min<std::int64_t>(cores, 1 + g.blocks * g.threads / worth_a_worker);
  }
  if constexpr (sanitizer::thread) wanted = std::min<std::int64_t>(wanted, 3);  // it can tell 8128 threads apart
  return int(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, g.clusters)));
}

/// Runs all blocks of g; returns when they have finished, throws what ended them early.
inline void run_grid(grid& g) {
  if (g.blocks == 0) return;
  g.workers = workers_for(g);
  g.rounds = std::vector<std::atomic<std::uint64_t>>(std::size_t(g.workers));
  sanitizer::release(&g.begin_clock);
  auto work = [&g](int rank) {
    try {
      auto w = worker_pool::instance().take();
      w->run(g, rank);
      worker_pool::instance().give_back(std::move(w));
    } catch (...) {
      g.fail(std::current_exception());
    }
  };
  {
    std::vector<std::jthread> helpers;
    helpers.reserve(std::size_t(g.workers));
    try {
      for (int rank = 1; rank < g.workers; ++rank) helpers.emplace_back(work, rank);
    } catch (const std::system_error&) {  // the system has no more threads: the others do the work
      for (std::size_t rank = helpers.size() + 1; rank < g.rounds.size(); ++rank) g.rounds[rank] = grid::finished;
    }
    work(0);
  }
  g.rethrow_failure();
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
