"""The command `tfnmt VERB`: one file a verb, from options to a call to what is printed.

A verb's module has its description as docstring, `add_options(parser)` and `main(arguments, output)`. `main.py` finds
the verb, `run.py` starts and ends it. A module imports TensorFlow, and what imports it, within `main`, so that
`--help` and mistyped options answer at once.
"""
