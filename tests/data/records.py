"""Records of given pairs, written without Ray, for the tests."""

from tfnmt.data.preparing.configuration import FilterConfiguration
from tfnmt.data.preparing.duplicates import find_duplicates
from tfnmt.data.preparing.index import write_index
from tfnmt.data.preparing.inputs import find_inputs, read_parts
from tfnmt.data.preparing.parts import write_part
from tfnmt.data.preparing.shards import write_shard
from tfnmt.data.records import ParallelRecords
from tfnmt.text.tokenizer_configuration import TextConfiguration


def write_records(directory, pairs, tokenizers, shard_pairs=1000, text=None, **filters):
    """`ParallelRecords` of pairs of strings, with shards of so many before duplicates are dropped."""
    filters = {"minimum_letters": 0.0, "drop_identical": False, "drop_duplicates": False} | filters
    filters = FilterConfiguration(**filters)
    parts = directory / "parts"
    parts.mkdir(parents=True)
    corpus = directory / "corpus.tsv"
    corpus.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    inputs = find_inputs([str(corpus)], None)
    names = [write_part(parts, inputs[0], part, filters)["name"] for part in read_parts(inputs[0], shard_pairs)]
    if filters.drop_duplicates:
        find_duplicates(parts, names, 0, 1)
    for place, name in enumerate(names):
        write_shard(directory, parts, name, place, tokenizers)
    for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        for file, content in tokenizer.files(name).items():
            (directory / file).write_bytes(content)
    write_index(directory, parts, inputs, text or TextConfiguration(tokenizer="words"))
    return ParallelRecords(directory)
