# make         the virtual environment .venv (with .venv/bin/tfnmt), made again only when requirements.txt changes
# make demo    train a small translator, score it, translate with it, serve it
# make board   TensorBoard on all runs under RUNS (a folder; default: runs), at localhost:6006
# make figures the pictures of docs/, for which it needs Chromium; those of trained models only with MODEL, a
#              translator's directory, SUMMARY, that of one without attention trained on captions, PARSERS, those of a
#              spinn and an rl-spinn, BOARD, that of a translator with logs (its TensorBoard, by Chromium), and
#              COMPARED, translators, with SOURCE and TARGET, the test files they are compared on
# make models  train the models that come with the library again, which takes some 8 minutes
# make docs    the site of README.md and docs/, in site/: open site/index.html
# make book    the pages on the three posts as one printable PDF, book.pdf; it needs Chromium
# make test    the tests, but for the longest; make test-slow: those
# make soak    for an hour or more: training under random kills, a server under load; compared with what must come out
# make fuzz    random inputs for everything that reads bytes from outside: FUZZ_INPUTS of each kind, by FUZZ_SEED; then
#              the tests of properties with many examples
# make check   formatting, lint, direction of the imports, types
# make format  put the formatting right
# make clean   remove what the tools left behind (.venv stays: rm -r .venv)

PYTHON ?= $(shell command -v python3.11 || command -v python3)
RUNS ?= runs
FUZZ_INPUTS ?= 10000
FUZZ_SEED ?= 1
RUN = .venv/bin/python
TFNMT = $(RUN) -m tfnmt
PARALLEL = --numprocesses auto --maxprocesses 8 --dist loadfile

.PHONY: environment demo board figures models docs book test test-slow soak fuzz check format clean

environment: .venv/installed

.venv/installed: requirements.txt
	$(PYTHON) -m venv .venv
	@if nvidia-smi -L 2>/dev/null | grep -q GPU; then \
		echo "NVIDIA GPU found: installing TensorFlow with CUDA"; \
		cp requirements.txt .venv/requirements.txt; \
	else \
		echo "No NVIDIA GPU found: installing TensorFlow for CPU"; \
		sed 's/^tensorflow\[and-cuda\]/tensorflow/' requirements.txt > .venv/requirements.txt; \
	fi
	$(RUN) -m pip install --disable-pip-version-check --requirement .venv/requirements.txt
	$(RUN) -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: environment
	$(TFNMT) demo

board: environment
	.venv/bin/tensorboard --logdir $(RUNS)

figures: environment
	$(TFNMT) concepts --output docs/figures --format png --processes 2
	$(TFNMT) plot saddle --output docs/figures/saddle.png
	$(TFNMT) plot surfaces --output docs/figures/surfaces.png
	$(TFNMT) plot function-graph --output docs/figures/function_graph.png
	$(TFNMT) plot batch-graph --output docs/figures/batch_graph.png
	$(TFNMT) plot tree-lstm --output docs/figures/tree_lstm.png
	$(TFNMT) translation-steps --output docs/figures
	$(TFNMT) plot roles --output docs/figures/roles.png --model sample-en-de-summary
	$(TFNMT) plot stack --output docs/figures/stack.png
	$(TFNMT) plot batch --output docs/figures/batch.png
	$(TFNMT) plot graphs --output docs/figures/graphs.png
	$(TFNMT) plot growth --output docs/figures/growth.png
	$(if $(COMPARED),$(TFNMT) plot length --output docs/figures/length.png --model $(COMPARED) \
		--source $(SOURCE) --target $(TARGET) --bleu-tokenize none)
	$(if $(SUMMARY),$(TFNMT) plot pca --output docs/figures/pca.png --model $(SUMMARY))
	$(if $(SUMMARY),$(TFNMT) plot roles --output docs/figures/roles_captions.png --model $(SUMMARY) --words multi30k)
	$(if $(MODEL),$(TFNMT) plot attention --output docs/figures/attention.png --model $(MODEL) --sentence \
		"a man in a blue shirt is standing on a ladder cleaning a window .")
	$(if $(PARSERS),$(TFNMT) plot tree --output docs/figures/trees.png --model $(PARSERS) --brackets \
		"( ( a ( big man ) ) ( ( is sitting ) ( in ( a kitchen ) ) ) )" --title given predicted "learned by reward")
	$(if $(COMPARED),$(TFNMT) report $(COMPARED) --source $(SOURCE) --target $(TARGET) --bleu-tokenize none \
		--output report.html --picture docs/figures/report.png)
	$(if $(BOARD),$(TFNMT) screenshots --model $(BOARD) --output docs/figures)
	$(MAKE) docs
	$(TFNMT) report sample-en-de sample-en-de-summary --output site/report.html
	$(TFNMT) screenshots --page --report site/report.html --site site --output docs/figures

models: environment
	$(RUN) -m tfnmt_programs.pretraining

docs: environment
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet
	@echo "site/index.html"

book: environment
	$(TFNMT) book --output book.pdf

test: environment
	$(RUN) -m pytest $(PARALLEL) -m "not slow"

test-slow: environment
	$(RUN) -m pytest $(PARALLEL) -m slow

soak: environment
	$(TFNMT) soak
	$(TFNMT) soak-server

fuzz: environment
	$(RUN) -m tests.fuzz.run --inputs $(FUZZ_INPUTS) --seed $(FUZZ_SEED)
	HYPOTHESIS_PROFILE=many $(RUN) -m pytest tests/properties

check: environment
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	.venv/bin/lint-imports
	$(RUN) -m mypy
	$(RUN) .ci/annotations.py tfnmt

format: environment
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

clean:
	rm -rf .hypothesis .pytest_cache .ruff_cache .import_linter_cache .mypy_cache build dist site
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
