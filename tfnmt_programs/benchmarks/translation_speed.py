"""How fast a translator translates, beside what this machine could do at best, and beside other toolkits.

What it could do at best is the larger of two times for a word. To compute it: the operations of the decoder's products,
for every beam, and a word's share of the encoder's, over the rate of large matrix products. To read the weights: each
step needs all of the decoder's matrices once, for all sentences and beams of a batch together, over the rate at which
memory is read. (Matrices that fit into the processor's cache are read faster: then that bound does not hold.)

The others have random weights, JoeyNMT and Marian in the same sizes, CTranslate2 in those of a small Transformer. They
are given the same batches as ids, and take as many steps for each batch as our longest translation in it has words
(Marian: as many for all batches together); they have no text to tokenize and to write. Marian alone gets text, a word
for each id, makes batches of as many sentences itself, and writes text. With trained weights JoeyNMT's greedy search
takes as many steps. Its beam search would take more, until all K hypotheses of the last sentence are finished. All but
JoeyNMT's greedy search remove finished sentences from the batch, as ours does, but with random weights none finishes:
with `preset` neither does in ours, and all sides have the same work.
"""

import dataclasses
import statistics
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import tfnmt
from tfnmt.data.lines import read_lines
from tfnmt.errors import UserError
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import END
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.presets import find_preset
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher, batches_for_threads
from tfnmt.translation.shortlist import load_shortlist
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks import ctranslate2_peer, joeynmt_peer, marian_peer
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.machine_rates import LARGE, matrix_rate, memory_rate, rate_of_several
from tfnmt_programs.benchmarks.untrained import untrained_translator
from tfnmt_programs.benchmarks.work import translator_multiplications
from tfnmt_programs.measuring import seconds_of

PEERS = {"joeynmt": joeynmt_peer, "ctranslate2": ctranslate2_peer, "marian": marian_peer}
RANDOM_WORDS = 20  # of each sentence that a preset's random weights translate


def translation_speed(options: Namespace) -> dict[str, Any]:
    """Translate the same sentences several times.

    Args:
        options: has `model` (a directory) and `source` (a file), or `preset` (a name: random weights, random
            sentences, as many as `sentences`), `target` (a file of references, or None), `shortlist`, `precision`,
            `beam_size`, `batch_size`, `rounds`, `threads`, `peer` (a key of `PEERS` or None), `peer_precision` and
            `peer_python`, as `tfnmt benchmark` explains them.

    Returns:
        A dictionary of figures: the median rate, seconds a word and the machine's rates, of as many threads as search
        at once; of an exact search, in float32 over all words, the floor of these; with a peer, its rate and the
        ratios; with references, BLEU of this search and of the exact one.

    Raises:
        UserError: the model cannot be loaded or the file be read, it has no words, or the peer cannot be run.
    """
    if options.peer and not options.peer_python:
        raise UserError(f"--peer-python is missing: a Python that has {options.peer}")
    model, sources, limits = _random(options) if options.preset else _trained(options.model, options.source)
    references = _references(options.target, sources, options.source) if options.target else None
    configuration = SearchConfiguration(
        beam_size=options.beam_size, precision=options.precision, scores=False, **limits
    )
    searcher = Searcher(model, configuration, load_shortlist(options.shortlist) if options.shortlist else None)
    is_exact = not options.shortlist and options.precision == "float32"
    first = _seconds(searcher, sources[:1], options.batch_size)
    found = searcher.translate(sources, options.batch_size)
    labels = [[*one.ids[0, : one.lengths[0]], *([] if limits else [END])] for one in found]
    rates, peer = _rates(searcher, model, sources, labels, options)
    figures = dict.fromkeys(("peer", "ratio", "ratio_min", "ratio_max"))
    figures["ours"] = statistics.median(rates["ours"])
    if options.peer:
        figures = ratio_figures(rates["ours"], rates["peer"]) | peer
    words = sum(map(len, labels))
    figures |= {"unit": "sentences/s", "seconds_per_word": len(sources) / figures["ours"] / words}
    figures |= {
        "matrix_gflops": statistics.median(rates["matrix"]),
        "memory_gbytes": statistics.median(rates["memory"]),
    }
    if is_exact:
        figures |= _floor(model, sources, labels, options, figures)
    if references:
        exact = configuration.replace(precision="float32")
        others = found if is_exact else Searcher(model, exact).translate(sources)
        for name, translations in (("bleu", found), ("bleu_exact", others)):
            texts = [one.texts[0].decode("utf-8") for one in translations]
            figures[name] = translation_scores(texts, references, options.bleu_tokenize)["bleu"]
    sizes = ("beam_size", "batch_size", "precision", "rounds")
    return (
        figures
        | {"sentences": len(sources), "words": words, "weights": model.count_params(), "first_seconds": first}
        | {name: getattr(options, name) for name in sizes}
    )


