"""Runs the code of a notebook in this process. `python -m tests.notebooks.runner [PATH ...]` writes the outputs anew.

Jupyter's own runners start a kernel for each notebook, which imports TensorFlow again. A cell is run here as a kernel
would: what it prints is an output, and so is the value of an expression at its end; of a figure, its picture.
"""

import ast
import base64
import contextlib
import io
import json
import pprint
import sys
from pathlib import Path

from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "notebooks"


def read(path):
    return json.loads(Path(path).read_text(encoding="utf-8"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook):
    """The outputs of each cell of code, one after the other in one module, as a notebook has them."""
    names = {"__name__": "__main__"}
    return [run_cell("".join(cell["source"]), names, count) for count, cell in enumerate(code_cells(notebook), start=1)]


def run_cell(source, names, count):
    tree = ast.parse("".join(line for line in source.splitlines(keepends=True) if not line.startswith("%")))
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"<cell {count}>", "exec"), names)
        value = eval(compile(last, f"<cell {count}>", "eval"), names) if last else None
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        result = {"data": shown(value), "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


def shown(value):
    if not isinstance(value, Figure):
        return {"text/plain": lines(pprint.pformat(value))}
    file = io.BytesIO()
    value.savefig(file, format="png", dpi=70)
    return {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": lines(repr(value))}


def lines(text):
    return text.splitlines(keepends=True)


def write(path):
    """Run a notebook and keep its outputs in it."""
    notebook = read(path)
    for count, (cell, outputs) in enumerate(zip(code_cells(notebook), run(notebook), strict=True), start=1):
        cell["outputs"], cell["execution_count"] = outputs, count
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    Path(path).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(FOLDER.glob("*.ipynb")):
        write(each)
