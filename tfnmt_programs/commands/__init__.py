"""Commands of programs that use the library; `tfnmt` finds them by name (tfnmt/commands/main.py)."""
