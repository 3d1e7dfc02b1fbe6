# make            builds; `make demo` shows it; `make test` tests it; `make help` lists everything.
# Each target does its own set-up on a Debian 12 that has the Swift toolchain: packages, Python environments.

PREFIX ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
BINARIES ?= .build/release
JOBS ?= $(shell nproc)
RUNS ?= 1000000
KILLS ?= 500
FAULTS ?= 500
ROUNDS ?= 100000
SENDS ?= 1000000
HOSTILE ?= 30
CLIENTS ?= 10000
RATE ?= 10

PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
VENV := build/venv
EIO4 := $(VENV)/eio4/stamp
EIO3 := $(VENV)/eio3/stamp
WAMP := $(VENV)/wamp/stamp
EXAMPLES := $(VENV)/examples/stamp
NGINX := build/nginx/usr/sbin/nginx
PROMTOOL := build/prometheus/usr/bin/promtool

SYSTEM_UNITS ?= $(PREFIX)/lib/systemd/system
USER_UNITS ?= $(PREFIX)/lib/systemd/user
UNITS := $(foreach name,gatewayd.service gatewayd.socket,$(SYSTEM_UNITS)/$(name) $(USER_UNITS)/$(name))
INSTALLED := sbin/gatewayd bin/gatewayctl lib/sysusers.d/gatewayd.conf lib/tmpfiles.d/gatewayd.conf \
	lib/systemd/catalog/gatewayd.catalog
