"""`GET /admin/usage`: what was used and what it cost, told to the admin and to readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from gateway.api.auth import CurrentRuntime, FiguresReader
from gateway.errors import BadRequest
from gateway.ledger import usage
from gateway.ledger.spans import Question
from policies.problems import closest

if TYPE_CHECKING:
    from gateway.ledger.usage import Where

router = APIRouter(tags=["usage"])

_DAY = "A day (`2026-11-30`), a month (`2026-11`), both by the pack's time zone, or a moment (ISO 8601)"


class Asked(BaseModel):
    """Which figures: a span, what its lines stand for, and which attempts count."""

    model_config = ConfigDict(extra="allow")  # refused in `question`, with what is meant

    from_: str = Field("", alias="from", description=f"{_DAY}; empty: from the beginning.")
    to: str = Field("", description=f"{_DAY}. A day or month is included, a moment is not; empty: until now.")
    group_by: str = Field("", description=f"What the lines stand for: {', '.join(usage.GROUPINGS)}; empty: no lines.")
    key: list[str] = Field([], description="Only these keys' attempts; so with the others. Empty: those without one.")
    person: list[str] = []
    model: list[str] = []
    zone: list[str] = []
    collection: list[str] = []
    deployment: list[str] = []
    tag: list[str] = []
    label: list[str] = []

    def question(self) -> Question:
        """The question; BadRequest for what is not known, with what is probably meant."""
        for name in self.model_extra or ():
            known = ("from", *(field for field in Asked.model_fields if field != "from_"))
            near = closest(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            raise BadRequest(f"{name!r} is nothing to ask by: use {', '.join(known)}{hint}", param=name)
        where: Where = {dimension: getattr(self, dimension) for dimension in usage.DIMENSIONS}
        return Question(self.from_, self.to, self.group_by, where)


@router.get("/admin/usage")
async def read_usage(asked: Annotated[Asked, Query()], runtime: CurrentRuntime, _: FiguresReader) -> dict[str, Any]:
    """What was used and what it cost within a span, in all and by what it is grouped by; every sum is exact."""
    question, zone = asked.question(), runtime.packs.current.pack.budgets.zone
    found = await usage.report(runtime.engine, question.span(zone), question.grouping, question.where)
    return found.as_dict()
