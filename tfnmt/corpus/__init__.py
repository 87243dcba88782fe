"""Translating, parsing and classifying corpora of any size, by several processes on one machine or on many."""
