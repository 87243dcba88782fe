"""Print every public function and method of a package that lacks a type: of a parameter or of the result.

    python .ci/annotations.py tfnmt

Special methods are public, too. Private functions, and those within functions, need none. The status is 1 if something
is printed.
"""

import ast
import sys
from pathlib import Path


def public_functions(body, owner=""):
    """(name, function) of the public functions in a module's or a class's body."""
    for node in body:
        name = getattr(node, "name", "_")
        special = owner and name.startswith("__") and name.endswith("__")
        if name.startswith("_") and not special:
            continue
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body, f"{owner}{name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{owner}{name}", node


def missing_types(name, function):
    """What of a function has no type: names of parameters, "the result"."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    static = any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in function.decorator_list)
    if "." in name and not static:
        parameters = parameters[1:]  # self or cls
    parameters += [*arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]
    missing = [parameter.arg for parameter in parameters if parameter.annotation is None]
    if function.returns is None and not name.endswith("__init__"):
        missing.append("the result")
    return missing


def main(folders):
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    if not paths:
        sys.exit(f"no Python files in {' '.join(folders)}")
    count = 0
    for path in paths:
        for name, function in public_functions(ast.parse(path.read_text(encoding="utf-8")).body):
            if missing := missing_types(name, function):
                print(f"{path}:{function.lineno}: {name} has no type for {', '.join(missing)}")
                count += 1
    if count:
        print(f"{count} public functions lack types")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
