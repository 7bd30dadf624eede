# SPDX-License-Identifier: Apache-2.0
#
# Everything that is done with this repository is a target here; "make help" lists them. Each target
# sees to its own set-up (tools/setup), and needs a Swift toolchain and nothing else.

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
BINDIR = $(PREFIX)/bin
UNITDIR = $(PREFIX)/lib/systemd
CATALOGDIR = $(PREFIX)/lib/systemd/catalog
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d
DATADIR = $(PREFIX)/share/tribune
DOCDIR = $(PREFIX)/share/doc/tribune
CONFDIR = $(SYSCONFDIR)/tribune
INSTALL_FOLDERS = $(UNITDIR)/system $(UNITDIR)/user $(CATALOGDIR) $(SYSUSERSDIR) $(DATADIR) $(DOCDIR) $(CONFDIR) \
  $(CONFDIR)/delegates.d $(CONFDIR)/protocols.d
UNITS = tribuned.service tribuned.socket tribune-delegates.service user/tribuned.service user/tribuned.socket
# A unit of the system lies in a folder of its own once it is installed, as a user's does here already.
installed_unit = $(if $(filter user/%,$(1)),$(1),system/$(1))
DOCUMENTS = README.md NEWS.md config/example.protocol docs/ANNOUNCEMENTS.md docs/ARCHITECTURE.md docs/CONVERSATION.md docs/LISTING.md docs/PROTOCOL.md docs/SEMANTICS.md

FUZZ_SECONDS ?= 60

RELEASE := .build/release
# What keeps an idle daemon small: the parts of libstdc++ that are used instead of all of it, found first in
# a folder where there is no other; and relocations packed (glibc 2.36), of which there are half a megabyte.
STATIC_LIBRARIES := .build/static-libraries
LINK_FLAGS := -Xswiftc -use-ld=lld -Xlinker -L$(STATIC_LIBRARIES) -Xlinker -z -Xlinker pack-relative-relocs
SWIFT_BUILD := swift build --configuration release --static-swift-stdlib $(LINK_FLAGS)
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard Examples Benchmarks FuzzTesting)

.PHONY: build demo test examples check fmt bench fuzz docs install uninstall clean help

## build      the release programs, in .build/release
build:
	@tools/setup build
	@mkdir -p $(STATIC_LIBRARIES)
	@ln -sf "$$(cc -print-file-name=libstdc++.a)" $(STATIC_LIBRARIES)/
	$(SWIFT_BUILD) --product tribuned
	$(SWIFT_BUILD) --product tribunectl

## demo       a prune that a running restore forbids, start to end, with the real programs
demo: build
	@tools/setup demo
	demo/prune-demo $(RELEASE)

## test       every test; the integration tests drive the release programs
test: build examples
	@tools/setup test bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --quick
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/run-tests

## examples   the programs in Examples
examples:
	@tools/setup build
	swift build --package-path Examples

## check      formatting, lint, the rules of the house (CONTRIBUTING.md), documentation
check:
	@tools/setup build check
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	tools/check-house --self-test
	tools/check-house
	tools/build-docs .build/docs

## fmt        puts the sources into the format that check demands
fmt:
	@tools/setup check
	swift format format --in-place --recursive $(SWIFT_SOURCES)

## bench      measures the bus beside others, into docs/benchmarks (BENCH_OPTIONS=)
bench: build
	@tools/setup bench
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' Benchmarks/run --output=docs/benchmarks $(BENCH_OPTIONS)

## fuzz       feeds the decoders with what nobody would send (FUZZ_SECONDS=60)
fuzz:
	@tools/setup build
	FuzzTesting/run $(FUZZ_SECONDS)

## docs       the library's documentation, in .build/docs
docs:
	@tools/setup build
	tools/build-docs .build/docs

$(RELEASE)/tribuned $(RELEASE)/tribunectl:
	$(MAKE) build

## install    programs, units, configuration, the Wireshark dissector and documents (DESTDIR= PREFIX=/usr/local SYSCONFDIR=/etc)
install: $(RELEASE)/tribuned $(RELEASE)/tribunectl
	install -d '$(DESTDIR)$(BINDIR)' $(INSTALL_FOLDERS:%='$(DESTDIR)%')
	install -m 0755 $(RELEASE)/tribuned $(RELEASE)/tribunectl '$(DESTDIR)$(BINDIR)'
	$(foreach unit,$(UNITS),sed 's|@bindir@|$(BINDIR)|g; s|@confdir@|$(CONFDIR)|g' systemd/$(unit) \
	  | install -m 0644 /dev/stdin '$(DESTDIR)$(UNITDIR)/$(call installed_unit,$(unit))' &&) true
	install -m 0644 systemd/tribune.sysusers '$(DESTDIR)$(SYSUSERSDIR)/tribune.conf'
	install -m 0644 systemd/tribune.catalog '$(DESTDIR)$(CATALOGDIR)'
	test -e '$(DESTDIR)$(CONFDIR)/tribuned.conf' \
	  || install -m 0644 config/tribuned.conf '$(DESTDIR)$(CONFDIR)/tribuned.conf'
	install -m 0644 tools/tribune.lua '$(DESTDIR)$(DATADIR)'
	install -m 0644 LICENSE $(DOCUMENTS) '$(DESTDIR)$(DOCDIR)'

## uninstall  takes back what install put there; the configuration stays if it was changed, delegates and protocols stay
uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/tribuned' '$(DESTDIR)$(BINDIR)/tribunectl'
	rm -f $(foreach unit,$(UNITS),'$(DESTDIR)$(UNITDIR)/$(call installed_unit,$(unit))')
	rm -f '$(DESTDIR)$(SYSUSERSDIR)/tribune.conf' '$(DESTDIR)$(CATALOGDIR)/tribune.catalog'
	rm -rf '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)'
	$(foreach folder,delegates.d protocols.d,! test -d '$(DESTDIR)$(CONFDIR)/$(folder)' \
	  || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(CONFDIR)/$(folder)' &&) true
	! cmp -s config/tribuned.conf '$(DESTDIR)$(CONFDIR)/tribuned.conf' \
	  || rm '$(DESTDIR)$(CONFDIR)/tribuned.conf'

clean:
	rm -rf .build Benchmarks/.build Examples/.build FuzzTesting/.build

help:
	@sed -n 's/^## /  make /p' Makefile
