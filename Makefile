# The everyday commands; CMake does the work (CMakePresets.json).

PREFIX ?= /usr/local
MINUTES ?= 1
SOAK_MINUTES ?= 10

.PHONY: all build demo check analyze test long bench bench-train bench-serve fuzz soak wheel deb test-deb rpm test-rpm test-docker static test-static install clean help \
    packages test-packages

all: build

packages:
	@tools/install-packages.sh build

test-packages:
	@tools/install-packages.sh build check test python

build: packages
	@test -f build/build.ninja || cmake --preset release >/dev/null
	@ninja -C build --quiet

demo: build
	@tools/demo.sh

define build-with-tests
@grep -qs '^RF_TESTS:BOOL=ON' build/CMakeCache.txt || cmake --preset release -DRF_TESTS=ON >/dev/null
@ninja -C build --quiet
endef

check:
	@tools/install-packages.sh build check
	$(build-with-tests)
	@tests/run.sh check

analyze:
	@tools/install-packages.sh build check
	$(build-with-tests)
	@tools/check-tidy.sh --analyze

test: test-packages
	$(build-with-tests)
	@tests/run.sh

long: test-packages
	$(build-with-tests)
	@tests/run.sh long

bench: build
	@tools/install-packages.sh build bench
	@cd bench && test -d node_modules/onnxruntime-node || npm install --ignore-scripts --no-audit --no-fund
	@build/ringfence encoder get minilm && build/ringfence encoder get minilm-fp32 && build/ringfence encoder get gte-small
	@node bench/encode.mjs

bench-train: build
	@tools/install-packages.sh build peer
	@build/ringfence encoder get minilm
	@/usr/bin/python3 bench/train.py

bench-serve: build
	@tools/install-packages.sh build bench
	@cd bench && test -d node_modules/onnxruntime-node || npm install --ignore-scripts --no-audit --no-fund
	@node bench/serve.mjs

fuzz: test-packages
	@tests/fuzz/run.sh $(MINUTES)

soak: test-packages build
	@tests/serve/models.sh build/serve && SOAK_MINUTES=$(SOAK_MINUTES) node tests/serve/soak.mjs build/serve

wheel: build
	@tools/install-packages.sh build python
	@/usr/bin/python3 bindings/python/backend.py build/wheel

deb:
	@tools/install-packages.sh build package
	@tools/make-deb.sh build/deb

test-deb:
	@tools/install-packages.sh build package
	@tests/packages/deb.sh

rpm:
	@tools/install-packages.sh build package
	@tools/make-rpm.sh build/rpm

test-rpm: build rpm
	@tests/packages/rpm.sh

test-docker: build
	@tools/install-packages.sh package
	@tests/packages/docker.sh

static:
	@tools/install-packages.sh build static
	@test -f build-static/build.ninja || cmake --preset static >/dev/null
	@ninja -C build-static --quiet ringfence_program

test-static: build static
	@tests/packages/static.sh

install: build
	@cmake -DCMAKE_INSTALL_PREFIX=$(PREFIX) build >/dev/null && cmake --install build

clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz build-static

help:
	@echo "make            build the program: build/ringfence"
	@echo "make demo       build, bring the default encoder, train on the sample, classify"
	@echo "make check      for every edit: quick unit tests, layers, clang-format, clang-tidy"
	@echo "make analyze    clang's analyzer over the library and the programs, in minutes"
	@echo "make test       the whole suite; last line: N passed, N failed"
	@echo "make long       more of the tests that draw their cases: an hour and more"
	@echo "make bench      speed beside ONNX Runtime, in one run"
	@echo "make bench-train speed of training beside PyTorch, in one run"
	@echo "make bench-serve the service beside a Node server with ONNX Runtime, in one run"
	@echo "make fuzz       all fuzz targets, each for MINUTES=1"
	@echo "make soak       the service under mixed load for SOAK_MINUTES=10 minutes"
	@echo "make wheel      the Python package with the library, and its source distribution, in build/wheel"
	@echo "make deb        Debian packages, in build/deb"
	@echo "make test-deb   builds, installs, upgrades and purges them in fresh Debian systems; root, minutes"
	@echo "make rpm        RPM packages, in build/rpm; make test-rpm tries them"
	@echo "make test-docker every step of packaging/Dockerfile, with buildah; root, minutes"
	@echo "make static     the program as one file that runs on any Linux: build-static/ringfence; make test-static"
	@echo "make install    program, libraries, header, man pages, pkg-config; PREFIX=/usr/local"
	@echo "make clean      remove what was built"
