# InstantStart. `make help` prints every target with its sentence.
#
#   make                  build everything into $(B)
#   make SAN=1 test-unit  the same with AddressSanitizer and UBSan, in $(B)/san
#   make CC=clang         the other compiler
#   make V=1              show commands
#   make test-unit T=base_str   only the programs whose names begin so
#
# Directories are globbed: a new file is picked up by being there.
#   core/<layer>/**/*.c        lib<layer>.a; main.c stays out and makes the program
#   tests/unit/<layer>_*_test.c   one criterion program, linked with <layer> and below
#   tests/integration/*_test.c    one program each, linked with everything
#   tests/faults/*_test.c         the same, with core/op compiled with -DCRASHPOINTS
#   tests/{bench,fuzz,peers}/*.c  one program each
# Files of a test folder that are no program themselves are linked into all of it.

B ?= build
V ?= 0
SAN ?= 0
FUZZ ?= 0
FUZZ_SECONDS ?= 20
VERSION ?= $(shell cat VERSION 2>/dev/null || echo 0.1.0)

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

ifeq ($(origin CC),default)
CC := gcc
endif
AR := ar
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),@:,@printf '  %-5s %s\n' $(1) $(2))

# ---------------------------------------------------------------- variants

ifeq ($(FUZZ),1)
O := $(B)/fuzz
VARIANT := -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -DARENA_SEPARATE
VARIANT_LD := -fsanitize=address,undefined
else ifeq ($(SAN),1)
O := $(B)/san
VARIANT := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -DARENA_SEPARATE
VARIANT_LD := -fsanitize=address,undefined
else
O := $(B)
VARIANT := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
VARIANT_LD :=
endif

# ---------------------------------------------------------------- flags

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wcast-qual \
	-Wwrite-strings -Wswitch-enum -Wnull-dereference -Wdouble-promotion \
	-Wconversion -Wno-sign-conversion -Wimplicit-fallthrough -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE
HARDEN_LD := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack

PKGS := jansson libpq libcurl libcrypto libssl libpcre2-8 libxml-2.0 zlib libmicrohttpd
TEST_PKGS := criterion yaml-0.1
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) $(TEST_PKGS) libwebsockets 2>/dev/null \
	| sed 's/-I\/usr\/include\/\(postgresql\|libxml2\)/-isystem \/usr\/include\/\1/g')

CPPFLAGS := -D_GNU_SOURCE -DINSTANTSTART_VERSION='"$(VERSION)"' -I. -I$(B) $(PKG_CFLAGS)
CFLAGS := -std=c17 $(WARN) $(HARDEN) $(VARIANT) $(EXTRA_CFLAGS)
LDFLAGS := $(HARDEN_LD) $(VARIANT_LD) -Wl,--as-needed
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lwebsockets -lfcgi -lm
TEST_LDLIBS := $(shell pkg-config --libs $(TEST_PKGS) 2>/dev/null) $(LDLIBS)

# ---------------------------------------------------------------- sources

# Lowest first: a layer uses only those before it (tests/lint/layers checks).
LAYERS := base json db net aws kube op domain live poller

find_c = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
objs = $(patsubst %.c,$(O)/%.o,$(1))

GEN := $(foreach g,queries migrations cloudformation,$(B)/gen/$(g).c $(B)/gen/$(g).h)
GEN_OBJ := $(O)/gen/queries.o $(O)/gen/migrations.o $(O)/gen/cloudformation.o

SRC_faces := $(filter-out %/main.c,$(call find_c,fcgi))
$(foreach l,$(LAYERS),$(eval SRC_$(l) := $(filter-out %/main.c,$(call find_c,core/$(l)))))
OBJ_faces := $(call objs,$(SRC_faces))
$(foreach l,$(LAYERS),$(eval OBJ_$(l) := $(call objs,$(SRC_$(l)))))
OBJ_db += $(O)/gen/queries.o $(O)/gen/migrations.o
OBJ_domain += $(O)/gen/cloudformation.o
SRC_cloud := $(filter-out %/main.c,$(call find_c,tests/cloud))
OBJ_cloud := $(call objs,$(SRC_cloud))
-include tests/cloud/rules.mk
SRC_test := $(call find_c,tests/lib)
OBJ_test := $(call objs,$(SRC_test))
OBJ_op-crash := $(patsubst %.c,$(O)/crash/%.o,$(SRC_op))

lib = $(patsubst %,$(O)/lib%.a,$(1))
ALL_LIBS := $(call lib,faces $(LAYERS))
CRASH_LIBS := $(patsubst $(O)/libop.a,$(O)/libop-crash.a,$(ALL_LIBS))

