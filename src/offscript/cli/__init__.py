"""The command line: one thin module per verb. What a verb does lives in the other packages; torch loads on use."""

import sys


def main() -> None:
    """Run `offscript`; bad usage or bad input ends with one line and exit code 2."""
    from offscript.cli.app import app
    from offscript.errors import OffscriptError

    try:
        app(prog_name="offscript")
    except OffscriptError as fault:
        print(f"offscript: {fault}", file=sys.stderr)
        raise SystemExit(2) from None


__all__ = ["main"]
