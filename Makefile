# Everything a newcomer needs: `make demo` and `make test` set themselves up in .venv (Python >= 3.10 and make are enough).
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-rest test-all fuzz mutations rule lint format bench incidents site man lab lock clean

# make PYTHON=/path/to/python names another one; ARGS="..." is passed on by test, bench and lab
PYTHON ?=
ARGS ?=
DIAG = .venv/bin/diag
PY = .venv/bin/python

# the first that the locks were made for (3.10 to 3.13), else the first that is new enough
find_python = for newest in 13 99; do \
	for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.10; do \
	"$$python" -c "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, $$newest))" 2>/dev/null && break 2; python=; \
	done; done; [ -n "$$python" ] || { echo "Python 3.10 or newer was not found; install it or name it: make $@ PYTHON=/path/to/python" >&2; exit 1; }

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r target what; do printf '  make %-9s %s\n' "$$target" "$$what"; done

setup: .venv/.ready-dev ## .venv with everything to work on diag

.venv/.ready-run: requirements/run.txt requirements/java.txt pyproject.toml .ci/setup.py
	@$(find_python); "$$python" .ci/setup.py run

.venv/.ready-dev: requirements/dev.txt requirements/java.txt pyproject.toml .ci/setup.py
	@$(find_python); "$$python" .ci/setup.py dev

# exit code 1 means that diag found what is wrong with the job, which is the point of the demo
demo: .venv/.ready-run ## diagnose a recorded incident
	@echo '$$ diag triage fixtures/incidents/ill/broker-shrink-restart-loop/raw' >&2
	@$(DIAG) triage fixtures/incidents/ill/broker-shrink-restart-loop/raw; code=$$?; [ $$code -eq 1 ] || { echo "demo: diag should have found something (exit code 1), not ended with $$code" >&2; exit 1; }

# Two workers: what needs the Spark of the tests is one group (tests/conftest.py), so that it is started, and the bundles are judged, once
WORKERS = -n 2 --dist loadgroup --no-loadscope-reorder
NOT_BEFORE_A_PUSH = jvm or live or browser or long

test: .venv/.ready-dev ## what is worth running before a push; ARGS="-k CKP101" chooses among all tests
	@$(PY) -m pytest $(if $(ARGS),$(ARGS),$(WORKERS) -m "not ($(NOT_BEFORE_A_PUSH))")

test-rest: .venv/.ready-dev
	@$(PY) -m pytest $(WORKERS) -m "$(NOT_BEFORE_A_PUSH)" $(ARGS)

test-all: .venv/.ready-dev ## all tests: those with real servers, JVMs of their own and a browser, too
	@$(PY) -m pytest $(WORKERS) $(ARGS)

# the tests of `fuzz` are Hypothesis's, with ten times as many examples as in continuous integration
fuzz: .venv/.ready-dev ## almost right bytes for every parser, then many examples; only the first with ARGS="--seconds 3600 metadata logs"
	@$(PY) -m tests.hostile.fuzz $(ARGS)
	@$(if $(ARGS),true,DIAG_EXAMPLES=fuzz $(PY) -m pytest $(WORKERS) -m fuzz)

mutations: .venv/.ready-dev ## which of 30 broken rules, signatures and collectors the tests of `make test` notice
	@$(PY) -m tests.mutations $(ARGS)

rule: .venv/.ready-dev ## begin a rule: CODE=CKP199 TITLE="what it finds"; check it: CODE=CKP199
	@CODE="$(CODE)" TITLE="$(TITLE)" $(PY) .ci/rule.py

lint: .venv/.ready-dev ## ruff and mypy --strict
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: .venv/.ready-dev ## ruff, writing
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: .venv/.ready-dev ## what the README's performance table is made from; ARGS="--only 1pct,gz --rounds 3"
	@$(PY) -c "import duckdb" 2>/dev/null || $(PY) -m pip install --quiet "duckdb>=2" # the group bench of pyproject.toml; this pip may not know groups
	@$(PY) benchmarks/run.py $(ARGS)

incidents: .venv/.ready-dev ## the bench of incidents: what finds the cause, and what it costs; ARGS="--only told --adapter grep"
	@$(if $(FLINK_MCP_PYTHON),FLINK_MCP_PYTHON="$(FLINK_MCP_PYTHON)") $(PY) -m benchmarks.incidents $(ARGS)

site: .venv/.ready-dev ## the documentation as pages, a page for each rule: build/site/index.html
	@$(PY) .ci/site.py $(ARGS)

man: .venv/.ready-dev ## the man page: build/diag.1
	@$(PY) .ci/man.py $(ARGS)

lab: .venv/.ready-dev ## list the incidents; INCIDENT=name plays one on real Kafka and Flink (loopback only), HEAL=1 then tries its fixes
	@$(PY) -m fixtures.lab.lab $(INCIDENT) $(if $(HEAL),--heal) $(ARGS)

# uv only makes the locks; pip installs them. No index is named in them, so that a mirror can be used.
UV_COMPILE = uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --python-version 3.10 --custom-compile-command 'make lock'
lock: ## make requirements/*.txt and .ci/audit.txt again (needs uv); ARGS=--upgrade
	@command -v uv >/dev/null || { echo 'make lock needs uv on the PATH: pip install uv' >&2; exit 1; }
	$(UV_COMPILE) $(ARGS) pyproject.toml --group build -o requirements/run.txt
	$(UV_COMPILE) $(ARGS) pyproject.toml --group dev -c requirements/run.txt -o requirements/dev.txt
	$(UV_COMPILE) $(ARGS) --group java -o requirements/java.txt
	$(UV_COMPILE) $(ARGS) --group audit -o .ci/audit.txt

clean: ## remove .venv and what tools left behind
	rm -rf .venv .venvs build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
