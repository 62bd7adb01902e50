# The commands of the project. `make run` and `make test` need only a Debian 12 with make. Paths in
# the recipes are relative to this folder or quoted, because the checkout's path may contain spaces.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:

PORT ?= 8000
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
KILLS ?= 1500
INSTANCES ?= 3
FAULTS ?=
ROUNDS ?= 1
SCHEDULES ?= 1000000
SEED ?= 1
MUTATED ?= src_api engine_run
COUNT ?= 80
BUILD := build/release
PYTEST := /usr/bin/python3 -m pytest -c t/pytest.ini
# HTTP tests wait much of the time, so several files of them run at once, each in one process.
FILES_AT_ONCE ?= 2
PYTEST_FILES := $(PYTEST) -n $(FILES_AT_ONCE) --dist loadfile

.PHONY: deps build serving docs ui module install deb run test test-scale check prove prove-scale prove-broken bench-peers mutants bench bench-scale conformance lint asan tsan fuzz clean

# The packages of all targets, except those of `deb` and of the chart's checks; each target also installs its own.
deps:
	cmake/install-packages.sh build docs test lint fuzz bench sanitizer check cache scale

# $(call build,TARGETS)   TARGETS empty: everything except tests, benchmarks and fuzzers.
define build
	cmake/install-packages.sh build
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release
	ninja -C $(BUILD) -j $(JOBS) $(1)
	ln -sfn release/ngx_http_agent_graph_module.so build/ngx_http_agent_graph_module.so
	ln -sfn release/graphs build/graphs
	ln -sfn release/agent-extract build/agent-extract
endef

# Builds build/ngx_http_agent_graph_module.so, the sample graphs in build/graphs/ and the programs.
build:
	$(call build)

# Installs the viewers of /docs and /redoc in build/docs/. They are optional, so this never fails.
docs:
	cmake/install-packages.sh --optional docs
	cmake/install-docs-viewers.sh

# Builds Studio, the page below /ui/, in build/ui.
ui:
	cmake/install-packages.sh docs
	cmake/build-ui.sh

# make module NGINX_SRC=DIR [STATIC=1] [NGINX_CONFIGURE="--with-..."]: builds with any nginx source
# tree. The result is in build/nginx-<tree>-dynamic/objs/ (-static with STATIC=1): the module, or an
# nginx that contains it, and next to it agent-extract.
module:
	@test -n '$(NGINX_SRC)' || { echo 'usage: make module NGINX_SRC=DIR [STATIC=1]' >&2; exit 2; }
	cmake/install-packages.sh compiler
	JOBS='$(JOBS)' cmake/build-with-nginx.sh '$(NGINX_SRC)' '$(if $(STATIC),static,dynamic)' $(NGINX_CONFIGURE)

# make install [DESTDIR=DIR] [PREFIX=/usr/local]: installs the module in nginx's folder of modules,
# and programs, headers, schemas, documents and samples below PREFIX (see cmake/Install.cmake).
# DESTDIR is put before all paths. Run `make docs ui` before it to install the viewers of /docs and
# Studio, too.
PREFIX ?= /usr/local
install: build
	root='$(DESTDIR)'; DESTDIR=$${root:+$$(realpath -m -- "$$root")} cmake --install $(BUILD) --prefix '$(PREFIX)'

# Builds the Debian packages in build/deb and checks them with lintian. packaging/test-deb.sh tries
# them in a clean chroot.
deb:
	cmake/install-packages.sh build deb
	$(MAKE) docs ui
	JOBS='$(JOBS)' packaging/build-deb.sh

