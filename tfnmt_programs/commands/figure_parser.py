"""The parser of one figure of `tfnmt plot`."""

from tfnmt.commands.parser import picture


def add_figure(figures, name, draw, meaning, endings=(".png", ".svg")):
    """A figure's own options; `draw(arguments, output)` makes it."""
    figure = figures.add_parser(name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.")
    told = f"the picture, {' or '.join(endings)}"
    figure.add_argument("--output", type=picture(*endings), required=True, metavar="F", help=told)
    figure.set_defaults(draw=draw)
    return figure
