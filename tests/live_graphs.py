"""Graphs that are traced and never freed: what lets the memory of a long training grow."""

import gc

import keras


class LiveGraphs(keras.callbacks.Callback):
    """Counts the graphs that are alive at the end of each epoch, in `counts`. It stands after all other callbacks."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def on_epoch_end(self, epoch, logs=None):
        gc.collect()
        self.counts.append(sum(type(thing).__name__ == "FuncGraph" for thing in gc.get_objects()))