# Libraries of a layer and of those below it.
below = $(call lib,$(shell for l in $(LAYERS); do echo $$l; [ $$l = $(1) ] && break; done))
unit_layer = $(firstword $(subst _, ,$(notdir $(1))))
unit_libs = $(if $(filter $(LAYERS),$(call unit_layer,$(1))),$(call below,$(call unit_layer,$(1))),$(ALL_LIBS)) \
	$(if $(filter cloud,$(call unit_layer,$(1))),$(O)/libcloud.a)

PROGRAMS := $(if $(wildcard fcgi/main.c),$(O)/instantstart-fcgi) \
	$(if $(wildcard core/poller/main.c),$(O)/instantstart-poller) \
	$(if $(wildcard core/live/main.c),$(O)/instantstart-live)
CLOUD := $(if $(wildcard tests/cloud/main.c),$(O)/instantstart-cloud)

# The console, where there is npm. Its types come from the API's own document.
UI := $(if $(and $(shell command -v npm),$(filter $(O),$(B))),$(B)/ui.stamp)
UI_SRC := $(wildcard ui/*.json ui/*.ts ui/index.html ui/build ui/scripts/*.mjs) \
	$(shell find ui/src ui/static -type f -not -path '*/generated/*')

programs_of = $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/$(1)/$(T)*_test.c)))
helpers_of = $(call objs,$(filter-out %_test.c,$(sort $(wildcard tests/$(1)/*.c))))
UNIT := $(call programs_of,unit)
INTEGRATION := $(call programs_of,integration)
FAULTS := $(call programs_of,faults)
BENCH := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/bench/*.c)))
PEERS := $(patsubst %.c,$(O)/%,$(sort $(wildcard tests/peers/*.c)))
FUZZERS := $(patsubst %.c,$(B)/fuzz/%,$(sort $(wildcard tests/fuzz/*.c)))

# ---------------------------------------------------------------- building

.PHONY: all
all: $(PROGRAMS) $(CLOUD) $(if $(CLOUD),$(CLOUD_MODELS)) $(UI) ## Build the programs, the console and the simulated cloud.

# Objects are rebuilt when the compiler or a flag changes.
.PHONY: force
$(O)/flags: force
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' >$@

$(O)/%.o: %.c $(O)/flags | $(GEN)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/crash/%.o: %.c $(O)/flags | $(GEN)
	$(call say,CC,"$< (crash points)")
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -DCRASHPOINTS -MMD -MP -c -o $@ $<

$(O)/tests/faults/%.o: private CPPFLAGS += -DCRASHPOINTS

# The embedded texts are longer than what ISO C promises for one literal.
$(GEN_OBJ): $(O)/gen/%.o: $(B)/gen/%.c $(O)/flags | $(GEN)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-overlength-strings -MMD -MP -c -o $@ $<

# One library a layer. Made anew, so that a removed file leaves no object.
define library
$(O)/lib$(1).a: $(OBJ_$(1)) $(O)/names/$(1)
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(AR) rcs $$@ $(OBJ_$(1))
# What is in it: a removed or added file changes this list.
$(O)/names/$(1): force
	@mkdir -p $$(@D)
	@echo '$(OBJ_$(1))' | cmp -s - $$@ || echo '$(OBJ_$(1))' >$$@
endef
$(foreach l,faces $(LAYERS) cloud test op-crash,$(eval $(call library,$(l))))

link = $(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group

$(O)/instantstart-fcgi: $(O)/fcgi/main.o $(ALL_LIBS)
	$(call say,LINK,$@)
	$(link) $(LDLIBS)
$(O)/instantstart-poller: $(O)/core/poller/main.o $(ALL_LIBS)
	$(call say,LINK,$@)
	$(link) $(LDLIBS)
$(O)/instantstart-live: $(O)/core/live/main.o $(ALL_LIBS)
	$(call say,LINK,$@)
	$(link) $(LDLIBS)
$(O)/instantstart-cloud: $(O)/tests/cloud/main.o $(O)/libcloud.a $(call lib,base json db net aws kube)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)

.SECONDEXPANSION:
$(UNIT): $(O)/%: $(O)/%.o $(call helpers_of,unit) $(O)/libtest.a $$(call unit_libs,$$*)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)
$(INTEGRATION): $(O)/%: $(O)/%.o $(call helpers_of,integration) $(O)/libtest.a $(O)/libcloud.a $(ALL_LIBS)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)
$(FAULTS): $(O)/%: $(O)/%.o $(call helpers_of,faults) $(O)/libtest.a $(O)/libcloud.a $(CRASH_LIBS)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)
$(BENCH): $(O)/%: $(O)/%.o $(O)/libtest.a $(O)/libcloud.a $(ALL_LIBS)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)
$(PEERS): $(O)/%: $(O)/%.o $(call below,domain)
	$(call say,LINK,$@)
	$(link) $(TEST_LDLIBS)
$(FUZZERS): $(B)/fuzz/%: $(B)/fuzz/%.o $$(patsubst $$(O)/%,$(B)/fuzz/%,$$(call fuzz_libs,$$*))
	$(call say,LINK,$@)
	$(link) -fsanitize=fuzzer $(TEST_LDLIBS)
# A fuzz target links what its name's first word needs, as unit tests do.
fuzz_libs = $(call unit_libs,$(1))

# ---------------------------------------------------------------- embedded texts

QUERIES := $(sort $(wildcard sql/queries/*.sql))
MIGRATIONS := $(sort $(wildcard sql/migrations/*.sql))
TEMPLATES := $(sort $(wildcard cloudformation/*.yaml cloudformation/lifecycle/*.sh))

# Which files there are: a new or removed one is noticed by this.
$(B)/gen/names: force
	@mkdir -p $(@D)
	@echo '$(QUERIES) $(MIGRATIONS) $(TEMPLATES)' | cmp -s - $@ || \
		echo '$(QUERIES) $(MIGRATIONS) $(TEMPLATES)' >$@
$(B)/gen/queries.c $(B)/gen/queries.h: $(B)/gen/queries.%: sql/embed $(QUERIES) $(B)/gen/names
	$(Q)sql/embed queries.$* $(QUERIES) >$@
$(B)/gen/migrations.c $(B)/gen/migrations.h: $(B)/gen/migrations.%: sql/embed $(MIGRATIONS) $(B)/gen/names
	$(Q)sql/embed migrations.$* $(MIGRATIONS) >$@
$(B)/gen/cloudformation.c $(B)/gen/cloudformation.h: $(B)/gen/cloudformation.%: cloudformation/embed $(TEMPLATES) $(B)/gen/names
	$(Q)cloudformation/embed $* $(TEMPLATES) >$@

# ---------------------------------------------------------------- console

$(B)/openapi.json: $(B)/instantstart-fcgi
	@$< --openapi >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/ui.stamp: $(B)/openapi.json $(UI_SRC)
	$(call say,UI,ui/dist)
	$(Q)ui/build $(B)/openapi.json
	@touch $@

.PHONY: ui test-ui screenshots
ui: $(B)/ui.stamp ## Build the web console into ui/dist.

test-ui: $(B)/ui.stamp ## Tests of the console's own functions and languages.
	$(Q)cd ui && ../tests/node_modules/.tools/bin/node node_modules/vitest/vitest.mjs run --silent

screenshots: all ## Pictures of the main pages of the console, into ui/screenshots.
	$(Q)INSTANTSTART_BUILD=$(O) tests/node_modules/.tools/bin/node tests/demo/screenshots.mjs

# ---------------------------------------------------------------- tests

# tests/<tier>/run when there is one, else the runner of criterion programs.
# It gets the output folder and the tier's programs.
tier = $(if $(wildcard tests/$(1)/run),tests/$(1)/run,tests/lib/run-criterion $(1)) $(O) $(2)

.PHONY: test test-unit test-integration test-e2e test-faults test-features test-peers abuse bench fuzz
test: deps ## Unit, integration and end to end tests, and a sample of the fault tests.
	@$(MAKE) -j$$(nproc) test-unit
	@$(MAKE) test-scripts
	@$(MAKE) -j$$(nproc) test-integration
	@$(MAKE) -j$$(nproc) all
	@$(MAKE) test-ui
	@$(MAKE) test-e2e
	@$(MAKE) -j$$(nproc) test-faults SAMPLE=1

test-unit: $(UNIT) $(CLOUD_MODELS) ## Unit tests: pure C, one criterion program a module.
	$(Q)$(call tier,unit,$(UNIT))

.PHONY: test-scripts
test-scripts: ## The nodes' scripts, with disks and services of their own in mount namespaces.
	$(Q)tests/scripts/run

test-integration: $(PROGRAMS) $(CLOUD) $(CLOUD_MODELS) $(INTEGRATION) ## Integration tests: real PostgreSQL and HTTP, simulated cloud.
	$(Q)$(call tier,integration,$(INTEGRATION))

test-e2e: all ## End to end: nginx, FastCGI, pollers, browser, MCP clients, curl.
	$(Q)$(if $(wildcard tests/e2e/run),tests/e2e/run $(O),echo 'no end to end tests here' >&2; exit 1)

.PHONY: test-journal
test-journal: all ## 10,000 requests while sessions end and a standby takes over.
	$(Q)JOURNAL_POSTS=10000 tests/e2e/run $(O) tests/e2e/journal.test.mjs

test-faults: $(PROGRAMS) $(CLOUD) $(CLOUD_MODELS) $(FAULTS) ## Every crash point and seeded faults; SAMPLE=1 takes a sample.
	$(Q)SAMPLE=$(SAMPLE) $(call tier,faults,$(FAULTS))

test-features: $(filter %/cloud_features_test %/cloud_features_bent_test,$(UNIT)) $(CLOUD_MODELS) ## Every toggle of features, stopped before every call, from every set.
	$(Q)FEATURES_ALL=1 $(call tier,unit,$(filter %/cloud_features_test %/cloud_features_bent_test,$(UNIT)))

test-peers: all $(PEERS) $(FAULTS) ## Against what we did not write: AWS SDKs, moto, kubectl, helm, MCP suite; one peer: test-peers-sdk.
	$(Q)tests/peers/run $(O)

test-peers-%: all $(PEERS) $(FAULTS)
	$(Q)tests/peers/run $(O) $*

abuse: all ## Attacks on the loopback, each beside an innocent client; a mutating fuzzer.
	$(Q)tests/e2e/run $(O) tests/abuse/abuse.test.mjs

bench: all $(BENCH) ## Benchmarks, as ratios to a limit measured in the same run.
	$(Q)$(if $(wildcard tests/bench/run),tests/bench/run $(O) $(BENCH),echo 'no benchmarks here' >&2; exit 1)

.PHONY: bench-fleet
bench-fleet: all ## 5,000 nodes in 100 groups: the list's first page, a whole look, a poller's memory.
	$(Q)tests/deps
	$(Q)INSTANTSTART_BUILD=$(abspath $(O)) tests/node_modules/.tools/bin/node tests/bench/fleet.mjs

.PHONY: bench-logs
bench-logs: all $(filter %/log_source %/log_raw %/log_viewers,$(BENCH)) ## One pod's log to 1, 50 and 200 viewers, beside a bare broadcast.
	$(Q)tests/deps
	$(Q)INSTANTSTART_BUILD=$(abspath $(O)) tests/node_modules/.tools/bin/node tests/bench/logs.mjs

fuzz: ## Run every fuzz target for FUZZ_SECONDS (20).
	@$(MAKE) CC=clang FUZZ=1 fuzz-run

.PHONY: fuzz-run
fuzz-run: $(FUZZERS)
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(FUZZERS)

# ---------------------------------------------------------------- house

.PHONY: deps fmt lint texts docs charts demo run stop clean help
deps: ## Install what Debian and npm give; silent when nothing is missing.
	$(Q)tests/deps

fmt: ## Rewrite all C files by .clang-format.
	$(Q)tests/lint/files c h | xargs -r clang-format -i

lint: $(GEN) ## Format, layers, banned calls, words, sizes, headers, cppcheck, clang-tidy.
	$(Q)CPPFLAGS='$(subst ','\'',$(CPPFLAGS))' tests/lint/run

texts: ## Print every text that people and models read, with place and kind; KIND=fix: one kind.
	$(Q)tests/lint/texts $(KIND)

docs: $(O)/instantstart-poller ## Write core/domain/kinds.md from the tables of steps.
	$(Q)$< --diagrams >core/domain/kinds.md

charts: $(B)/charts/charts.json ## Fetch the pinned Helm charts (core/kube/charts/lock.json); CHARTS_FROM: from one registry, repository or folder.

# The lock is written by the first fetch: what came of it is younger.
$(B)/charts/charts.json: core/kube/charts/lock.json $(wildcard core/kube/charts/*.mjs)
	$(Q)tests/node_modules/.tools/bin/node core/kube/charts/fetch.mjs $(@D) tests/node_modules/.tools/bin/helm
	$(Q)touch $@

demo: deps ## Show the whole life of a cluster on the simulated cloud.
	@$(MAKE) -j$$(nproc) all
	$(Q)tests/demo/run $(O)

run: deps ## The same programs against real AWS, with the caller's credentials.
	@$(MAKE) -j$$(nproc) all $(if $(INSTANTSTART_CHARTS),,charts)
	$(Q)tests/demo/run $(O) --aws

stop: ## Stop what demo or run has started.
	$(Q)tests/demo/stop

clean: ## Remove the output folder.
	$(Q)rm -rf $(B)

help: ## Print every target with its sentence.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' Makefile

-include $(shell find $(O) -name '*.d' 2>/dev/null)
