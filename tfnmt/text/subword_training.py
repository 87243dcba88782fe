"""Learning SentencePiece models from text."""

import io
import itertools
import random
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tfnmt.errors import UserError
from tfnmt.text.tokenizer import END, PADDING, START, UNKNOWN, normalized_chunks

# All Unicode white space becomes a plain space, so that no piece contains a tab or a no-break space. Apart from this
# and NFC, the text is not changed; SentencePiece's default (NFKC) would rewrite "½".
_WHITE_SPACE = [*range(0x09, 0x0E), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), *range(0x2028, 0x202A)]
_WHITE_SPACE += [0x202F, 0x205F, 0x3000]
# SentencePiece keeps its training text in memory. Of a larger corpus it gets a random sample of this many lines.
_LARGEST_SAMPLE = 1_000_000


class VocabularyTooLargeError(UserError):
    """A text has fewer subwords than are asked for.

    Attributes:
        largest: how many can be learned from it.
    """

    def __init__(self, message: str, largest: int):
        super().__init__(message)
        self.largest = largest


def train_sentencepiece(
    lines: Iterable[str], vocabulary_size: int, model_type: str, lowercase: bool, character_coverage: float, seed: int
) -> bytes:
    """The model that is learned from text, as `SubwordTokenizer.train` describes it, in the format of SentencePiece.

    Raises:
        UserError: no text, or a vocabulary size that is impossible for the text; names the nearest possible one.
    """
    normalized = (line for chunk in normalized_chunks(lines, lowercase) for line in chunk.numpy())
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as directory:
        rules = Path(directory, "white_space.tsv")
        rules.write_text("".join(f"{code:X}\t20\n" for code in _WHITE_SPACE), encoding="ascii")
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(_sample(normalized, _LARGEST_SAMPLE, seed)),
                model_writer=model,
                model_type=model_type,
                vocab_size=vocabulary_size,
                character_coverage=character_coverage,
                normalization_rule_tsv=str(rules),
                pad_id=PADDING,
                unk_id=UNKNOWN,
                bos_id=START,
                eos_id=END,
                unk_surface="<unk>",
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _explain(error, vocabulary_size) from error
    description = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    description.normalizer_spec.ClearField("normalization_rule_tsv")  # the temporary file's name
    return description.SerializeToString(deterministic=True)


def _sample(lines, size, seed):
    """So many lines, each as probable as every other (Vitter 1985, algorithm R).

    SentencePiece can take a sample itself, but newer versions take another one in each process, whatever its seed.
    """
    rng, sample = random.Random(seed), list(itertools.islice(lines, size))
    for number, line in enumerate(lines, start=size):
        place = rng.randint(0, number)
        if place < size:
            sample[place] = line
    return sample


def _explain(error: RuntimeError, vocabulary_size: int) -> Exception:
    """SentencePiece's error about its training text as one line that says what to do."""
    if largest := re.search(r"Vocabulary size too high.*<= (\d+)", str(error)):
        return VocabularyTooLargeError(
            f"a vocabulary of {vocabulary_size} subwords is too large for this text: "
            f"at most {largest[1]} can be learned from it; lower vocabulary_size",
            int(largest[1]),
        )
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
        return UserError(
            f"a vocabulary of {vocabulary_size} subwords is too small for this text: "
            f"its characters alone need {smallest[1]}; raise vocabulary_size, or lower character_coverage"
        )
    if "sentences_.empty()" in str(error) or "all_chars_count" in str(error):
        return UserError("no text to learn subwords from: every line is empty or over 4,192 bytes")
    return error
