# make         the virtual environment .venv, made again only when requirements.txt changes
# make demo    train a small translator, score it, translate with it, serve it
# make board   TensorBoard on all runs under RUNS (a folder; default: runs), at localhost:6006
# make figures the pictures of docs/; those of trained models only with MODEL, a translator's directory, PARSERS, those
#              of a spinn and an rl-spinn, BOARD, that of a translator with logs (its TensorBoard, by Chromium), and
#              COMPARED, translators, with SOURCE and TARGET, the test files they are compared on
# make test    the tests
# make check   formatting, lint, direction of the imports
# make format  put the formatting right
# make clean   remove what the tools left behind (.venv stays: rm -r .venv)

PYTHON ?= $(shell command -v python3.11 || command -v python3)
RUNS ?= runs
RUN = .venv/bin/python

.PHONY: environment demo board figures test check format clean

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
	@touch $@

demo: environment
	$(RUN) scripts/demo.py

board: environment
	.venv/bin/tensorboard --logdir $(RUNS)

figures: environment
	$(RUN) scripts/concepts.py --output docs/figures --format png
	$(RUN) scripts/plot.py saddle --output docs/figures/saddle.png
	$(RUN) scripts/plot.py stack --output docs/figures/stack.png
	$(RUN) scripts/plot.py batch --output docs/figures/batch.png
	$(RUN) scripts/plot.py graphs --output docs/figures/graphs.png
	$(RUN) scripts/plot.py growth --output docs/figures/growth.png
	$(if $(COMPARED),$(RUN) scripts/plot.py length --output docs/figures/length.png --model $(COMPARED) \
		--source $(SOURCE) --target $(TARGET) --bleu-tokenize none)
	$(if $(MODEL),$(RUN) scripts/plot.py pca --output docs/figures/pca.png --model $(MODEL))
	$(if $(MODEL),$(RUN) scripts/plot.py attention --output docs/figures/attention.png --model $(MODEL) --sentence \
		"a man in a blue shirt is standing on a ladder cleaning a window .")
	$(if $(PARSERS),$(RUN) scripts/plot.py tree --output docs/figures/trees.png --model $(PARSERS) --brackets \
		"( ( a ( big man ) ) ( ( is sitting ) ( in ( a kitchen ) ) ) )" --title given predicted "learned by reward")
	$(if $(BOARD),$(RUN) scripts/screenshots.py --model $(BOARD) --output docs/figures)

test: environment
	$(RUN) -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

check: environment
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	.venv/bin/lint-imports

format: environment
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

clean:
	rm -rf .pytest_cache .ruff_cache .import_linter_cache
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
