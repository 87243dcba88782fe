"""A loaded version takes what its tokenizers hold with it when it goes."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
import tensorflow as tf

from tests.classification.test_servable import made as classifier
from tfnmt.classification.servable import ClassifierServable
from tfnmt.serving.limits import Limits
from tfnmt.serving.options import BatchingOptions
from tfnmt.serving.versions import Version


@pytest.mark.parametrize("tokenizer", ["subwords", "words"])
def test_tokenizers_are_freed(tokenizer, request, export_once):
    if tokenizer == "subwords":
        path = request.getfixturevalue("exported")
    else:
        path = export_once(lambda: ClassifierServable(classifier("spinn", "snli")), "pairs")
    with ThreadPoolExecutor(1) as pool:
        version = Version(path, pool, pool, BatchingOptions(), Limits(), lambda rows: None, lambda seconds: None)
    encode, texts = version._functions["encode"], tf.constant(["a b c"])
    encode(text=texts)
    del version
    with tf.Graph().as_default():
        gc.collect()
    with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
        encode(text=texts)
