"""The one exception for whatever the user got wrong."""


class UserError(Exception):
    """Something only the user can put right.

    The message is one line: what was wrong, where (file, line number, key or shape), and the way out. Scripts
    print it on standard error and exit with status 2, without a traceback.
    """
