#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that ThreadSanitizer, in the emulator, misses each fence that a kernel needs: of every mutant below one fence,
order or barrier is left out, and the call that needs it must end with a data race; without a mutant none does.

The headers are copied and edited so that a variable of the program chooses the mutant: one compilation serves all.
"""
import os
import shutil
import subprocess
import sys

from toolchain import Toolchain, skip

# The call (test/checks/mutants.cpp), the header, what stands there once, and what it becomes; {m} is true for the mutant.
MUTANTS = [
    ("select_in_place", "select/kernel.hpp",
     "if (a.in_place) simt::fence();  // who sees", "if (a.in_place && !{m}) simt::fence();  // who sees"),
    ("select_in_place", "select/kernel.hpp",
     "if (a.in_place) simt::fence();\n", "if (a.in_place && !{m}) simt::fence();\n"),
    ("scan_of_large_elements", "block/tile_state.hpp",
     "simt::store<simt::order::release>(", "if ({m}) simt::store(static_cast<std::uint32_t*>(state_) + slot, 1u);\n"
     "      else simt::store<simt::order::release>("),
    ("scan_of_large_elements", "block/tile_state.hpp",
     "simt::fence();  // the flag is an acquire's", "if (!{m}) simt::fence();"),
    ("scan_of_large_elements", "block/look_back.hpp",
     "block.sync_warp();  // all have read what is written now", "if (!{m}) block.sync_warp();"),
    ("long_segment", "segmented/direct.hpp",
     "simt::atomic_add<simt::order::acq_rel>(a.arrived + first, 1u)",
     "({m} ? simt::atomic_add(a.arrived + first, 1u) : simt::atomic_add<simt::order::acq_rel>(a.arrived + first, 1u))"),
    ("last_block", "block/last_block.hpp",
     "simt::atomic_increment_wrap<Order>(word, others)",
     "({m} ? simt::atomic_increment_wrap(word, others) : simt::atomic_increment_wrap<Order>(word, others))"),
    ("last_block", "block/last_block.hpp",
     "block.sync();\n  if (", "if (!{m}) block.sync();\n  if ("),
    ("sync_grid", "block/sync_grid.hpp",
     "simt::fence();  // on either side", "if (!{m}) simt::fence();  // on either side"),
    ("sync_grid", "block/sync_grid.hpp",
     "simt::fence();\n    after", "if (!{m}) simt::fence();\n    after"),
    ("radix_sort", "block/radix_rank.hpp",
     "count[d] = 0;\n  block.sync_warp();", "count[d] = 0;\n  if (!{m}) block.sync_warp();"),
    ("radix_sort", "block/radix_rank.hpp",
     "block.sync_warp();  // all have read what the last of the peers writes", "if (!{m}) block.sync_warp();"),
    ("row_of_several_warps", "spmv/kernel.hpp",
     "block.sync_warp();  // the parts that one lane has acquired", "if (!{m}) block.sync_warp();  //"),
    ("row_of_several_blocks", "spmv/kernel.hpp",
     "block.sync_warp();  // all have read what thread 0 writes next", "if (!{m}) block.sync_warp();"),
]
RUNS, TRIES = 2, 40  # of each call; a mutant shows where blocks take turns, which two OS threads decide

tools = Toolchain(__doc__)
include = tools.scratch / "include"
shutil.copytree(tools.include, include)
for number, (_, header, text, mutated) in enumerate(MUTANTS, 1):
    path = include / "pmpp" / header
    source = path.read_text()
    if source.count(text) != 1:
        sys.exit(f"{header}: '{text}' stands there {source.count(text)} times, not once: mutants.py must follow it")
    path.write_text(source.replace(text, mutated.replace("{m}", f"(::mutant == {number})")))
chosen = tools.write("mutant.hpp", "inline int mutant = 0;\n")
program = tools.scratch / "mutants"
sanitized = ["-O1", "-g0", "-fsanitize=thread"]
if tools.run([tools.cxx, *sanitized, tools.write("empty.cpp", "int main() {}\n"), "-o", program])[0]:
    skip(f"{tools.cxx} has no ThreadSanitizer")
status, output = tools.run([tools.cxx, "-std=c++20", *sanitized, "-DPMPP_CUDA=0", f"-I{include}", "-include", chosen,
                            tools.root / "test/checks/mutants.cpp", "-o", program, "-pthread"])
if status:
    sys.exit(f"mutants.cpp does not compile:\n{output}")


def run(call, mutant, runs):
    done = subprocess.run([str(program), call, str(mutant), str(runs)], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace",
                          env={**os.environ, "PMPP_EMULATOR_MACHINE": ""})  # sizes are for two multiprocessors
    return done.returncode, done.stdout.strip()


failed = 0
cases = [(call, 0, "") for call in dict.fromkeys(mutant[0] for mutant in MUTANTS)]
cases += [(call, number, f"{header}: {' '.join(text.split())}")
          for number, (call, header, text, _) in enumerate(MUTANTS, 1)]
for call, number, what in cases:
    status, output = run(call, number, TRIES if number else RUNS)
    right = status == 3 and "data race" in output if number else status == 0
    failed += not right
    print(f"{'ok    ' if right else 'FAILED'} {call}" + (f" without {what}" if number else ", as it is"))
    if not right:
        print(f"  | exit status {status}: {output[:600] or 'no fault'}")
print(f"{len(cases)} cases, {failed} failed")
sys.exit(1 if failed else 0)
