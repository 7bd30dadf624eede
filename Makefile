# SPDX-License-Identifier: Apache-2.0
#
# All tasks of this repository are targets here; "make help" lists them. Each target installs what it needs
# (tools/setup); you only need a Swift toolchain.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
DEB ?= .build/deb
BINDIR = $(PREFIX)/bin
UNITDIR = $(PREFIX)/lib/systemd
SYSTEMUNITDIR = $(UNITDIR)/system
USERUNITDIR = $(UNITDIR)/user
CATALOGDIR = $(UNITDIR)/catalog
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d
DATADIR = $(PREFIX)/share/tribune
MANDIR = $(PREFIX)/share/man
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
DOCDIR = $(PREFIX)/share/doc/tribune
EXAMPLEDIR = $(DOCDIR)/examples
CONFDIR = $(SYSCONFDIR)/tribune
CONF_FILES = tribuned.conf logind.conf signals.conf web.conf nats.conf \
  policy.d/50-default.policy policy.d/60-web.policy policy.d/70-nats.policy
CONF_FOLDERS = $(addprefix $(CONFDIR)/,tribuned.conf.d logind.conf.d signals.conf.d web.conf.d nats.conf.d \
  delegates.d protocols.d policy.d)
INSTALL_FOLDERS = $(BINDIR) $(SYSTEMUNITDIR) $(USERUNITDIR) $(CATALOGDIR) $(SYSUSERSDIR) $(DATADIR)/web \
  $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 $(MANDIR)/man8 $(BASHDIR) $(ZSHDIR) $(FISHDIR) $(EXAMPLEDIR)/molly-guard \
  $(EXAMPLEDIR)/apt $(EXAMPLEDIR)/prometheus $(CONF_FOLDERS)
BUS_UNITS = tribuned.service tribuned.socket tribuned-varlink.socket tribuned-keeper.service tribuned-keeper.socket
UNITS = $(BUS_UNITS) tribune-delegates.service tribune-logind.service tribune-web.service tribune-web.socket \
  tribune-nats.service tribune-fleetlock.socket $(BUS_UNITS:%=user/%)
