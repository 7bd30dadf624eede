# SPDX-License-Identifier: Apache-2.0
#
# Everything that is done with this repository is a target here; "make help" lists them. Each target
# sees to its own set-up (tools/setup), and needs a Swift toolchain and nothing else.

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
# A unit of the system lies in a folder of its own once it is installed, as a user's does here already.
installed_unit = $(if $(filter user/%,$(1)),$(USERUNITDIR)/$(notdir $(1)),$(SYSTEMUNITDIR)/$(1))
# A page's number says which folder it belongs into.
installed_page = $(MANDIR)/man$(subst .,,$(suffix $(1)))/$(1)
DOCUMENTS = README.md NEWS.md config/example.protocol $(wildcard docs/*.md)

FUZZ_SECONDS ?= 60
# All, if none is named.
FUZZ_TARGETS ?=

RELEASE := .build/release
# What the tests drive, unoptimised.
DEBUG := .build/tests/debug
# What is made of the table of options and the configuration, beside the programs.
MANUAL := $(RELEASE)/manual.d
PAGES := tribunectl.1 tribuned.8 tribune-logind.8 tribune-web.8 tribune-nats.8 tribuned.conf.5 tribune-policy.5 \
  tribune-varlink.7
SHELLS := bash zsh fish
PROGRAMS := tribuned tribunectl tribune-logind tribune-web tribune-nats
MADE := $(addprefix $(RELEASE)/,$(PROGRAMS)) $(PAGES:%=$(MANUAL)/%) $(SHELLS:%=$(MANUAL)/tribunectl.%)
# What keeps an idle daemon small: the parts of libstdc++ that are used instead of all of it, found first in
# a folder where there is no other; and relocations packed (glibc 2.36), of which there are half a megabyte.
# What is called in shared libraries is found at the start, so that nobody can write to the table of it later.
STATIC_LIBRARIES := .build/static-libraries
LINK_FLAGS := -Xswiftc -use-ld=lld -Xlinker -L$(STATIC_LIBRARIES) -Xlinker -z -Xlinker pack-relative-relocs \
  -Xlinker -z -Xlinker now
# All targets of a program are optimised together, an option that SwiftPM calls experimental: an ask costs the daemon 16 %
# fewer instructions. Without frame pointers, a profiler has to unwind by the debugging information.
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
# Newer than all that the programs are made of, and gone when they are. A folder is newer than what was taken out of it.
BUILT := $(RELEASE)/programs.built
PROGRAM_SOURCES := Makefile Package.swift $(shell find Sources docs/man config/tribuned.conf)
SIMULATION := .build/simulation/release/simulate
SIMULATE_OPTIONS = $(SIMULATE_SEED:%=--seed=%) $(SIMULATE_STEPS:%=--steps=%) $(SIMULATE_SECONDS:%=--seconds=%)
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard Examples Benchmarks)

.PHONY: build demo demo-host demo-cluster test build-tests build-c test-release unit test-all test-python test-c test-web test-cluster wheel bench-quick bench-python bench-cluster simulate simulate-debug test-threads test-threads-build test-systemd test-systemd-build examples check wire fmt bench fuzz fuzz-corpus docs install uninstall deb clean help

## build      the release programs, in .build/release
build: $(BUILT)

# Links all of them at once: a link takes as long as all that is compiled, and one processor.
$(BUILT): $(PROGRAM_SOURCES)
	@tools/setup build
	@# What is edited meanwhile is newer than this.
	@mkdir -p .build && touch .build/programs.begun
	$(call link_programs,$(PROGRAMS) manual)
	$(call make_manual,$(RELEASE))
	@mv .build/programs.begun $@

## demo       a prune that a running restore forbids, start to end, with the real programs
demo:
	@tools/setup build demo
	$(call link_programs,tribuned tribunectl)
	Examples/demo/prune-demo $(RELEASE)

## demo-host  a backup that neither a reboot nor an upgrade disturbs, in a container with a real systemd (as root)
demo-host: build
	@tools/setup test-systemd deb
	Examples/demo/host-demo $(RELEASE)

## demo-cluster  a rolling reboot of three hosts, one by one and never two, as docs/CLUSTER.md shows it
demo-cluster: build
	@tools/setup python
	tools/run-tour --programs=$(RELEASE) --section='A rolling reboot' --show docs/CLUSTER.md

## test       unit and integration tests; these drive unoptimised programs, which are built with them
test:
	@tools/setup build test deb python c
	@# Each is compiled in a folder of its own; links and small modules leave a processor idle.
	$(MAKE) --jobs=3 --output-sync=target examples build-tests build-c
	TRIBUNE_BIN_DIR='$(abspath $(DEBUG))' tools/run-tests

build-tests:
	tools/run-tests --build
	$(call make_manual,$(DEBUG))

build-c:
	$(MAKE) -C Clients/C

## test-release  the integration tests that measure the release programs, and their packages (SUITES='.*': all)
test-release: build
	@tools/setup test deb python c
	$(MAKE) --jobs=3 --output-sync=target examples build-tests build-c
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/run-tests $(or $(SUITES),--release)

## unit       the unit tests of one target, quickly: make unit TARGET=TribuneServer
unit:
	@tools/setup build
	tools/run-tests $(or $(TARGET),$(error which? make unit TARGET=TribuneServer))Tests

## test-all   what .ci/run runs, at length, and what takes longer; green before an issue is resolved
test-all:
	.ci/run --all

## test-python  lint, types and tests of the Python client, and Varlink with others' clients, against the release programs
test-python: build
	@tools/setup python
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-python

## test-c     the tests of the C client, against the release programs, also with the sanitizers (VALGRIND=yes: and under valgrind)
test-c: build
	@tools/setup c
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' $(MAKE) -C Clients/C test $(VALGRIND:%=test-valgrind)

## test-web   tribune-web in a browser, scraped by Prometheus, and attacked (PICTURES=docs/pictures makes its pictures anew)
test-web: build
	@tools/setup python web
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' TRIBUNE_PICTURES='$(PICTURES)' tools/test-web

## test-cluster  tribune-nats: hosts with a bus and a gateway each, real servers of NATS, and links that are cut
test-cluster: build
	@tools/setup cluster
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-cluster $(CLUSTER_OPTIONS)

## wheel      the Python client as a wheel, in .build/python/dist
wheel:
	@tools/setup python
	tools/build-wheel .build/python/dist

## test-threads  the client library's tests, and those of its system calls, with the thread sanitizer
test-threads:
	@tools/setup build sanitizers
	tools/test-threads

# Only builds them, beside other tests.
test-threads-build:
	@tools/setup build sanitizers
	tools/test-threads --build

## simulate   a bus, its clients and its deaths, all in one process and from one number (SIMULATE_SEED= of one life,
##            SIMULATE_STEPS=1000000 SIMULATE_SECONDS=3600)
simulate: $(SIMULATION)
	$(SIMULATION) $(SIMULATE_OPTIONS)

## simulate-debug  the same, unoptimised: soon built where the tests are, and some six times slower
simulate-debug:
	@tools/setup build
	TRIBUNE_TARGETS=simulate swift build --product simulate --scratch-path .build/tests
	.build/tests/debug/simulate $(SIMULATE_OPTIONS)

.PHONY: $(SIMULATION)
$(SIMULATION):
	@tools/setup build
	TRIBUNE_TARGETS=simulate swift build --configuration release --static-swift-stdlib --scratch-path .build/simulation

## test-systemd  the units under a real systemd, in containers (as root)
test-systemd: build
	@tools/setup test-systemd deb python
	$(call link_programs,crowd)
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/test-systemd

# Only makes the file systems of the containers, beside other work.
test-systemd-build:
	@tools/setup test-systemd
	tools/test-systemd --build

## examples   the programs in Examples
examples:
	@tools/setup build
	swift build --package-path Examples

## wire       what is made from docs/tribune.wire: codecs, the dissector's tables, those of the documents
wire:
	@tools/setup build
	tools/make-wire

## check      formatting, lint, the rules of the house (CONTRIBUTING.md), documentation, whether make wire was run
check:
	@tools/setup build check
	tools/make-wire --check
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	tools/check-house --self-test
	tools/check-house
	$(MAKE) -C Clients/C check
	tools/build-docs .build/docs

## fmt        puts the sources into the format that check demands
fmt:
	@tools/setup check
	swift format format --in-place --recursive $(SWIFT_SOURCES)
	$(MAKE) -C Clients/C fmt

## bench      measures the bus beside others, into docs/benchmarks (BENCH_OPTIONS=)
bench: build
	@tools/setup bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --output=docs/benchmarks $(BENCH_OPTIONS)

## bench-quick  the same in short, to see that it works
bench-quick: build
	@tools/setup bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --quick

## bench-python  compares posts a second of the Python client with nats-py and dbus-fast
bench-python: build
	@tools/setup bench python
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' PYTHONPATH=Clients/Python/src \
	  .build/python/bin/python Clients/Python/benchmarks/compare.py

## bench-cluster  compares questions and posts between hosts with what NATS does by itself
bench-cluster: build
	@tools/setup cluster
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' PYTHONPATH=Clients/Python/src \
	  .build/python/bin/python Benchmarks/Cluster/compare.py

## fuzz       feeds decoders, parsers and the bus with what nobody would send, and checks every access (FUZZ_SECONDS=60)
fuzz:
	@tools/setup build sanitizers c
	Tests/Fuzzing/run $(FUZZ_OPTIONS) $(FUZZ_SECONDS) $(FUZZ_TARGETS)
	$(if $(FUZZ_TARGETS),,$(MAKE) -C Clients/C fuzz FUZZ_SECONDS=$(FUZZ_SECONDS))

## fuzz-corpus  the same, and keeps what it finds in Tests/Fuzzing/Corpus, to be committed
fuzz-corpus:
	@tools/setup build sanitizers
	Tests/Fuzzing/run --grow $(FUZZ_SECONDS) $(FUZZ_TARGETS)

## docs       the library's documentation, in .build/docs
docs:
	@tools/setup build
	tools/build-docs .build/docs

$(MADE):
	$(MAKE) build

# installs A to B, a file, with what depends on where things are
fill = sed 's|@bindir@|$(BINDIR)|g; s|@confdir@|$(CONFDIR)|g; s|@datadir@|$(DATADIR)|g' $(1) \
  | install -m 0644 /dev/stdin '$(DESTDIR)$(2)'
# The same for a man page, in which \- is what can be copied into a shell as -. A folder that does not move is /\&etc there.
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

## uninstall  takes back what install put there; the configuration stays if it was changed, delegates, protocols and policies stay
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

## deb        Debian packages of what install would put there, and of the clients, in .build/deb
deb: build
	@tools/setup deb
	tools/build-deb $(RELEASE) $(DEB)

clean:
	rm -rf .build Benchmarks/.build Examples/.build Tests/Fuzzing/.build

help:
	@sed -n 's/^##      /            /p; s/^## /  make /p' Makefile
