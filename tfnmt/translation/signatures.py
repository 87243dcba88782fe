"""The signatures of an exported translator: what each takes and gives, and how much one request may hold."""

ALTERNATIVES = 8
"""How many the signature of this name gives."""

_TEXTS = "string [batch]: sentences, UTF-8"
_PREFIXES = "string [batch]: what each translation is to begin with, whole words, or nothing"
SIGNATURES = {
    "serving_default": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation; an empty text's is empty",
            "score": "float32 [batch]: its log-probability, which a beam of 2 or more divides by its length (with its"
            " end) to the power of the length penalty, and greedy search, a beam of 1, does not",
        },
    },
    "nbest": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translations": "string [batch, n]: the n best translations, best first; empty where there are fewer",
            "scores": "float32 [batch, n]: their scores, as of serving_default; -1e9 where there are fewer",
        },
    },
    "align": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "translation": "string [batch]: the best translation",
            "source_words": "string [batch, source_length]: what the model read, then empty strings as padding",
            "target_words": "string [batch, target_length]: what it wrote, then empty strings as padding",
            "attention": "float32 [batch, target_length, source_length]: which words read each written one looked at;"
            " a written word's sum is 1, and padding is 0",
        },
    },
    "complete": {
        "inputs": {"text": _TEXTS, "prefix": _PREFIXES},
        "outputs": {
            "translations": "string [batch, n]: the n best translations that begin so, best first; empty where there"
            " are fewer",
            "scores": "float32 [batch, n]: their scores, as of serving_default; -1e9 where there are fewer",
            "source_words": "string [batch, source_length]: what the model read, then empty strings as padding",
            "source_written": "string [batch, source_length]: the same as the text has it, unknown words too",
            "target_words": "string [batch, target_length]: the best translation as the model wrote it, then padding",
            "attention": "float32 [batch, target_length, source_length]: as of align",
        },
    },
    "alternatives": {
        "inputs": {"text": _TEXTS, "prefix": _PREFIXES},
        "outputs": {
            "translations": f"string [batch, {ALTERNATIVES}]: by greedy search, translations that begin so and go on"
            " with the most probable token, the second, and so on; empty where there is none",
            "probabilities": f"float32 [batch, {ALTERNATIVES}]: of these tokens",
        },
    },
    "score": {
        "inputs": {"source": _TEXTS, "target": "string [batch]: a translation of each, UTF-8"},
        "outputs": {"log_probability": "float32 [batch]: of the target and its end, given the source"},
    },
    "encode": {
        "inputs": {"text": _TEXTS},
        "outputs": {
            "summary": "float32 [batch, size]: the encoder's summary of each text (those of an ensemble concatenated)"
        },
    },
}

_SEARCH = {"text_tokens": 128, "request_tokens": 400}
LIMITS = {
    "serving_default": _SEARCH,
    "nbest": _SEARCH,
    "align": _SEARCH,
    "complete": _SEARCH,
    "alternatives": {"text_tokens": 128, "request_tokens": 256},
    "score": {"text_tokens": 400, "request_tokens": 2000},
    "encode": {"text_tokens": 400, "request_tokens": 4000},
}
"""As much as takes the preset `multi30k` with a beam of 5 no more than a second of a processor."""


def signatures(has_attention: bool) -> dict[str, dict[str, dict[str, str]]]:
    """{signature: {"inputs": {name: text}, "outputs": {name: text}}} of a translator with or without attention."""
    if has_attention:
        return SIGNATURES
    without = {name: signature for name, signature in SIGNATURES.items() if name != "align"}
    outputs = {name: text for name, text in SIGNATURES["complete"]["outputs"].items() if name != "attention"}
    return without | {"complete": {**SIGNATURES["complete"], "outputs": outputs}}
