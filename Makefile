# Targets for people. Go is all that demo, build, test and bench need; see .ci/run for what else some tests can use.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# The virtual-time tests of the loop exist only under this tag.
TAGS     := synctests
TIMEOUT  ?= 20m
FUZZTIME ?= 10s

# How many seeds the simulator plays, and the first of them.
N    ?= 1000
SEED ?= 1

# How long chaos lasts. It has a seed of its own each time, unless SEED is given.
MINUTES ?= 30

# The image: where it is laid out, and the certificates of authorities that it takes along.
ROOTFS  ?= bin/rootfs
ROOTS   ?= $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))

# The race detector needs a C compiler that can compile, headers too.
RACE := $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && printf '\043include <stdlib.h>\nint main(void){return 0;}\n' | \
	$$($(GO) env CC) -x c -o /dev/null - 2>/dev/null && echo -race)

.PHONY: build demo test dashboards simulate chaos bench bench-peers fuzz rootfs image clean

## build: the binary, in bin/
build:
	$(GO) build -buildvcs=false -trimpath -ldflags '$(LDFLAGS)' -o bin/fusebox ./cmd/fusebox

## demo: a route that goes bad and recovers, in this terminal, until stopped
demo: build
	bin/fusebox dev --demo

## test: builds and runs all tests; those that need what is not here skip and say so. The simulator, the fifty gates
## and the 50,000 circuits, whose time is virtual, run without the race detector, four times as fast: their parts are
## what the other tests run with it
test:
	$(GO) build -buildvcs=false ./...
	$(GO) test -tags $(TAGS) $(RACE) -timeout $(TIMEOUT) -skip '^(TestSimulation|TestFiftyGates|TestSeriesOfManyCircuits)$$' ./...
	$(GO) test -tags $(TAGS) -timeout $(TIMEOUT) -run '^(TestSimulation|TestFiftyGates|TestSeriesOfManyCircuits)$$' ./processor/kafka ./client
	$(GO) -C deployments/grafana test -timeout $(TIMEOUT) ./...

## dashboards: writes the Grafana dashboards anew, from the code beside them
dashboards:
	$(GO) -C deployments/grafana run .

## simulate: N seeds of the simulator, from SEED on
simulate:
	$(GO) test -tags $(TAGS) -run '^TestSimulation$$' -timeout 0 ./processor/kafka -args -seeds $(N) -seed $(SEED)

## chaos: faults on Apache Kafka in containers for MINUTES, and a lone broker killed; SEED=N repeats the faults of a run
chaos:
	FUSEBOX_TEST_REQUIRE=kafka,kcat FUSEBOX_TEST_CHAOS_MINUTES=$(MINUTES) \
		FUSEBOX_TEST_SEED=$(if $(filter file,$(origin SEED)),,$(SEED)) \
		$(GO) test -tags $(TAGS) -count 1 -v -timeout $$(($(MINUTES) + 30))m -run '^(TestChaos|TestHungTransaction)$$' \
		./cmd/fusebox

## bench: all benchmarks
bench:
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchmem -timeout 60m ./...

## bench-peers: what a call costs, beside circuit breakers that live in one process, on one core and on two
bench-peers:
	cd bench && $(GO) test -run '^$$' -bench . -cpu 1,2 -timeout 20m .

## fuzz: FUZZTIME on each fuzz target
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
		targets=$$($(GO) test -tags $(TAGS) -list '^Fuzz' $$package); \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

## rootfs: what the image holds, laid out in a directory
rootfs:
	rm -rf $(ROOTFS)
	mkdir -p $(ROOTFS)/etc/ssl/certs $(ROOTFS)/data $(ROOTFS)/tmp
	CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags '-s -w $(LDFLAGS)' -o $(ROOTFS)/fusebox ./cmd/fusebox
	cp $(ROOTS) $(ROOTFS)/etc/ssl/certs/ca-certificates.crt
	printf 'fusebox:x:65532:65532::/data:/fusebox\n' > $(ROOTFS)/etc/passwd
	printf 'fusebox:x:65532:\n' > $(ROOTFS)/etc/group

## image: the Docker image fusebox:$(VERSION) from the binary built here; as fusebox:local the compose file takes it
image: rootfs
	docker build --target prebuilt -f deployments/Dockerfile -t fusebox:$(VERSION) -t fusebox:local $(ROOTFS)

clean:
	rm -rf bin
