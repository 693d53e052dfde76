"""The command ``cykafka``; needs ``pip install cykafka[cli]``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        import click  # noqa: F401 - the first thing that would fail
        import rich  # noqa: F401
    except ImportError as error:
        sys.exit(f"the command line needs {error.name}: pip install cykafka[cli]")
    from cykafka.cli.app import run

    sys.exit(run())
