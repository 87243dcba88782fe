"""CTranslate2 4.8 with a small Transformer, to be measured beside this project: its settings and data.

The Transformer is the "tiny" one of research on Multi30k (Wu et al. 2021, arXiv:2105.14462): 4 layers on each side, of
128 units, 4 heads, 256 in the feed-forward layers. Its vocabulary is that of our model.
"""

from argparse import Namespace

from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.peer_process import Batches, PeerProcess

TINY = {"layers": 4, "units": 128, "heads": 4, "feed_forward_units": 256}


def start_translating(model: Translator, batches: Batches, options: Namespace) -> PeerProcess:
    """A process that translates with random weights; arguments as in `joeynmt_peer.start_translating`.

    Args:
        options: has `peer_precision`, too: "float32" or "int8".
    """
    settings = TINY | {
        "vocabulary_size": model.target_tokenizer.vocabulary_size,
        "precision": options.peer_precision,
        "threads": options.threads,
        "beam_size": options.beam_size,
    }
    return PeerProcess(options.peer_python, "ctranslate2_worker.py", settings, batches)
