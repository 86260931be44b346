"""A study of association tests: pages to write them, to validate them, and to see what is kept."""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from offscript.corpora.associations import BLANK, LABELS, TASKS
from offscript.studies.associations import NAMES, WRITE
from offscript.web.studies.participation import role_of, store_of
from offscript.web.studies.rendering import form_of, go_to, render

router = APIRouter(include_in_schema=False)
STORED = {
    WRITE: ("the sentences and words that you write", "a random number that stands for you"),
    "validate": ("how you classify what others wrote", "a random number that stands for you"),
}
ABOUT = {
    "stereotype": "A stereotype: what a common prejudice says of such people.",
    "anti-stereotype": "An anti-stereotype: it makes sense, and says the opposite of the prejudice.",
    "unrelated": "Meaningless: it makes no sense here.",
}


@router.get("/s/{code}")
async def page(request: Request, code: str) -> Response:
    """Where a participant is: consent, the next test to write or to validate, or the end."""
    role, store = await role_of(request, code), store_of(request)
    if not await run_in_threadpool(store.consented, code):
        return render(request, "study_consent.html.j2", code=code, stored=STORED[role], role=role, anchors=())
    if role == WRITE:
        return await _writing(request, code)
    return await _validating(request, code)


async def _writing(request: Request, code: str, faults: list[str] | None = None, **entered: str) -> Response:
    store = store_of(request)
    target = await run_in_threadpool(store.next_target, code)
    if target is None:
        return render(request, "study_thanks.html.j2", code=code, answered=True)
    number = await run_in_threadpool(store.written_by, code)
    return render(
        request,
        "study_write.html.j2",
        status=422 if faults else 200,
        code=code,
        target=target,
        gap=target.task == TASKS[0],
        blank=BLANK,
        labels=LABELS,
        names=NAMES,
        faults=faults or [],
        entered=entered,
        number=number + 1,
        total=store.design.per_participant,
    )


async def _validating(request: Request, code: str) -> Response:
    store = store_of(request)
    test = await run_in_threadpool(store.next_test, code)
    number = await run_in_threadpool(store.validated_by, code)
    total = store.design.per_participant
    if test is None:
        done = number >= total
        return render(request, "study_thanks.html.j2" if done else "study_wait.html.j2", code=code, answered=True)
    order = store.order(code, test.id)
    shown = [(place, test.sentence(label)) for place, label in enumerate(order)]
    gap = test.target.task == TASKS[0]
    return render(
        request, "study_validate.html.j2", code=code, test=test, shown=shown, gap=gap, labels=LABELS, about=ABOUT,
        number=number + 1, total=total,
    )  # fmt: skip


@router.post("/s/{code}/write")
async def write(request: Request, code: str) -> Response:
    """Keep a test, or say what is wrong with it and show again what was typed."""
    await role_of(request, code)
    form, store = await form_of(request), store_of(request)
    associations = {label: form.get(label, "") for label in LABELS}
    number, context = form.get("target", ""), form.get("context", "")
    if not number.isdecimal() or len(number) > 9:
        raise HTTPException(422, "this form cannot be read")
    faults = await run_in_threadpool(store.write, code, int(number), context, associations)
    if faults:
        return await _writing(request, code, faults, context=context, **associations)
    return go_to(f"/s/{code}")


@router.post("/s/{code}/validate")
async def validate(request: Request, code: str) -> Response:
    """Keep a validator's labels."""
    await role_of(request, code)
    form, store = await form_of(request), store_of(request)
    test = form.get("test", "")
    judged = {label: form.get(f"label-{place}", "") for place, label in enumerate(store.order(code, test))}
    await run_in_threadpool(store.validate, code, test, judged)
    return go_to(f"/s/{code}")


@router.get("/overview/{owner}")
async def overview(request: Request, owner: str) -> Response:
    """Acceptance by domain, for the owner."""
    store = store_of(request)
    if owner != store.design.owner:
        raise HTTPException(404)
    rows = await run_in_threadpool(store.acceptance)
    return render(request, "study_overview.html.j2", progress=None, acceptance=rows)
