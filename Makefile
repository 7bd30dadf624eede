# SPDX-License-Identifier: Apache-2.0
#
# Everything that is done with this repository is a target here; "make help" lists them. Each target
# sees to its own set-up (tools/setup), and needs a Swift toolchain and nothing else.

VERSION := 0.1.0

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR = $(PREFIX)/bin
UNITDIR = $(PREFIX)/lib/systemd
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d
DOCDIR = $(PREFIX)/share/doc/tribune
SYSCONFDIR ?= /etc

RELEASE := .build/release
SWIFT_BUILD := swift build --configuration release --static-swift-stdlib
SWIFT_SOURCES := Package.swift Sources Tests $(wildcard Examples Benchmarks FuzzTesting)
DOCS := README.md NEWS.md docs/ARCHITECTURE.md docs/PROTOCOL.md

.PHONY: build demo test check fmt bench fuzz docs install uninstall clean help

## build      the release programs, in .build/release
build:
	@tools/setup build
	$(SWIFT_BUILD) --product tribuned
	$(SWIFT_BUILD) --product tribunectl

## demo       a prune that a running restore forbids, start to end, with the real programs
demo: build
	@tools/setup demo
	demo/prune-demo $(RELEASE)

## test       every test; the integration tests drive the release programs
test: build
	@tools/setup test
	TRIBUNE_BIN_DIR='$(abspath $(RELEASE))' tools/run-tests

## check      formatting, lint and the rules of the house (CONTRIBUTING.md)
check:
	@tools/setup check
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	tools/check-house --self-test
	tools/check-house

## fmt        puts the sources into the format that check demands
fmt:
	@tools/setup check
	swift format format --in-place --recursive $(SWIFT_SOURCES)

## bench      measures, and prints the ratios that matter
bench: build
	swift run --package-path Benchmarks --configuration release bench

## fuzz       feeds the decoders with what nobody would send (FUZZ_SECONDS=60)
fuzz:
	@tools/setup build
	$(MAKE) -C FuzzTesting run

## docs       the library's documentation, in .build/docs
docs:
	@tools/setup build
	tools/build-docs .build/docs

$(RELEASE)/tribuned $(RELEASE)/tribunectl:
	$(MAKE) build

## install    programs, units, configuration and documents (DESTDIR= PREFIX=/usr/local SYSCONFDIR=/etc)
install: $(RELEASE)/tribuned $(RELEASE)/tribunectl
	tools/install-files install

## uninstall  takes back what install put there; a configuration that was changed stays
uninstall:
	tools/install-files uninstall

clean:
	rm -rf .build Benchmarks/.build FuzzTesting/.build

help:
	@sed -n 's/^## /  make /p' Makefile
