"""Many claims over HTTP: a job takes a list of them, is followed by its id, and tells its progress as it comes."""

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from offscript.errors import OffscriptError
from offscript.factcheck.batch import GivenClaim, summary
from offscript.factcheck.tools import MOST, search_documents
from offscript.web.checks import Checks, OverloadedError, read_claim

MOST_CLAIMS, MOST_JOBS, MOST_RUNNING = 500, 64, 8
HEARTBEAT = 15.0  # seconds after which a silent stream says that it is alive
RETRY = 0.5  # seconds before a claim that found no room is tried again
router = APIRouter(prefix="/api", tags=["check"])
JobId = Annotated[str, Path(description="The id that POST /api/checks gave.", max_length=64)]


class Claims(BaseModel):
    """What is to be checked."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"claims": ["Germany borders Denmark.", "Gold is a noble gas."]}}
    )
    claims: list[str] = Field(min_length=1, max_length=MOST_CLAIMS, description="Sentences, each true or false.")


class JobState(BaseModel):
    """How a job stands."""

    id: str
    total: int = Field(description="Claims of the job.")
    done: int = Field(description="Claims that have a result.")
    finished: bool
    error: str = Field("", description="Why the job ended early, if it did.")


class JobResults(JobState):
    """How a job stands, with its results so far, in the order of the claims."""

    results: list[dict[str, Any]]


class FoundDocument(BaseModel):
    """A document that a search found."""

    id: str
    title: str
    url: str
    date: str
    score: float
    text: str = Field(description="The beginning of its text.")


class Job:
    """Claims that are checked one after the other, between those of other visitors."""

    def __init__(self, claims: Sequence[str]) -> None:
        self.id = secrets.token_urlsafe(16)
        self.claims, self.results = list(claims), list[dict[str, Any]]()
        self.finished, self.error = False, ""
        self._changed = asyncio.Event()

    def state(self) -> JobState:
        """How it stands."""
        done = len(self.results)
        return JobState(id=self.id, total=len(self.claims), done=done, finished=self.finished, error=self.error)

    async def run(self, checks: Checks) -> None:
        """Check the claims; a fault of one ends the job and is told."""
        try:
            for number, claim in enumerate(self.claims, start=1):
                self.results.append(summary(GivenClaim(str(number), claim), await _patiently(checks, claim)))
                self._tell()
        except OffscriptError as error:
            self.error = str(error)
        finally:
            self.finished = True
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: each result with the progress, then the end."""
        told = 0
        while True:
            changed = self._changed
            while told < len(self.results):  # more may come, and the job may end, while one is being sent
                told += 1
                yield _event("result", {"done": told, "total": len(self.claims), "result": self.results[told - 1]})
            if self.finished:
                yield _event("end", self.state().model_dump())
                return
            try:
                await asyncio.wait_for(changed.wait(), HEARTBEAT)
            except asyncio.TimeoutError:
                yield ": alive\n\n"


async def _patiently(checks: Checks, claim: str) -> Any:
    """A check, tried again while visitors fill the queue."""
    while True:
        try:
            return await checks.of(claim)
        except OverloadedError:
            await asyncio.sleep(RETRY)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=True, default=str)}\n\n"


class Jobs:
    """The jobs of this process, the latest of them; they are lost when it ends."""

    def __init__(self, checks: Checks, *, allowed: bool = True) -> None:
        self._checks, self._allowed = checks, allowed
        self._jobs: OrderedDict[str, tuple[Job, asyncio.Task[None]]] = OrderedDict()

    def begin(self, claims: Sequence[str]) -> Job:
        """Start a job; refused where too many run, or where each check asks a search engine."""
        if not self._allowed:
            raise OffscriptError("jobs are not served with --search", next="check claims one at a time")
        if sum(not job.finished for job, _ in self._jobs.values()) >= MOST_RUNNING:
            raise OverloadedError("too many jobs are running", next="try again in a moment")
        job = Job([read_claim(claim) for claim in claims])
        self._jobs[job.id] = (job, asyncio.get_running_loop().create_task(job.run(self._checks)))
        while len(self._jobs) > MOST_JOBS:
            del self._jobs[next(id for id, (each, _) in self._jobs.items() if each.finished)]
        return job

    def of(self, id: str) -> Job:
        """The job of this id; 404 where there is none."""
        if id not in self._jobs:
            raise HTTPException(404)
        return self._jobs[id][0]

    def stop(self, id: str) -> Job:
        """End a job before its time."""
        job, task = self.of(id), self._jobs[id][1]
        if not job.finished:
            job.error = "stopped"
            task.cancel()
        return job

    def close(self) -> None:
        """End all jobs."""
        for _, task in self._jobs.values():
            task.cancel()


@router.post("/checks", summary="Check many claims", status_code=202)
async def begin(request: Request, body: Claims) -> JobState:
    """Start a job; its id leads to its results and its progress. Jobs are kept in memory, the latest of them."""
    jobs: Jobs = request.app.state.jobs
    return jobs.begin(body.claims).state()


@router.get("/checks/{id}", summary="Ask how a job stands")
async def results(request: Request, id: JobId) -> JobResults:
    """The results so far."""
    job: Job = request.app.state.jobs.of(id)
    return JobResults(**job.state().model_dump(), results=job.results)


@router.delete("/checks/{id}", summary="Stop a job")
async def stop(request: Request, id: JobId) -> JobState:
    """Results so far are kept."""
    job: Job = request.app.state.jobs.stop(id)
    return job.state()


@router.get("/checks/{id}/events", summary="Follow a job", response_class=StreamingResponse)
async def events(request: Request, id: JobId) -> Response:
    """Server-sent events: `result` with `done`, `total` and the result for each claim, then `end`."""
    job: Job = request.app.state.jobs.of(id)
    return StreamingResponse(job.events(), media_type="text/event-stream")


@router.get("/search", summary="Search the documents")
async def search(
    request: Request,
    query: Annotated[str, Query(description="Words to look for.")],
    k: Annotated[int, Query(ge=1, le=MOST, description="How many documents.")] = 10,
) -> list[FoundDocument]:
    """Documents for some words, best first."""
    checks: Checks = request.app.state.checks
    providers = getattr(checks.checker, "providers", None)
    if providers is None or not request.app.state.searchable:
        raise OffscriptError("this service has no documents to search", next="start it with --index, without --search")
    found = await checks.beside(lambda: search_documents(providers, query, k))
    return [FoundDocument(**each) for each in found]
