"""How tests call commands."""

import io
import subprocess
import sys
from pathlib import Path

from tfnmt.commands.verbs import command_parser, load_command

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def call(verb, *arguments):
    """What a command prints to standard output, when called within this process."""
    command = load_command(verb)
    output = io.StringIO()
    command.main(command_parser(verb, command).parse_args([str(argument) for argument in arguments]), output)
    return output.getvalue()


def start(verb, *arguments, **options):
    """A command in a process of its own, from the checkout."""
    script = SCRIPTS / f"{verb.replace('-', '_')}.py"
    return subprocess.Popen([sys.executable, script, *map(str, arguments)], stderr=subprocess.PIPE, **options)
