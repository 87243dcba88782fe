"""Coverage-guided fuzzing of everything that reads bytes from outside, with Atheris (libFuzzer for Python).

    python -m tests.fuzz.run [TARGET ...] --inputs 100000 --seed 1

Each target runs in a process of its own until it has had that number of inputs, or one is a fault. A fault is an error
that the reader does not document, the end of the process, more than 10 seconds, or more than 4 GB. Its input is written
to FOUND. Made small, it belongs in corpus/TARGET, which test_corpus.py gives to the reader again in `make test`.
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.mutation import changed_json

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow says much when it starts
CORPUS = Path(__file__).with_name("corpus")
SECONDS, MEGABYTES = 10, 4096


def main():
    arguments = parse_arguments()
    if arguments.child:
        fuzz(arguments.targets[0], arguments.child)
    from tests.fuzz.targets import TARGETS

    arguments.found.mkdir(parents=True, exist_ok=True)
    print(f"{'target':16} {'inputs':>9} {'seconds':>8}  faults", flush=True)
    results = [run(name, TARGETS[name], arguments) for name in arguments.targets or TARGETS]
    print(f"{'together':16} {sum(inputs for inputs, _ in results):9,}")
    sys.exit(any(fault for _, fault in results))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--inputs", type=int, default=10_000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--found", type=Path, default=Path(tempfile.gettempdir(), "tfnmt-fuzz"), help="folder of faults"
    )
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(name, target, arguments):
    """Fuzz a target in a process of its own; print and return (inputs, the file of the fault or None)."""
    with tempfile.TemporaryDirectory() as folder:
        begin, new, tokens = Path(folder, "begin"), Path(folder, "new"), Path(folder, "tokens")
        begin.mkdir()
        new.mkdir()
        for number, example in enumerate(target.examples):
            Path(begin, str(number)).write_bytes(example)
        tokens.write_text("".join(f'"{escaped(token)}"\n' for token in target.tokens))
        options = [f"-runs={arguments.inputs}", f"-seed={arguments.seed}", "-max_len=4096"]
        options += [f"-dict={tokens}"] if target.tokens else []
        limits = [f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}", f"-artifact_prefix={arguments.found}/{name}-"]
        corpora = [str(new), str(begin), *([str(CORPUS / name)] if (CORPUS / name).is_dir() else [])]
        command = [sys.executable, "-m", "tests.fuzz.run", name, "--child", *options, *limits, *corpora]
        start = time.time()
        log = subprocess.run(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
    text = log.stdout.decode(errors="replace")
    inputs = max((int(number) for number in re.findall(r"^#(\d+)", text, re.MULTILINE)), default=0)
    fault = re.search(r"Test unit written to (\S+)", text)
    if log.returncode and not fault:
        print(re.sub(r"INFO: .*\n", "", text), file=sys.stderr)
    fault = fault[1] if fault else "see above" if log.returncode else None
    print(f"{name:16} {inputs:9,} {time.time() - start:8.0f}  {fault or 'none'}", flush=True)
    return inputs, fault


def escaped(token):
    return "".join(f"\\x{byte:02x}" for byte in token)


def fuzz(name, options):
    """In the child: does not return."""
    import atheris
    import tensorflow  # noqa: F401  before anything is instrumented

    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
    with atheris.instrument_imports(include=["tfnmt"]):
        from tests.fuzz.targets import TARGETS

    def mutate(data, max_size, seed):
        """Half of the new inputs that have JSON keep it whole."""
        changed = changed_json(data, random.Random(seed)) if seed % 2 else None
        return changed if changed and len(changed) <= max_size else atheris.Mutate(data, max_size)

    with tempfile.TemporaryDirectory() as folder:
        target, folder = TARGETS[name], Path(folder)
        arguments = [sys.argv[0], *options]
        atheris.Setup(arguments, lambda data: target(data, folder), custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
