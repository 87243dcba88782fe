"""`python -m tfnmt VERB` is `tfnmt VERB`."""

from tfnmt.commands.main import main

main()
