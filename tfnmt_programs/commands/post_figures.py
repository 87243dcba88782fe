"""Figures of the posts that need no trained model: what `tfnmt plot` draws beside those of `plot.py`."""

from tfnmt_programs.commands.figure_parser import add_figure


def add_post_figures(figures):
    """Add them to the figures of `tfnmt plot`."""
    meaning = "optimizers at a saddle point, which move in a .gif"
    add_figure(figures, "saddle", draw_saddle, meaning, (".png", ".svg", ".gif"))
    add_figure(figures, "surfaces", draw_surfaces, "optimizers in a long valley, on Beale's function, on noisy moons")
    add_figure(figures, "function-graph", draw_function_graph, "a function as a graph, walked backward")
    add_figure(figures, "batch-graph", draw_batch_graph, "the computation graph of a batch of two, recorded as it runs")
    add_figure(figures, "tree-lstm", draw_tree_lstm, "a TreeLSTM with three inputs, and its numbers")


def draw_saddle(arguments, output):
    from tfnmt_programs.figures.saddle import write_saddle

    for name, steps in write_saddle(arguments.output).items():
        print(f"{name}\t{'not within the steps drawn' if steps is None else f'{steps} steps'}", file=output)


def draw_surfaces(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.figures import surfaces

    figure, rest = surfaces.draw_surfaces()
    save(figure, arguments.output)
    for surface, found in rest.items():
        for name, above in found.items():
            print(f"{surface}\t{name}\t{above:.2g} above the minimum after {surfaces.STEPS} steps", file=output)


def draw_function_graph(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.graphs import recorded

    save(recorded.draw_function_graph(), arguments.output)


def draw_batch_graph(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.graphs import recorded

    figure, numbers = recorded.draw_batch_graph()
    save(figure, arguments.output)
    print("; ".join(f"{name}: {number}" for name, number in numbers.items()), file=output)


def draw_tree_lstm(arguments, output):
    from tfnmt.inspection.figures import save
    from tfnmt_programs.figures.tree_lstm_picture import draw_tree_lstm

    figure, difference = draw_tree_lstm()
    save(figure, arguments.output)
    print(f"the layer's h differs from the equations by {difference:.1g} at most", file=output)
