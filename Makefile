# SPDX-License-Identifier: Apache-2.0
# Two commands to begin with: `make demo` and `make test`. They install what is missing where they may, or say what is.
# Development itself uses CMake: see CONTRIBUTING.md.

.PHONY: help demo test test-device bench bench-compare bench-sweep tune docs install-deps format clean

help:
	@echo "make demo [DATA=folder]   build and run the demonstration"
	@echo "make test                 build and test everything that this machine can"
	@echo "make test-device [ARGS=...]   every device test, sanitizers and both GPUs, in 10 minutes; ARGS=--help"
	@echo "make bench [ARGS=...]     build and run the benchmarks; a report with pictures in build/bench/report"
	@echo "make bench-compare BEFORE=a.json AFTER=b.json    name what got slower by more than 5 %"
	@echo "make bench-sweep [ARGS=...] [CCCL=folder]    random cases beside the peers, two minutes a family; the worst of each"
	@echo "make tune [ARGS=scan]     sweep the tunings on the GPU at hand; writes build/tune/pmpp_tuning.hpp"
	@echo "make docs                 the reference, in build/docs/html/index.html (doxygen)"
	@echo "make install-deps         install what is missing (apt), or say what is missing"
	@echo "make format               write every source file as clang-format would"
	@echo "make clean                remove build/"

demo:
	@DATA="$(DATA)" scripts/demo.sh

test:
	@scripts/test.sh

test-device:
	@scripts/test-device.sh $(ARGS)

bench:
	@ARGS="$(ARGS)" scripts/bench.sh

bench-compare:
	@python3 scripts/bench_compare.py "$(BEFORE)" "$(AFTER)"

bench-sweep:
	@ARGS="$(ARGS)" CCCL="$(CCCL)" scripts/bench-sweep.sh

tune:
	@scripts/tune.sh $(ARGS)

docs:
	@mkdir -p build/docs
	@doxygen docs/Doxyfile

install-deps:
	@scripts/install-deps.sh

format:
	@python3 test/checks/format.py --fix

clean:
	rm -rf build
