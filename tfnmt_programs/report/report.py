"""A report on runs: one page with their settings, curves and scores, and what they make of some sentences."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import tfnmt
from tfnmt.data.parallel import ParallelFiles
from tfnmt.data.progress import duration
from tfnmt.files import file_digest
from tfnmt_programs.report.classifiers import classification_sections
from tfnmt_programs.report.curves import draw_curves
from tfnmt_programs.report.page import escape, page, picture, table
from tfnmt_programs.report.runs import Run, different_settings
from tfnmt_programs.report.translators import translation_sections


def report(
    runs: Sequence[Run],
    pairs: ParallelFiles | None = None,
    data: Sequence[str] | None = None,
    examples: int = 5,
    beam_size: int = 5,
    tokenize: str = "13a",
) -> str:
    """A report as one HTML page that needs nothing else.

    Args:
        runs: translators, classifiers, or both.
        pairs: what translators are scored on; None: what each was scored on in training.
        data: files of what classifiers are scored on; None: as `pairs`.
        examples: how many of the best and of the worst are shown.
        beam_size: of translators.
        tokenize: sacrebleu's tokenization for BLEU.

    Raises:
        UserError: a file of a run or of the data is missing or broken.
    """
    sections = {"Runs": _overview(runs)}
    with tempfile.TemporaryDirectory() as folder:
        groups = _groups(runs, pairs, data, Path(folder))
        for title, (members, files) in groups.items():
            made = {"Curves": _curves(members)}
            if members[0].kind == "translator":
                made |= translation_sections(members, ParallelFiles(*files), examples, beam_size, tokenize)
            else:
                made |= classification_sections(members, files, examples)
            sections |= {heading if len(groups) == 1 else f"{heading}, {title}": body for heading, body in made.items()}
    about = f"Written by <code>tfnmt report</code>, tfnmt {escape(tfnmt.__version__)}."
    title = ", ".join(run.name for run in runs) if len(runs) <= 3 else f"{len(runs)} runs"
    return page(title, sections, about)


def _overview(runs):
    """What the runs are, and the settings in which they differ."""
    rows = []
    for run in runs:
        last = run.history[-1] if run.history else None
        told = ("", "", "") if last is None else (int(last["epoch"]), int(last["steps"]), duration(last["seconds"]))
        rows.append((run.name, run.kind, run.preset_name(), *told))
    overview = table(("run", "kind", "preset", "epochs", "batches", "time"), rows)
    for kind in ("translator", "classifier"):
        members = [run for run in runs if run.kind == kind]
        settings = [(key, *values) for key, values in different_settings(members).items()]
        if settings:
            columns = ("setting", *(run.name for run in members))
            overview += table(columns, settings, f"Settings in which the {kind}s differ")
    return overview


def _curves(members):
    """The curves of those runs of a group that have any, over each other."""
    known = [run for run in members if run.history]
    if not known:
        return ""
    told = "Lines are scores on dev data, dotted ones those on training data, over the epochs."
    names = ", ".join(run.name for run in known)
    return f'<p class="faint">{told}</p>{picture(draw_curves(known), f"Curves of {names}")}'


def _groups(runs, pairs, data, folder):
    """{title: (runs, files)}: those of one kind and task on the same files, which are known by their digests."""
    groups: dict[tuple, tuple[list[Run], tuple[Path, ...]]] = {}
    for run in runs:
        task = "translation" if run.kind == "translator" else run.preset.model.task
        named = pairs.paths() if pairs and run.kind == "translator" else data if run.kind == "classifier" else None
        files = tuple(map(Path, named)) if named else run.dev_files(folder / task)
        members, _ = groups.setdefault((task, *map(file_digest, files)), ([], files))
        members.append(run)
    tasks = [task for task, *_ in groups]
    titles = [
        task if tasks.count(task) == 1 else f"{task} of {', '.join(run.name for run in members)}"
        for task, (members, _) in zip(tasks, groups.values(), strict=True)
    ]
    return dict(zip(titles, groups.values(), strict=True))
