# Every recipe lives in bootstrap.py (the road on Windows too); make only calls it.
# Arguments pass through:   make test ARGS="-k ladder"      Another Python:   make lab PYTHON=python3.12

PYTHON ?= python3
ARGS ?=
VERBS := lab test check demo videos site notebooks clean

.PHONY: help $(VERBS)
.DEFAULT_GOAL := help

help:
	@echo "make lab        set up .venv and open JupyterLab on the first lesson"
	@echo "make test       lint, types, and every test"
	@echo "make check      lint, format and types only"
	@echo "make demo       constrained decoding in the terminal"
	@echo "make videos     render the films"
	@echo "make site       write all lessons as pages, for a browser without a network"
	@echo "make notebooks  run the lessons anew and store what they print"
	@echo "make clean      remove .venv and everything else that was made here"

$(VERBS):
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { echo "there is no $(PYTHON) here: install Python 3.11 to 3.14, or name one with make $@ PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" bootstrap.py $@ $(ARGS)
