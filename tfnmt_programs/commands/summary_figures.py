"""Figures of a translator's summary vectors: what `tfnmt plot` draws for the post's Figure 6."""

from tfnmt.commands.figures import print_figures
from tfnmt_programs.commands.figure_parser import add_figure


def add_summary_figures(figures):
    """Add them to the figures of `tfnmt plot`."""
    pca = add_figure(figures, "pca", draw_pca, "a translator's summary vectors of paraphrases, in two dimensions")
    pca.add_argument(
        "--sentences",
        metavar="F",
        help="groups of sentences that say the same, an empty line between groups (default: six groups in the manner"
        " of Multi30k, lowercased and tokenized English)",
    )
    meaning = "summary vectors of sentences in the active and passive voice, and with swapped roles"
    roles = add_figure(figures, "roles", draw_roles, meaning)
    roles.add_argument(
        "--words", default="sample", choices=("sample", "multi30k"), help="of which corpus (default: sample)"
    )
    for figure in (pca, roles):
        figure.add_argument("--model", required=True, metavar="DIR", help="the model directory")
        figure.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def draw_pca(arguments, output):
    import tfnmt
    from tfnmt.inspection import summary_vectors as vectors
    from tfnmt.inspection.figures import save
    from tfnmt.text.unknown_tokens import log_unknown

    groups = vectors.PARAPHRASES if arguments.sentences is None else vectors.read_groups(arguments.sentences)
    texts = [text for group in groups for text in group]
    model = tfnmt.load(arguments.model, "translator")
    log_unknown(model.source_tokenizer, texts)
    summaries = vectors.summary_vectors(model, texts)
    projected, explained = vectors.principal_components(summaries)
    figures = {"sentences": len(texts), "groups": len(groups), "explained": explained.tolist()}
    figures |= vectors.group_figures(summaries, [i for i, group in enumerate(groups) for _ in group])
    save(vectors.draw_summary_vectors(projected, explained, groups), arguments.output)
    print_figures(figures, arguments.json, output)


def draw_roles(arguments, output):
    import tfnmt
    from tfnmt.inspection.figures import save
    from tfnmt.inspection.summary_vectors import summary_vectors
    from tfnmt_programs.figures import roles

    model = tfnmt.load(arguments.model, "translator")

    def encode(texts):
        return summary_vectors(model, texts)

    events = roles.EVENTS[arguments.words]
    save(roles.draw_roles(encode, events), arguments.output)
    found = roles.role_figures(encode, events)
    figures = {f"{form}, {name}": value for form, by_name in found.items() for name, value in by_name.items()}
    print_figures(figures, arguments.json, output)
