"""The processes that a process has started, as Linux lists them."""

from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Process number and command line of each process that this one, or one of its descendants, has started."""
    commands, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            commands[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        parents[int(folder.name)] = int(status[1])
    found: dict[int, str] = {}
    level = {pid}
    while level := {child for child, parent in parents.items() if parent in level and child in commands}:
        found |= {child: commands[child] for child in level}
    return found


def replicas(pid: int) -> list[int]:
    """The numbers of the processes in which Ray runs the replicas of `translate-corpus`, which has number `pid`."""
    return sorted(child for child, command in descendants(pid).items() if command.startswith("ray::Replica"))
