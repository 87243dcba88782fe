"""`tfnmt distill` from a checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tfnmt.commands.main import main

if __name__ == "__main__":
    main(["distill", *sys.argv[1:]])
