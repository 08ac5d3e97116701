.DEFAULT_GOAL := help
.PHONY: help run test lint fuzz fmt docs deb image

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

run: ## Build and start Assent and the demo application; Ctrl-C ends both; with LAN=1 for a phone in your network
	@scripts/run

test: ## Run every check and test
	@scripts/test

lint: ## Check the formatting and the lints, without running tests
	@scripts/lint

fuzz: ## Fuzz each parser of requests for a while: make fuzz SECONDS=600
	@scripts/fuzz $(or $(SECONDS),60)

fmt: ## Format the Rust and JavaScript code
	@scripts/format

docs: ## Generate the reference pages, and build the book in target/book
	@scripts/docs

deb: ## Build the Debian package in target/debian
	@scripts/deb

image: ## Build the container image in target/image, from the Debian package
	@scripts/image