EXAMPLE_UNITS = $(notdir $(wildcard $(addprefix systemd/examples/*.,service socket timer path target conf)))
APT_PROGRAMS = Examples/apt/enable Examples/apt/packages
# System units are in a separate folder once installed, as user units are here.
installed_unit = $(if $(filter user/%,$(1)),$(USERUNITDIR)/$(notdir $(1)),$(SYSTEMUNITDIR)/$(1))
# A page's number selects its folder.
installed_page = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(1)
DOCUMENTS = README.md NEWS.md config/example.protocol $(wildcard docs/*.md)

FUZZ_SECONDS ?= 60
# All by default.
FUZZ_TARGETS ?=

RELEASE := .build/release
# The programs under test, unoptimised.
DEBUG := .build/tests/debug
# Pages and completions, generated from the option table and the configuration.
MANUAL := $(RELEASE)/manual.d
PAGES := tribunectl.1 tribuned.8 tribune-logind.8 tribune-web.8 tribune-nats.8 tribuned.conf.5 tribune-policy.5 \
  tribune-varlink.7
SHELLS := bash zsh fish
PROGRAMS := tribuned tribunectl tribune-logind tribune-web tribune-nats
MADE := $(addprefix $(RELEASE)/,$(PROGRAMS)) $(PAGES:%=$(MANUAL)/%) $(SHELLS:%=$(MANUAL)/tribunectl.%)
# For a small idle daemon: libstdc++ is linked statically, from a folder without the shared one, and the half megabyte
# of relocations is packed (glibc 2.36). "now" resolves shared libraries' functions at the start, after which their
# table is read-only.
STATIC_LIBRARIES := .build/static-libraries
LINK_FLAGS := -Xswiftc -use-ld=lld -Xlinker -L$(STATIC_LIBRARIES) -Xlinker -z -Xlinker pack-relative-relocs \
  -Xlinker -z -Xlinker now
# Optimises all targets of a program together, which SwiftPM calls experimental: an ask takes 16 % fewer of the daemon's
# instructions. Without frame pointers, profilers must unwind by debugging information.
OPTIMIZATION_FLAGS := --experimental-lto-mode=full --omit-frame-pointers
SWIFT_BUILD := swift build --configuration release --static-swift-stdlib $(OPTIMIZATION_FLAGS) $(LINK_FLAGS)
# $(call link_programs,NAMES)
define link_programs
@mkdir -p $(STATIC_LIBRARIES)
@ln -sf "$$(cc -print-file-name=libstdc++.a)" $(STATIC_LIBRARIES)/
TRIBUNE_TARGETS='$(1)' $(SWIFT_BUILD)
endef
# $(call make_manual,FOLDER)
define make_manual
@mkdir -p $(1)/manual.d
$(foreach page,$(PAGES),$(1)/manual page docs/man/$(page).in config/tribuned.conf >$(1)/manual.d/$(page) &&) true
$(foreach shell,$(SHELLS),$(1)/tribunectl completion $(shell) >$(1)/manual.d/tribunectl.$(shell) &&) true
endef
# Newer than all sources of the programs, and deleted with them. Removing a file from a folder updates the folder.
BUILT := $(RELEASE)/programs.built
PROGRAM_SOURCES := Makefile Package.swift $(shell find Sources docs/man config/tribuned.conf)
SIMULATION := .build/simulation/release/simulate
SIMULATE_OPTIONS = $(SIMULATE_SEED:%=--seed=%) $(SIMULATE_STEPS:%=--steps=%) $(SIMULATE_SECONDS:%=--seconds=%)
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard Examples Benchmarks)

.PHONY: build demo demo-host demo-cluster test build-tests build-c test-release unit test-all test-python test-c test-web test-cluster wheel bench-quick bench-python bench-cluster simulate simulate-debug plant-mistakes test-threads test-threads-build test-systemd test-systemd-trees crowd examples check wire fmt bench fuzz fuzz-corpus docs install uninstall deb clean help

## build      the release programs, in .build/release
build: $(BUILT)

# Links all programs at once: linking takes as long as all compilation, on one processor.
$(BUILT): $(PROGRAM_SOURCES)
	@tools/setup build
	@# Edits during the build are newer than this.
	@mkdir -p .build && touch .build/programs.begun
	$(call link_programs,$(PROGRAMS) manual)
	$(call make_manual,$(RELEASE))
	@mv .build/programs.begun $@

## demo       a running restore vetoes a prune, with the real programs
demo:
	@tools/setup build demo
	$(call link_programs,tribuned tribunectl)
	Examples/demo/prune-demo $(RELEASE)

## demo-host  a backup vetoes a reboot and an upgrade, in a container with a real systemd (as root)
demo-host: build
	@tools/setup test-systemd deb
	Examples/demo/host-demo $(RELEASE)

## demo-cluster  a rolling reboot of three hosts, one at a time, from docs/CLUSTER.md
demo-cluster: build
	@tools/setup python
	tools/run-tour --programs=$(RELEASE) --section='A rolling reboot' --show docs/CLUSTER.md

## test       unit and integration tests, with unoptimised programs
test:
	@tools/setup build test deb python c
	@# Each builds in a separate folder. In parallel, they use the processors that links and small modules leave idle.
	$(MAKE) --jobs=3 --output-sync=target examples build-tests build-c
	TRIBUNE_BIN_DIR='$(abspath $(DEBUG))' tools/run-tests

build-tests:
	tools/run-tests --build
	$(call make_manual,$(DEBUG))

build-c:
	$(MAKE) -C Clients/C

## test-release  the integration tests that measure or package the release programs (SUITES='.*': all)
test-release: build
	@tools/setup test deb python c
	$(MAKE) --jobs=3 --output-sync=target examples build-tests build-c
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/run-tests $(or $(SUITES),--release)

## unit       the unit tests of one target, quickly: make unit TARGET=TribuneServer
unit:
	@tools/setup build
	tools/run-tests $(or $(TARGET),$(error which? make unit TARGET=TribuneServer))Tests

## test-all   .ci/run with longer and additional checks; must pass before an issue is resolved
test-all:
	.ci/run --all

## test-python  lint, types and tests of the Python client, and of Varlink with others' clients, against the release programs
test-python: build
	@tools/setup python
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-python

## test-c     the tests of the C client, against the release programs, with and without sanitizers (VALGRIND=yes: and under valgrind)
test-c: build
	@tools/setup c
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' $(MAKE) -C Clients/C test $(VALGRIND:%=test-valgrind)

## test-web   tribune-web in a browser, scraped by Prometheus, and attacked (PICTURES=docs/pictures renews its pictures)
test-web: build
	@tools/setup python web
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' TRIBUNE_PICTURES='$(PICTURES)' tools/test-web

## test-cluster  tribune-nats: several hosts, real NATS servers, and links that are cut
test-cluster: build
	@tools/setup cluster
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-cluster $(CLUSTER_OPTIONS)

## wheel      the Python client as a wheel, in .build/python/dist
wheel:
	@tools/setup python
	tools/build-wheel .build/python/dist

## test-threads  the tests of the client library and its system calls, with the thread sanitizer
test-threads:
	@tools/setup build sanitizers
	tools/test-threads

# Only builds, in parallel with other tests.
test-threads-build:
	@tools/setup build sanitizers
	tools/test-threads --build

## simulate   a bus, its clients and its crashes in one process, from one seed (SIMULATE_SEED= of one run,
##            SIMULATE_STEPS=1000000 SIMULATE_SECONDS=3600)
simulate: $(SIMULATION)
	$(SIMULATION) $(SIMULATE_OPTIONS)

## simulate-debug  the same, unoptimised: quick to build after the tests, and some six times slower
simulate-debug:
	@tools/setup build
	TRIBUNE_TARGETS=simulate swift build --product simulate --scratch-path .build/tests
	.build/tests/debug/simulate $(SIMULATE_OPTIONS)

.PHONY: $(SIMULATION)
$(SIMULATION):
	@tools/setup build
	TRIBUNE_TARGETS=simulate swift build --configuration release --static-swift-stdlib -Xswiftc -DDEBUG \
	  --scratch-path .build/simulation

## plant-mistakes  checks that the simulation or a test notices each mistake in Tests/Simulation/mistakes
plant-mistakes:
	@tools/setup build
	tools/plant-mistakes

## test-systemd  the units under a real systemd, in containers (as root)
test-systemd: crowd
	@tools/setup test-systemd deb python
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-systemd

# What "make test-systemd" needs: a program, and the containers' file systems.
crowd: build
	$(call link_programs,crowd)
test-systemd-trees:
	@tools/setup test-systemd
	tools/test-systemd --build

## examples   the programs in Examples
examples:
	@tools/setup build
	swift build --package-path Examples

## wire       generates code and tables from docs/tribune.wire: codecs, the dissector's and the documents' tables
wire:
	@tools/setup build
	tools/make-wire

## check      formatting, lint, house rules (CONTRIBUTING.md), documentation, and whether make wire was run
check:
	@tools/setup build check
	tools/make-wire --check
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	tools/check-house --self-test
	tools/check-house
	$(MAKE) -C Clients/C check
	tools/build-docs .build/docs

## fmt        formats the sources
fmt:
	@tools/setup check
	swift format format --in-place --recursive $(SWIFT_SOURCES)
	$(MAKE) -C Clients/C fmt

## bench      compares the bus with others, in docs/benchmarks (BENCH_OPTIONS=)
bench: build
	@tools/setup bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --output=docs/benchmarks $(BENCH_OPTIONS)

## bench-quick  the same in short, as a test
bench-quick: build
	@tools/setup bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --quick

## bench-python  compares posts a second of the Python client with nats-py and dbus-fast
bench-python: build
	@tools/setup bench python
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' PYTHONPATH=Clients/Python/src \
	  .build/python/bin/python Clients/Python/benchmarks/compare.py

## bench-cluster  compares questions and posts between hosts with NATS alone
bench-cluster: build
	@tools/setup cluster
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' PYTHONPATH=Clients/Python/src \
	  .build/python/bin/python Benchmarks/Cluster/compare.py

## fuzz       fuzzes decoders, parsers and the bus, with sanitizers (FUZZ_SECONDS=60)
fuzz:
	@tools/setup build sanitizers c
	Tests/Fuzzing/run $(FUZZ_OPTIONS) $(FUZZ_SECONDS) $(FUZZ_TARGETS)
	$(if $(FUZZ_TARGETS),,$(MAKE) -C Clients/C fuzz FUZZ_SECONDS=$(FUZZ_SECONDS))

## fuzz-corpus  the same, and adds to Tests/Fuzzing/Corpus, to be committed
fuzz-corpus:
	@tools/setup build sanitizers
	Tests/Fuzzing/run --grow $(FUZZ_SECONDS) $(FUZZ_TARGETS)

## docs       the library's documentation, in .build/docs
docs:
	@tools/setup build
	tools/build-docs .build/docs

$(MADE):
	$(MAKE) build

# Installs file A as B, with folders filled in.
fill = sed 's|@bindir@|$(BINDIR)|g; s|@confdir@|$(CONFDIR)|g; s|@datadir@|$(DATADIR)|g' $(1) \
  | install -m 0644 /dev/stdin '$(DESTDIR)$(2)'
# The same for a man page, in which \- is a hyphen that can be copied into a shell. A page writes /\&etc for a fixed
# folder.
fill_page = sed 's|/etc/tribune|$(subst -,\\-,$(CONFDIR))|g' $(1) | install -m 0644 /dev/stdin '$(DESTDIR)$(2)'

## install    programs, units, configuration, man pages, completions, the Wireshark dissector, documents and examples
##            (DESTDIR= PREFIX=/usr/local SYSCONFDIR=/etc)
install: $(MADE)
	install -d $(INSTALL_FOLDERS:%='$(DESTDIR)%')
	install -m 0755 $(PROGRAMS:%=$(RELEASE)/%) '$(DESTDIR)$(BINDIR)'
	$(foreach unit,$(UNITS),$(call fill,systemd/$(unit),$(call installed_unit,$(unit))) &&) true
	install -m 0644 systemd/tribune.sysusers '$(DESTDIR)$(SYSUSERSDIR)/tribune.conf'
	install -m 0644 systemd/tribune.catalog '$(DESTDIR)$(CATALOGDIR)'
	$(foreach file,$(CONF_FILES),{ test -e '$(DESTDIR)$(CONFDIR)/$(file)' \
	  || install -m 0644 config/$(notdir $(file)) '$(DESTDIR)$(CONFDIR)/$(file)'; } &&) true
	$(foreach page,$(PAGES),$(call fill_page,$(MANUAL)/$(page),$(call installed_page,$(page))) &&) true
	install -m 0644 $(MANUAL)/tribunectl.bash '$(DESTDIR)$(BASHDIR)/tribunectl'
	install -m 0644 $(MANUAL)/tribunectl.zsh '$(DESTDIR)$(ZSHDIR)/_tribunectl'
	install -m 0644 $(MANUAL)/tribunectl.fish '$(DESTDIR)$(FISHDIR)/tribunectl.fish'
	install -m 0644 tools/tribune.lua tools/tribune-frames.lua '$(DESTDIR)$(DATADIR)'
	install -m 0644 web/* '$(DESTDIR)$(DATADIR)/web'
	install -m 0644 LICENSE $(DOCUMENTS) '$(DESTDIR)$(DOCDIR)'
	install -m 0755 Examples/molly-guard/40-tribune '$(DESTDIR)$(EXAMPLEDIR)/molly-guard'
	install -m 0644 Examples/prometheus/* '$(DESTDIR)$(EXAMPLEDIR)/prometheus'
	install -m 0755 $(APT_PROGRAMS) '$(DESTDIR)$(EXAMPLEDIR)/apt'
	install -m 0644 $(filter-out $(APT_PROGRAMS),$(wildcard Examples/apt/*)) '$(DESTDIR)$(EXAMPLEDIR)/apt'
	$(foreach unit,$(EXAMPLE_UNITS),$(call fill,systemd/examples/$(unit),$(EXAMPLEDIR)/$(unit)) &&) true

## uninstall  removes installed files, except changed configuration, delegates, protocols and policies
uninstall:
	rm -f $(PROGRAMS:%='$(DESTDIR)$(BINDIR)/%')
	rm -f $(foreach unit,$(UNITS),'$(DESTDIR)$(call installed_unit,$(unit))')
	rm -f '$(DESTDIR)$(SYSUSERSDIR)/tribune.conf' '$(DESTDIR)$(CATALOGDIR)/tribune.catalog'
	rm -f $(foreach page,$(PAGES),'$(DESTDIR)$(call installed_page,$(page))')
	rm -f '$(DESTDIR)$(BASHDIR)/tribunectl' '$(DESTDIR)$(ZSHDIR)/_tribunectl' '$(DESTDIR)$(FISHDIR)/tribunectl.fish'
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)'
	$(foreach file,$(CONF_FILES), \
	  ! cmp -s config/$(notdir $(file)) '$(DESTDIR)$(CONFDIR)/$(file)' || rm '$(DESTDIR)$(CONFDIR)/$(file)' &&) true
	$(foreach folder,$(CONF_FOLDERS) $(CONFDIR),! test -d '$(DESTDIR)$(folder)' \
	  || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(folder)' &&) true

## deb        Debian packages of the installation and of the clients, in .build/deb
deb: build
	@tools/setup deb
	tools/build-deb $(RELEASE) $(DEB)

clean:
	rm -rf .build Benchmarks/.build Examples/.build Tests/Fuzzing/.build

help:
	@sed -n 's/^##      /            /p; s/^## /  make /p' Makefile
