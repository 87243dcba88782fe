"""Draw figures, most of them from trained models, as PNG or SVG (by the ending of --output)."""

import argparse
from typing import TextIO

from tfnmt.commands.parser import CommandParser, positive
from tfnmt.commands.search_options import add_bleu_tokenize
from tfnmt.errors import UserError
from tfnmt_programs.commands.figure_parser import add_figure
from tfnmt_programs.commands.post_figures import add_post_figures
from tfnmt_programs.commands.summary_figures import add_summary_figures

MOST_WORDS = 100
"""Of a tree that is drawn: words of more could not be read."""


def add_options(parser: CommandParser) -> None:
    """Add the options of this verb."""
    figures = parser.add_subparsers(dest="figure", required=True, metavar="FIGURE")
    for add in (
        add_length,
        add_attention,
        add_tree,
        add_stack,
        add_batch,
        add_graphs,
        add_growth,
    ):
        add(figures)
    add_summary_figures(figures)
    add_post_figures(figures)


def add_length(figures):
    length = add_figure(figures, "length", draw_length, "BLEU by sentence length, a line for each model")
    length.add_argument("--model", required=True, nargs="+", metavar="DIR", help="model directories")
    length.add_argument("--source", required=True, metavar="F", help="sentences, or a .tsv of both sides")
    length.add_argument("--target", metavar="F", help="their reference translations, line by line")
    length.add_argument("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")
    add_bleu_tokenize(length)


def draw_length(arguments, output):
    import tfnmt
    from tfnmt.data.parallel import ParallelFiles
    from tfnmt.inspection.figures import save
    from tfnmt_programs.figures.length import bleu_by_length, draw_bleu_by_length
    from tfnmt_programs.model_names import distinct_names

    files = ParallelFiles(arguments.source, arguments.target)
    files.check()
    sources, references = (list(side) for side in files.sides())
    rows_of_models = {}
    for directory, name in zip(arguments.model, distinct_names(arguments.model), strict=True):
        translations = tfnmt.load(directory, "translator").translate(sources, arguments.beam_size)
        rows = bleu_by_length(sources, references, translations, tokenize=arguments.bleu_tokenize)
        rows_of_models[name] = rows
        for label, count, bleu in rows:
            print(f"{name}\t{label} words\t{count} sentences\tBLEU {bleu:.2f}", file=output)
    save(draw_bleu_by_length(rows_of_models), arguments.output)


def add_attention(figures):
    attention = add_figure(figures, "attention", draw_attention, "where a translator looks while it writes")
    attention.add_argument("--model", required=True, metavar="DIR", help="the model directory")
    attention.add_argument("--sentence", required=True, nargs="+", metavar="TEXT", help="what to translate")
    attention.add_argument("--beam-size", type=positive, default=5, metavar="K", help="1 is greedy search (default: 5)")


def draw_attention(arguments, output):
    import tfnmt
    from tfnmt.inspection import attention
    from tfnmt.inspection.figures import save
    from tfnmt.text.unknown_tokens import log_unknown

    model = tfnmt.load(arguments.model, "translator")
    if model.configuration.attention == "none":
        raise UserError(f"{arguments.model}: looks at no words, for it has attention=none")
    log_unknown(model.source_tokenizer, arguments.sentence)
    matrices = attention.attention_matrices(model, arguments.sentence, arguments.beam_size)
    save(attention.draw_attention(matrices), arguments.output)
    for _, target, _ in matrices:
        print(" ".join(target), file=output)


def add_tree(figures):
    tree = add_figure(figures, "tree", draw_tree, "binary trees side by side, such as given, predicted and learned")
    tree.add_argument(
        "--brackets",
        nargs="+",
        metavar="TREE",
        help='such as "( ( The church ) ( has cracks ) )" (default: the sentence of the post on SPINN)',
    )
    tree.add_argument(
        "--model",
        nargs="+",
        default=[],
        metavar="DIR",
        help="models that parse: each one's own tree of the first's words",
    )
    tree.add_argument("--title", nargs="+", metavar="TEXT", help="what stands over each tree, those of models last")


