"""The command line: one thin module per verb. What a verb does lives in the other packages; torch loads on use."""

import errno
import sys
from types import TracebackType

BAD_INPUT, CRASHED = 2, 3
"""Exit codes; 1 is a gate that failed, and 130 is Ctrl-C."""


_STORAGE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENFILE),
}
"""What a disk or its rights refuse; no fault of the program."""


def main() -> None:
    """Run `offscript`.

    Bad usage or bad input ends with one line and exit code 2. A fault of offscript itself ends with one line and exit
    code 3, so that no gate takes it for a finding; `--debug` shows where it happened.
    """
    from typer.main import get_command

    from offscript.cli.app import app
    from offscript.errors import OffscriptError

    sys.excepthook = _tell_crash
    try:
        get_command(app)(prog_name="offscript")  # app() would put typer's hook in the place of ours
    except OffscriptError as fault:
        print(f"offscript: {fault}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    except OSError as fault:
        if fault.errno not in _STORAGE:
            raise
        refusal = OffscriptError(
            f"cannot read or write {fault.filename or 'a file'}",
            why=fault.strerror or str(fault),
            next="make room or change its rights, and give the command again; what was finished is kept",
        )
        print(f"offscript: {refusal}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None


def _tell_crash(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """Tell of what nobody caught in one line, or with its traceback where --debug asks for it."""
    if "--debug" in sys.argv or not issubclass(kind, Exception):
        sys.__excepthook__(kind, fault, trace)
    else:
        told = " ".join(str(fault).split())[:500]
        named = f"{kind.__name__}: {told}" if told else kind.__name__
        print(f"offscript: crashed with {named}; --debug shows where, which helps in a bug report", file=sys.stderr)
    raise SystemExit(CRASHED)  # the interpreter ends with this code in the place of 1


__all__ = ["main"]
