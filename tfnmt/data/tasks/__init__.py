"""The classification tasks: for each, its labels, the formats of its files and its sample corpus.

To add a task, write a subclass of `Task` in a file of this package and name it in `TASKS`.
"""

from tfnmt.data.tasks.listops import ListOps
from tfnmt.data.tasks.logic import Logic
from tfnmt.data.tasks.sentence_pairs import SICK, SNLI
from tfnmt.data.tasks.sentiment import SST, SST2
from tfnmt.data.tasks.task import Task

__all__ = ["TASKS", "Task"]

TASKS: dict[str, Task] = {task.name: task for task in (SNLI(), SICK(), Logic(), SST(), SST2(), ListOps())}
"""Name -> task."""
