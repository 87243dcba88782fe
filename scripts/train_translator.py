"""Train a translator on files of sentence pairs, or on the project's own sample corpus."""

import argparse
import tempfile

from _start import run
from _tensorboard import add_board_options, profiled_steps
from tfnmt.configuration import describe, parse_overrides
from tfnmt.errors import UserError
from tfnmt.models.presets import PRESETS, Preset, find_preset


def parser():
    default = PRESETS["multi30k"]
    keys = describe(default.model, default.text, default.batching, default.training)
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"keys of --set, with their values in the preset multi30k:\n{keys}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="the model directory")
    parser.add_argument("--preset", default="tiny", metavar="NAME", help=f"one of {', '.join(PRESETS)} (default: tiny)")
    parser.add_argument(
        "--source",
        metavar="F",
        help="training sentences, or a .tsv of both sides; .gz too (default: the sample)",
    )
    parser.add_argument("--target", metavar="F", help="their translations, line by line")
    parser.add_argument("--dev-source", metavar="F", help="sentences by which the best weights are chosen")
    parser.add_argument("--dev-target", metavar="F", help="their translations, line by line")
    parser.add_argument("--epochs", metavar="N", help="the same as --set epochs=N")
    parser.add_argument("--steps", metavar="N", help="the same as --set steps=N")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="change the preset; see below",
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in DIR, after a kill at any moment")
    add_board_options(parser)
    return parser


def main(arguments, output):
    from tfnmt.inspection.translator_board import watch_translator
    from tfnmt.models.training import train_translator

    settings = [f"{key}={value}" for key in ("epochs", "steps") if (value := getattr(arguments, key)) is not None]
    preset = find_preset(arguments.preset)
    configurations = (preset.model, preset.text, preset.batching, preset.training)
    preset = Preset(*parse_overrides(arguments.set + settings, *configurations))
    profile_steps = profiled_steps(arguments)
    with tempfile.TemporaryDirectory() as directory:
        files, dev_files = chosen_files(arguments, directory)
        watch = watch_translator(arguments.output, preset, dev_files, profile_steps) if not arguments.no_board else None
        _, progress = train_translator(arguments.output, preset, files, dev_files, arguments.resume, watch)
    measure = f"dev_{preset.training.selection}"
    print(
        f"{arguments.output}: best {measure} {abs(progress.best_score):.4f}, of epoch {progress.best_epoch}",
        file=output,
    )


def chosen_files(arguments, directory):
    """The files that the options name, or else the sample corpus, written to `directory`."""
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.data.sample import write_sample

    if arguments.source is None:
        for option in ("target", "dev_source", "dev_target"):
            if getattr(arguments, option) is not None:
                raise UserError(f"--source is missing: --{option.replace('_', '-')} means nothing without it")
        sample = write_sample(directory)
        return tuple(ParallelFiles(sample[f"{part}.en"], sample[f"{part}.de"]) for part in ("train", "dev"))
    if arguments.dev_source is None:
        raise UserError("--dev-source is missing: pairs that are not trained on, by which the best weights are chosen")
    return (
        ParallelFiles(arguments.source, arguments.target),
        ParallelFiles(arguments.dev_source, arguments.dev_target),
    )


if __name__ == "__main__":
    run(main, parser())