def draw_tree(arguments, output):
    import tfnmt
    from tfnmt.inspection.figures import save
    from tfnmt.inspection.trees import EXAMPLE, draw_trees
    from tfnmt_programs.model_names import distinct_names

    given = arguments.brackets or [EXAMPLE]
    trees = [parsed(brackets) for brackets in given]
    names = ["given"] * len(trees) if len(trees) == 1 else [f"given {i}" for i in range(1, len(trees) + 1)]
    for directory in arguments.model:
        (brackets,) = tfnmt.load(directory, "classifier").parse(given[:1])
        print(f"{directory}\t{brackets}", file=output)
        trees.append(parsed(brackets))
    titles = arguments.title or [*names, *distinct_names(arguments.model)]
    if len(titles) != len(trees) or len(set(titles)) != len(titles):
        raise UserError(f"--title: give each of the {len(trees)} trees a title of its own")
    save(draw_trees(dict(zip(titles, trees, strict=True))), arguments.output)


def add_stack(figures):
    stack = add_figure(figures, "stack", draw_stack, "shift-reduce parsing, as a strip of stacks and buffers")
    stack.add_argument("--brackets", metavar="TREE", help="the parse (default: the sentence of the post on SPINN)")


def draw_stack(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt.inspection.trees import EXAMPLE, draw_shift_reduce, shift_reduce_steps

    words, transitions = parsed(EXAMPLE if arguments.brackets is None else arguments.brackets)
    save(draw_shift_reduce(words, transitions), arguments.output)
    for action, stack, buffer in shift_reduce_steps(words, transitions):
        print(f"{action}\t{' | '.join(stack)}\t{' '.join(buffer)}", file=output)


def add_batch(figures):
    batch = add_figure(
        figures, "batch", draw_batch, "what a static graph composes together of a batch of two sentences"
    )
    batch.add_argument(
        "--brackets",
        nargs=2,
        metavar="TREE",
        help="their parses (default: the sentence of the post on SPINN, and a shorter one)",
    )


def draw_batch(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.figures import batch_pictures as pictures

    trees = [parsed(brackets) for brackets in arguments.brackets or pictures.PAIR]
    save(pictures.draw_batch(trees), arguments.output)
    for name, composed in (("depth", pictures.composed_by_depth), ("step", pictures.composed_by_step)):
        for number, made in enumerate(composed(trees)[0], start=1):
            if made:
                phrases = (pictures.phrase(*trees[sentence], node) for sentence, node in made)
                print(f"{name} {number}\t{' | '.join(phrases)}", file=output)


def add_graphs(figures):
    add_figure(figures, "graphs", draw_graphs, "a sentence read by a static graph, and by calls of define-by-run")


def draw_graphs(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.graphs.pictures import draw_static_and_by_run

    save(draw_static_and_by_run(), arguments.output)


def add_growth(figures):
    growth = add_figure(figures, "growth", draw_growth, "time and memory of SPINN's training step by sentence length")
    encoders, lengths = ["spinn-pi-nt", "spinn-pi"], [10, 50, 100, 200, 300, 400, 500]
    growth.add_argument(
        "--encoder", nargs="+", default=encoders, metavar="E", help=f"encoders (default: {' '.join(encoders)})"
    )
    growth.add_argument(
        "--lengths", type=positive, nargs="+", default=lengths, metavar="N", help="words (default: 10 50 100 … 500)"
    )
    growth.add_argument("--pairs", type=positive, default=16, metavar="N", help="pairs in a batch (default: 16)")


def draw_growth(arguments, output):
    from tfnmt.classification.encoders import ENCODERS
    from tfnmt.inspection.figures import save
    from tfnmt_programs.benchmarks import growth

    rows_of_encoders = {}
    tree_encoders = [name for name, spec in ENCODERS.items() if spec.builds_trees]
    for encoder in arguments.encoder:
        if encoder not in tree_encoders:
            raise UserError(f"--encoder {encoder}: should be one of {', '.join(tree_encoders)}")
        rows_of_encoders[encoder] = rows = growth.growth(encoder, sorted(arguments.lengths), arguments.pairs)
        for length, seconds, grown in rows:
            print(f"{encoder}\t{length} words\t{1000 * seconds:.1f} ms\t{grown / 1e6:.0f} MB", file=output)
    save(growth.draw_growth(rows_of_encoders, arguments.pairs), arguments.output)


def parsed(brackets):
    """Words and transitions of a tree that an option gives."""
    from tfnmt.text.brackets import from_brackets

    try:
        words, transitions = from_brackets(brackets)
    except UserError as error:
        raise UserError(f"--brackets {brackets!r}: {error}") from None
    if len(words) > MOST_WORDS:
        raise UserError(f"--brackets: a tree of {len(words):,} words; at most {MOST_WORDS} can be read in a picture")
    return words, transitions


def main(arguments: argparse.Namespace, output: TextIO) -> None:
    """Run the verb; results are printed to `output`."""
    arguments.draw(arguments, output)