def _rates(searcher, model, sources, labels, options):
    """The rates of our search, the peer's if there is one, products and memory, all measured in turn; and what the
    peer tells of itself."""
    batches = batches_for_threads(sources, options.batch_size, options.threads)
    at_once = min(options.threads, len(batches))
    measurements = {
        "ours": lambda: len(sources) / _seconds(searcher, sources, options.batch_size),
        "matrix": lambda: rate_of_several(at_once, lambda: matrix_rate(*LARGE)),
        "memory": lambda: rate_of_several(at_once, memory_rate),
    }
    if not options.peer:
        return alternate(measurements, options.rounds), {}
    with PEERS[options.peer].start_translating(model, _as_ids(batches, searcher, sources, labels), options) as peer:
        told = peer.answer()
        peer.ask()  # every shape once, before the clock runs
        measurements["peer"] = lambda: len(sources) / peer.ask()["seconds"]
        return alternate(measurements, options.rounds), {
            "peer_precision": options.peer_precision,
            **{f"peer_{name}": told[name] for name in ("threads", "words", "version") if name in told},
        }


def _floor(model, sources, labels, options, figures):
    """How long a word takes at least, and how many times as long it took."""
    flop, weight_bytes = work_per_word(model, sources, labels, options.beam_size)
    of_operations = flop / figures["matrix_gflops"] / 1e9
    batches = batches_for_threads(sources, options.batch_size, options.threads)
    of_memory = weight_bytes / figures["memory_gbytes"] / 1e9 * len(batches) / len(sources)
    return {
        "share_of_matrix_rate": of_operations / figures["seconds_per_word"],
        "floor_of_operations": of_operations,
        "floor_of_memory": of_memory,
        "times_the_floor": figures["seconds_per_word"] / max(of_operations, of_memory),
        "mflop_per_word": flop / 1e6,
        "mbytes_per_step": weight_bytes / 1e6,
    }


def work_per_word(
    model: Translator, sources: Sequence[str], labels: Sequence[Sequence[int]], beam_size: int
) -> tuple[float, int]:
    """What a target word costs at least.

    Args:
        sources: a list of strings.
        labels: for each, the ids of the words that are found, END among them if it is.
        beam_size: rows of the decoder for each sentence.

    Returns:
        (floating-point operations of the products, bytes of the matrices that each step of the decoder multiplies
        with).
    """
    counts = translator_multiplications(model)
    before_the_search = dataclasses.replace(counts, target_word=0, word_pair=0)
    in_the_search = dataclasses.replace(counts, source_word=0, sentence=0)
    encoded = model.source_tokenizer.encode(sources).to_list()
    pairs = [(len(source) + 1, len(found)) for source, found in zip(encoded, labels, strict=True) if found]
    source, target = np.transpose(pairs)
    multiplications = before_the_search.count(source, target) + beam_size * in_the_search.count(source, target)
    return 2 * multiplications / target.sum(), 4 * counts.target_word


def _references(path, sources, source_path):
    """A file's lines, as many as there are sources."""
    references = list(read_lines(path))
    if len(references) != len(sources):
        raise UserError(f"{path}: has {len(references)} lines, {source_path} has {len(sources)}")
    return references


def _as_ids(batches, searcher, sources, labels):
    """What `start_translating` takes: our batches, with the words of the longest translation in each."""
    found = []
    for batch in batches:
        source = searcher.ensemble.source_ids(tf.constant([sources[i] for i in batch])).numpy()
        longest_first = np.argsort(-np.count_nonzero(source, axis=1), kind="stable")  # as JoeyNMT wants them
        found.append({"source": source[longest_first], "steps": max(len(labels[i]) for i in batch)})
    return found


def _trained(directory, source):
    """A model, a file's lines, and no limits."""
    sources = list(read_lines(source))
    if not any(line.strip() for line in sources):
        raise UserError(f"{source}: there is nothing to translate")
    return tfnmt.load(directory, "translator"), sources, {}


def _random(options):
    """A preset's untrained model, which never writes END; random sentences; limits: as many words as these have."""
    preset = find_preset(options.preset)
    model = untrained_translator(preset.model, preset.text.vocabulary_size)
    vocabulary = np.arange(model.source_tokenizer.vocabulary_size)
    model.decoder.b.assign(np.where(vocabulary == END, -1000.0, 0.0))
    words = [f"w{i}" for i in range(len(vocabulary) - len(SPECIAL_TOKENS))]  # those of the placeholder tokenizer
    drawn = np.random.default_rng(1).choice(words, [options.sentences, RANDOM_WORDS])
    limits = {"maximum_length_factor": 1.0, "maximum_length_offset": 0}
    return model, [" ".join(words) for words in drawn], limits


def _seconds(searcher, sources, batch_size):
    return seconds_of(lambda: searcher.translate(sources, batch_size))
