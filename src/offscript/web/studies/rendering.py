"""Templates of a study's pages, and forms as browsers send them."""

from typing import Any
from urllib.parse import parse_qs

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from offscript import __version__
from offscript.web.files import environment
from offscript.web.security import PAGE_POLICY as COMMON_POLICY

PAGE_POLICY = f"{COMMON_POLICY}; connect-src 'self'"
"""The pages' own script may send an answer again where the connection was lost."""
MOST_FIELDS = 40


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of the study; whatever is put into a template is escaped."""
    common = {"version": __version__, "design": request.app.state.store.design}
    text = environment().get_template(template).render(**common, **values)
    headers = {"content-security-policy": PAGE_POLICY}
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status, headers=headers)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the last of those with one name."""
    try:
        fields = parse_qs((await request.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as fault:
        raise HTTPException(422, "this form cannot be read") from fault
    return {name: values[-1] for name, values in fields.items()}


def go_to(path: str) -> RedirectResponse:
    """Go on with another page; a reload there sends nothing again."""
    return RedirectResponse(path, status_code=303)