# Where each shell looks for what packages bring.
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d
COMPLETIONS := bash:$(BASH_COMPLETIONS)/gatewayctl zsh:$(ZSH_COMPLETIONS)/_gatewayctl fish:$(FISH_COMPLETIONS)/gatewayctl.fish
MANUALS := $(wildcard docs/man/*.[1-8])

.DELETE_ON_ERROR:
.PHONY: build release test test-unit test-integration matrix check lint documents autobahn demo demo-fleet picture bench bench-names profile profile-names order costs soak flood hostile hostile-short fuzz install install-files uninstall deb test-service service-packages sanitize \
	sanitize-thread sanitize-address kill-loop fleet-loop fleet-failures restart-load packages packaging-tools environments clean help

build: packages ## both programs, with debug information
	swift build

release: packages ## both programs, optimised, with the Swift runtime inside
	swift build -c release --static-swift-stdlib

test: build environments service-packages ## every test; the last line counts them. Those of the service need root and the release build
	@Tests/run all

test-unit: build ## the tests of the parts, without processes and network
	@Tests/run unit

test-integration: build environments ## the tests of the real programs against real servers
	@Tests/run integration

test-service: service-packages ## the packages in a Debian that boots, under systemd; as root, and skipped with the reason where that cannot be
	@Tests/run service

# The packages that the tests of the service install: those of GATEWAY_DEB_DIR, or made anew when something in them has
# changed, or none where no system can be booted. Tools that cannot be installed are a reason for that.
service-packages: $(EIO4)
	@[ "$$(id -u)" != 0 ] || packaging/install-debian-packages packaging/debian-packaging-tools.txt || :
	@[ -n "$(GATEWAY_DEB_DIR)$$($(PYTHON) Tests/Service/boot.py --reason)" ] || $(MAKE) --no-print-directory build/deb/stamp

matrix: build environments ## every server, transport, TLS and proxy with every other; prints the table
	@$(VENV)/eio4/bin/python -m pytest Tests/IntegrationTests/test_matrix.py -q -n $(JOBS)

check: packages lint costs test ## what has to pass before a commit

lint: ## formatting, that no layer is used from below, that tests stand beside what they test, that decisions exist, and that the architecture names what is there
	swift format lint -s -r Package.swift Sources Tests clients/swift
	@$(PYTHON) Tests/layers.py
	@$(PYTHON) Tests/mirror.py
	@$(PYTHON) Tests/decisions.py
	@$(PYTHON) Tests/ways.py

documents: packages ## writes what the documents say about the settings, from the table that the daemon reads them with, the pages of the commands of gatewayctl, and gatewayd-protocol(7)
	GATEWAY_WRITE_DOCUMENTS=1 swift test --filter "SettingDocumentsTests|CommandPagesTests"
	swift build --product gatewayd
	$(PYTHON) Tests/protocol_page.py --write

demo: release $(EIO4) ## a short tour with a real server; checks what it shows
	@$(VENV)/eio4/bin/python demo/demo.py --bin .build/release

demo-fleet: release $(EIO4) ## the same of three hosts that share one connection by Redis, and of the death of one
	@$(VENV)/eio4/bin/python demo/fleet.py --bin .build/release

picture: release $(EXAMPLES) ## makes docs/picture.svg, with which README.md begins, from a session of the real programs
	$(VENV)/examples/bin/python docs/picture.py --bin .build/release

bench: bench-names release $(EIO4) ## measures against the peers, installs those that are missing, and rewrites Benchmarks/RESULTS.md; about an hour, ONLY="--rounds 1" a quarter of one, ONLY="P1 P3" selects
	Benchmarks/run --install --no-build $(ONLY)

profile: profile-names release ## where the daemon's time goes under a benchmark's load, by perf; ONLY="P1 P6@50" selects
	Benchmarks/profile --install --no-build $(ONLY)

# What does not exist is said before anything is built.
bench-names: packages
	@Benchmarks/run --check $(ONLY)

profile-names: packages
	@Benchmarks/profile --check $(ONLY)

order: release $(EIO4) ## writes packaging/*.order: the functions that the linker puts together, because the programs run them
	$(VENV)/eio4/bin/python packaging/order-functions .build/release
	@rm .build/release/gatewayd .build/release/gatewayctl # the next build links them anew: SwiftPM does not know of the files

costs: release ## counts instructions, allocations and system calls; fails where they have grown
	Benchmarks/costs --no-build

soak: release environments ## ROUNDS=100000 forced reconnects: memory, descriptors and threads must stay flat
	@GATEWAY_BIN_DIR=.build/release $(VENV)/eio4/bin/python Tests/IntegrationTests/soak.py $(ROUNDS)

flood: release environments ## SENDS=1000000 durable sends while the upstream is down: memory and disk stay within the limits
	@GATEWAY_TEST_PATIENCE=10 GATEWAY_BIN_DIR=.build/release $(VENV)/eio4/bin/python Tests/IntegrationTests/flood.py $(SENDS)

hostile: release environments ## hostile servers and programs all at once for HOSTILE=30 seconds: what the others notice, within bounds; ONLY="junk" selects
	@GATEWAY_BIN_DIR=.build/release $(VENV)/eio4/bin/python Tests/IntegrationTests/hostile_load.py $(HOSTILE) $(if $(ONLY),"$(ONLY)")

hostile-short: release environments ## six seconds of the same in the release build, whose turns may take 10 ms
	@GATEWAY_BIN_DIR=.build/release $(VENV)/eio4/bin/python -m pytest Tests/IntegrationTests/test_hostile_load.py -q -k all_at_once

sanitize: sanitize-thread sanitize-address ## the unit and the integration tests under the thread and the address sanitizer

sanitize-thread sanitize-address: sanitize-%: packages environments
	swift build --build-tests --sanitize=$* --scratch-path .build/$*
	ASAN_OPTIONS=detect_leaks=0 GATEWAY_SANITIZE=$* GATEWAY_TEST_PATIENCE=4 Tests/run all

kill-loop: build environments ## kills the daemon KILLS times while it promises sends, and KILLS times each under subscribers and (restarts too) under programs with the client libraries
	cd Tests/IntegrationTests && for loop in kill_loop subscriber_loop client_loop; do \
		GATEWAY_BIN_DIR=$(or $(GATEWAY_BIN_DIR),$(CURDIR)/.build/debug) \
		$(CURDIR)/$(VENV)/eio4/bin/python $$loop.py --rounds $(KILLS) || exit 1; done

fleet-loop: build environments ## FAULTS=500 rounds of random faults under three hosts that share a link by Redis (COPIES=1: with replicas, and fails over): what was promised against what the server has
	cd Tests/IntegrationTests && GATEWAY_BIN_DIR=$(or $(GATEWAY_BIN_DIR),$(CURDIR)/.build/debug) \
		$(CURDIR)/$(VENV)/eio4/bin/python fleet_loop.py --rounds $(FAULTS) $(if $(SEED),--seed $(SEED)) $(if $(COPIES),--copies $(COPIES))

fleet-failures: release environments ## each fault of docs/fleet.md, three times, and what a program sees of it and when (ONLY='holder dies' selects rows by a word of their name). As root; takes a quarter of an hour
	@GATEWAY_BIN_DIR=$(or $(GATEWAY_BIN_DIR),$(CURDIR)/.build/release) $(VENV)/eio4/bin/python \
		Tests/IntegrationTests/fleet_failures.py $(if $(ONLY),--only '$(ONLY)')

restart-load: release environments ## ten restarts of the service under CLIENTS=10000 subscribers: nothing lost or doubled, memory flat; RATE=10 events a second
	@GATEWAY_BIN_DIR=.build/release $(VENV)/eio4/bin/python Tests/IntegrationTests/restart_load.py --clients $(CLIENTS) --rate $(RATE)

autobahn: packages ## the Autobahn test suite judges the WebSocket client; needs Python 2.7 and some minutes
	swift build --build-tests
	$(PYTHON) Tests/Autobahn/run $(CASES)

fuzz: packages ## each fuzz target for RUNS=1000000 runs; a finding is kept and replayed by the tests
	for target in $(sort $(notdir $(wildcard Tests/Fuzz/corpus/*))); do Tests/Fuzz/run $$target $(RUNS) || exit 1; done

install: release install-files ## into PREFIX=/usr/local, or below DESTDIR; without DESTDIR also makes the accounts
ifeq ($(DESTDIR),)
	systemd-sysusers $(PREFIX)/lib/sysusers.d/gatewayd.conf
	systemd-tmpfiles --create $(PREFIX)/lib/tmpfiles.d/gatewayd.conf
	journalctl --update-catalog
	@echo "next: edit $(SYSCONFDIR)/gatewayd/gatewayd.toml, then: systemctl daemon-reload && systemctl enable --now gatewayd.socket gatewayd.service"
endif

install-files:
	install -D -m 755 $(BINARIES)/gatewayd $(DESTDIR)$(PREFIX)/sbin/gatewayd
	install -D -m 755 $(BINARIES)/gatewayctl $(DESTDIR)$(PREFIX)/bin/gatewayctl
	for unit in $(UNITS); do \
		case $$unit in $(USER_UNITS)/*) source=systemd/user/$${unit##*/} ;; *) source=systemd/$${unit##*/} ;; esac; \
		install -D -m 644 /dev/null $(DESTDIR)$$unit && \
		sed 's,/usr/sbin/,$(PREFIX)/sbin/,; s,/usr/bin/,$(PREFIX)/bin/,' $$source > $(DESTDIR)$$unit || exit 1; \
	done
	install -D -m 644 packaging/sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/gatewayd.conf
	install -D -m 644 packaging/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/gatewayd.conf
	install -D -m 644 systemd/gatewayd.catalog $(DESTDIR)$(PREFIX)/lib/systemd/catalog/gatewayd.catalog
	for one in $(COMPLETIONS); do \
		install -D -m 644 /dev/null $(DESTDIR)$${one#*:} && \
		$(BINARIES)/gatewayctl completion $${one%%:*} > $(DESTDIR)$${one#*:} || exit 1; \
	done
	test -e $(DESTDIR)$(SYSCONFDIR)/gatewayd/gatewayd.toml || \
		install -D -m 640 config/gatewayd.toml $(DESTDIR)$(SYSCONFDIR)/gatewayd/gatewayd.toml
	for manual in $(MANUALS); do \
		install -D -m 644 $$manual $(DESTDIR)$(PREFIX)/share/man/man$${manual##*.}/$${manual##*/} || exit 1; \
	done

# The tools of Debian write beside the sources and above them, so they get a copy. With a BINARIES=FOLDER of its own
# nothing is built: the programs, which must not be stripped, come from there. MAKEFLAGS would hand the folder on as it was
# said here, and the rules are made in another one.
deb: packaging-tools $(if $(filter file,$(origin BINARIES)),release) ## the Debian packages, in build/deb, with what lintian says of them; BINARIES=FOLDER packages those programs
	rm -rf build/deb && mkdir -p build/deb/gatewayd
	tar --create --exclude=./.git --exclude=./.build --exclude=./build . | tar --extract --no-same-owner -C build/deb/gatewayd
	cd build/deb/gatewayd && MAKEFLAGS= BINARIES=$(abspath $(BINARIES)) dpkg-buildpackage --build=binary --no-sign >../build.log 2>&1 || \
		{ tail -n 40 ../build.log; exit 1; }
	rm -rf build/deb/gatewayd
	@mkdir build/deb/scratch # lintian leaves files there
	TMPDIR=$(CURDIR)/build/deb/scratch lintian --tag-display-limit 0 build/deb/*.changes | tee build/deb/lintian.log
	@rm -rf build/deb/scratch
	@cd build/deb && touch stamp && ls -l *.deb

# What the tests of the service take, made anew when something in it has changed.
build/deb/stamp: $(shell find Sources debian packaging systemd docs config examples -type f) Package.swift Makefile README.md
	$(MAKE) --no-print-directory deb

uninstall: ## removes what install made, except the configuration
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(INSTALLED)) $(addprefix $(DESTDIR),$(UNITS) $(foreach one,$(COMPLETIONS),$(lastword $(subst :, ,$(one))))) \
		$(foreach manual,$(MANUALS),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(manual)))/$(notdir $(manual)))

packages: build/packages.stamp
packaging-tools: build/packaging-tools.stamp
environments: $(EIO4) $(EIO3) $(WAMP) $(EXAMPLES) $(NGINX) $(PROMTOOL) ## the Python environments with the servers and clients of the tests and benchmarks, and programs of Debian that tests run

build/packages.stamp build/packaging-tools.stamp: build/%.stamp: packaging/debian-%.txt packaging/install-debian-packages
	packaging/install-debian-packages $<
	@mkdir -p $(@D) && touch $@

$(EIO4) $(EIO3) $(WAMP) $(EXAMPLES): $(VENV)/%/stamp: Tests/requirements-%.txt build/packages.stamp
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# The one program of the package, unpacked and not installed: the package would start it as a service.
$(NGINX) $(PROMTOOL): build/packages.stamp
	@mkdir -p build/$(package) && cd build/$(package) && rm -f *.deb && apt-get download -qq -o APT::Sandbox::User=root $(package) && \
		dpkg-deb --fsys-tarfile $(package)_*.deb | tar -xm ./$(@:build/$(package)/%=%) && rm *.deb || \
		echo "$(@F) could not be downloaded: the tests with it are skipped"
$(NGINX) $(PROMTOOL): package = $(word 2,$(subst /, ,$@))

clean: ## removes everything that was built
	rm -rf .build build

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1 \2/p' Makefile | while read -r name text; do \
		printf '  %-18s %s\n' "$$name" "$$text"; done