# Builds only what `make run` needs: the module, the programs beside it, the samples in JSON, and the
# sample in C++ that AGENT names, such as graphs/react.so:app.
agent_module := $(firstword $(subst :, ,$(AGENT)))
cpp_samples := $(patsubst conf/graphs/%.cc,graphs/%.so,$(wildcard conf/graphs/*.cc))
serving:
	$(call build,serving $(filter $(agent_module) $(subst .,/,$(agent_module)).so,$(cpp_samples)))

# Serves the sample agent in the foreground on 127.0.0.1:$(PORT); Ctrl-C ends it. The viewers of /docs
# and Studio are fetched and built where npm is there already; `make docs ui` also installs npm, which
# takes a while.
run: serving
	@cmake/install-docs-viewers.sh
	@cmake/build-ui.sh --optional
	@PORT='$(PORT)' exec conf/run.sh

# $(call test_programs): what the tests talk to.
define test_programs
	cmake/install-packages.sh test
	cmake/install-mock-provider.sh
	cmake/install-clients.sh
	cmake/install-docs-viewers.sh
	cmake/build-ui.sh
	cmake/install-npm-programs.sh t/ui build/ui-tests
	cmake/install-npm-programs.sh t/conformance build/conformance
endef

# The HTTP tests run on one host with LevelDB. These also run on three hosts with PostgreSQL, behind
# haproxy; `make test-scale` does that with all of them.
scale := --checkpointer=postgres --files=pg
scale_sample := $(addprefix t/http/test_,threads.py shared_thread.py run_stream.py facade_owners.py)

test: build
	$(call test_programs)
	ninja -C $(BUILD) -j $(JOBS) unit_tests benchmarks
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) --no-tests=error
	$(PYTEST_FILES) t/http t/faults t/hosts t/ui
	$(PYTEST_FILES) $(scale_sample) $(scale) --hosts=3
	@echo 'make test: all unit and http tests passed'

# The HTTP tests with PostgreSQL behind them: on one host, and on three.
test-scale: build
	$(call test_programs)
	ninja -C $(BUILD) -j $(JOBS) test_graphs
	$(PYTEST_FILES) t/http t/faults $(scale)
	$(PYTEST_FILES) t/http $(scale) --hosts=3

# Every check of the project; `make check STAGES="format tidy"` runs a part (see cmake/check.sh).
check:
	JOBS='$(JOBS)' cmake/check.sh $(STAGES)

# Proves what docs/operations.md promises of runs ("What survives what"): the simulation with SCHEDULES
# schedules from SEED on, then KILLS kills of processes of real nginx instances.
prove: build
	cmake/install-packages.sh test
	ninja -C $(BUILD) -j $(JOBS) prove_simulation t/graphs/proving.so
	$(BUILD)/prove_simulation --schedules '$(SCHEDULES)' --seed '$(SEED)' --jobs '$(JOBS)'
	/usr/bin/python3 t/prove/prove.py '$(KILLS)' '$(SEED)' --instances '$(INSTANCES)'

# Strikes three hosts, their network and their PostgreSQL with FAULTS (default: all; see
# t/prove_scale/faults.py), ROUNDS times each, and checks what docs/scale-out.md promises. With all faults,
# also lets Patroni lead the servers. Needs root.
prove-scale: build
	cmake/install-packages.sh test scale
	/usr/bin/python3 t/prove_scale/prove_scale.py $(FAULTS) --rounds '$(ROUNDS)'
	$(if $(FAULTS),,/usr/bin/python3 t/prove_scale/prove_scale.py --patroni --rounds '$(ROUNDS)')

# Shows that `make prove` can fail: builds copies of the code that are broken in one place each, such as one
# without the check of the lease's epoch, and expects the simulation and the harness to find each (an hour).
prove-broken:
	cmake/install-packages.sh build test
	/usr/bin/python3 t/prove/broken_copies.py

# Changes COUNT places of each group in MUTATED, chosen by SEED, and lists the changes that no unit test
# notices (t/mutation/).
mutants:
	cmake/install-packages.sh build test
	cmake -S . -B build/mutation -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold \
	  "-DAGENT_GRAPH_ALONE=$$(tr ' ' ';' <<<'$(MUTATED)')"
	ninja -C build/mutation -j $(JOBS) unit_tests
	/usr/bin/python3 t/mutation/mutate.py build/mutation $(MUTATED) --count '$(COUNT)' --seed '$(SEED)' --jobs '$(JOBS)'

bench:
	cmake/install-packages.sh bench
	$(MAKE) build
	ninja -C $(BUILD) -j $(JOBS) benchmarks
	$(BUILD)/bench/engine_steps
	rm -f $(BUILD)/bench/results
	export BENCH_RESULTS=$(BUILD)/bench/results; \
	/usr/bin/python3 bench/run.py $(BUILD); \
	/usr/bin/python3 bench/growth.py $(BUILD); \
	/usr/bin/python3 bench/tls_provider.py $(BUILD); \
	/usr/bin/python3 bench/access.py $(BUILD); \
	/usr/bin/python3 bench/live.py $(BUILD); \
	/usr/bin/python3 bench/sockets.py $(BUILD); \
	/usr/bin/python3 bench/slow_readers.py $(BUILD); \
	/usr/bin/python3 bench/continuation.py $(BUILD); \
	/usr/bin/python3 bench/readers.py $(BUILD)
	/usr/bin/python3 bench/results.py $(BUILD)/bench/results

# Measures several hosts with one PostgreSQL behind haproxy.
bench-scale:
	cmake/install-packages.sh bench
	$(MAKE) build
	ninja -C $(BUILD) -j $(JOBS) test_graphs
	/usr/bin/python3 bench/scale.py $(BUILD)

# Measures the module beside the Python reference and LangGraph's server, which are installed from PyPI
# in build/peers. They need Python 3.12 or newer; PYTHON names it.
bench-peers:
	cmake/install-packages.sh bench
	$(MAKE) build
	ninja -C $(BUILD) -j $(JOBS) benchmarks
	/usr/bin/python3 bench/peers.py $(BUILD) build/peers

lint:
	cmake/install-packages.sh build lint
	cmake/lint.sh

# Runs the case tables of WebSocket conformance suites against a build with WS /echo, the Autobahn
# testsuite if `wstest` is installed (WSTEST=PATH), and the scenarios of the Model Context
# Protocol's conformance kit.
conformance:
	cmake/install-packages.sh build test
	cmake -S . -B build/echo -G Ninja -DCMAKE_BUILD_TYPE=Release -DAGENT_GRAPH_ECHO=ON -DAGENT_GRAPH_TESTS=OFF
	ninja -C build/echo -j $(JOBS)
	cmake/install-npm-programs.sh t/conformance build/conformance
	AGENT_GRAPH_BUILD=build/echo $(PYTEST) t/http/test_conformance.py t/http/test_mcp_conformance.py \
	  t/http/test_mcp_server_conformance.py

# The tests of `make test` with nginx and everything else under a sanitizer.
asan:
	JOBS='$(JOBS)' cmake/test-with-sanitizer.sh address

tsan:
	JOBS='$(JOBS)' cmake/test-with-sanitizer.sh thread

# Runs each fuzzer for FUZZ_SECONDS.
fuzz:
	JOBS='$(JOBS)' cmake/fuzz.sh '$(FUZZ_SECONDS)'

clean:
	rm -rf build
