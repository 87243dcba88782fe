"""What a report shows of translators: scores, the best and worst translations, lengths, attention."""

from collections.abc import Mapping, Sequence

import sacrebleu

import tfnmt
from tfnmt.data.parallel import ParallelFiles
from tfnmt.inspection.attention import attention_matrices, draw_attention
from tfnmt.translation.evaluation import evaluate_translator, read_references
from tfnmt_programs.figures.length import bleu_by_length, draw_bleu_by_length
from tfnmt_programs.report.page import escape, example, marked, picture, side_by_side, table
from tfnmt_programs.report.runs import Run

MEASURES = ("bleu", "chrf", "ter", "perplexity")
DRAWN = 2
"""Sentences whose attention is drawn."""
LONGEST_DRAWN = 20
"""Words of a sentence that is drawn."""


def translation_sections(
    runs: Sequence[Run], files: ParallelFiles, examples: int, beam_size: int, tokenize: str = "13a"
) -> dict[str, str]:
    """{heading: HTML} of translators on the same files.

    Args:
        runs: of translators.
        files: sentence pairs.
        examples: how many of the best and of the worst translations are shown.
        beam_size: of the search.
        tokenize: sacrebleu's tokenization for BLEU.
    """
    figures, translations, models = {}, {}, {}
    for run in runs:
        models[run.name] = model = tfnmt.load(run.directory, "translator")
        figures[run.name], translations[run.name] = evaluate_translator(model, files, beam_size, tokenize=tokenize)
    sources, references = read_references(model, files)
    return {
        "Scores": _scores(figures, files, beam_size),
        "Translations": _best_and_worst(sources, references, translations, examples),
        "Lengths": _lengths(sources, references, translations, tokenize),
        "Attention": _attention(models, sources, beam_size),
    }


def _scores(figures, files, beam_size):
    rows = [(name, *(float(of_run[measure]) for measure in MEASURES)) for name, of_run in figures.items()]
    sentences = next(iter(figures.values()))
    caption = f"{sentences['sentences']:,} sentences of {' and '.join(map(_name, files.paths()))}, beam of {beam_size}"
    signatures = "".join(
        f"<br><code>{escape(sentences[f'{name}_signature'])}</code>" for name in ("bleu", "chrf", "ter")
    )
    return f'{table(("run", *MEASURES), rows, caption)}<p class="faint">Signatures:{signatures}</p>'


def _name(path):
    return str(path).rpartition("/")[2]


def _best_and_worst(sources: Sequence[str], references: Sequence[str], translations: Mapping[str, list[str]], number):
    """Sentences by the mean chrF of all runs; of several runs also those on which they differ most."""
    chrf = sacrebleu.CHRF()
    scores = [
        [chrf.sentence_score(texts[i], [reference]).score for texts in translations.values()]
        for i, reference in enumerate(references)
    ]
    mean = {i: sum(of_sentence) / len(of_sentence) for i, of_sentence in enumerate(scores)}
    worst = sorted(mean, key=lambda i: (mean[i], -len(sources[i])))[:number]
    best = sorted(mean, key=lambda i: (-mean[i], -len(sources[i])))[:number]
    shown = {"Worst": worst, "Best": best}
    if len(translations) > 1:
        apart = sorted(mean, key=lambda i: min(scores[i]) - max(scores[i]))[:number]
        shown = {"Furthest apart": apart} | shown

    def lines(i):
        rows = {"source": escape(sources[i]), "reference": escape(references[i])}
        for (name, texts), score in zip(translations.items(), scores[i], strict=True):
            rows[f"{name}, {score:.0f}"] = marked(texts[i], references[i]) or "<i>nothing</i>"
        return rows

    told = '<p class="faint">Beside each run, the chrF of its translation; marked, what the reference has not.</p>'
    return told + "".join(
        f"<h3>{title}</h3>" + "".join(example({f"line {i + 1}": ""} | lines(i)) for i in chosen)
        for title, chosen in shown.items()
    )


def _lengths(sources, references, translations, tokenize):
    rows = {name: bleu_by_length(sources, references, texts, tokenize=tokenize) for name, texts in translations.items()}
    return picture(draw_bleu_by_length(rows), f"BLEU of {', '.join(rows)} by the length of the source")


def _attention(models, sources, beam_size):
    chosen = [source for source in sources if 1 < len(source.split()) <= LONGEST_DRAWN][:DRAWN]
    rows = []
    for name, model in models.items():
        if chosen and model.configuration.attention != "none":
            matrices = attention_matrices(model, chosen, beam_size)
            rows.append(
                side_by_side(
                    picture(draw_attention([matrix]), f"Attention of {name}: {source}", name)
                    for source, matrix in zip(chosen, matrices, strict=True)
                )
            )
    return "".join(rows)
