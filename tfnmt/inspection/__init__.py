"""What a model has learnt and what it costs: pictures, boards, benchmarks."""

import matplotlib

matplotlib.rcParams["text.parse_math"] = False  # words are drawn as they are, dollar signs and all
