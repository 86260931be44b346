"""Pages where people take part: check a claim, read what was found, browse audits.

Nothing enters here that measures: a page calls the packages below it. The names below load on first use, since they
need the extra `web`.
"""

from typing import TYPE_CHECKING

from offscript._lazy import loader, public_names

if TYPE_CHECKING:
    from offscript.web.application import create_application as create_application
    from offscript.web.checks import Limits as Limits

_PLACES = {"application": "create_application", "checks": "Limits"}
__getattr__ = loader(__name__, _PLACES)
__all__ = public_names(_PLACES)
