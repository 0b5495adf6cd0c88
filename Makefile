# make alone prints this list. What a target does stands behind its "##".
# .ci/run defines the checks; the targets here give them short names.

GO  ?= go
OUT ?= out

.DEFAULT_GOAL := help
.PHONY: help build test race bench bench-docs lint house fuzz demo lab picture docs cross ci clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the binary, as bin/plimsoll
	$(GO) build -trimpath -o bin/plimsoll ./cmd/plimsoll

test: ## all tests, and what they leave out on this machine and why
	@.ci/run skips test

race: ## the tests of the concurrent packages under the race detector
	@.ci/run race

bench: ## every benchmark, a second each; the comparison with peers is bench-docs
	$(GO) test -run '^$$' -bench . ./...

bench-docs: ## compare with peers, and write docs/reference/performance.md
	cd bench && $(GO) run ./cmd/tables -o ../docs/reference/performance.md

lint: ## gofmt, go vet and staticcheck
	@.ci/run format vet lint

house: ## the rules of the house, and our longest functions and files
	$(GO) test -count=1 ./internal/house
	@$(GO) run ./internal/house/longest

fuzz: ## fuzz every target for FUZZTIME (20s) each
	@.ci/run fuzz

demo: ## overload a real service on this machine, and watch it in a browser
	$(GO) run ./cmd/plimsoll demo

lab: ## the first experiment of the laboratory, into OUT (out/)
	$(GO) run ./cmd/plimsoll lab slo-load-control --deterministic --duration 5s --output-dir $(OUT)

picture: ## run the demo, and make docs/images/demo.png of it (needs chromium)
	@PICTURE=docs/images/demo.png .ci/run picture

docs: bench-docs picture ## write again what the docs show of our own runs

cross: ## build for Linux, macOS and Windows on amd64 and arm64
	@.ci/run cross

ci: ## everything that has to hold
	@.ci/run

clean: ## remove what the targets above have made
	rm -rf bin/ out/ results/
