"""What the page tells of a decision: where the request went, why, how it ended and what it cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateway.dashboard.texts import Texts
from gateway.errors import LabelExceedsClearance, NotLocal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.db.attempts import AttemptRow
    from gateway.db.decisions import DecisionRecord
    from policies.pack import Pack

Fate = Literal["home", "out", "nothing"]
_HELD_BACK = frozenset({LabelExceedsClearance.code, NotLocal.code})
"""Attempts that ended so were stopped at the door: not a byte left."""
_CLIENT_LEFT = 499

_SOURCES = (
    (re.compile(r"typed text"), "typed"),
    (re.compile(r"passage \d+ of (?P<name>.+)"), "passages"),
    (re.compile(r"soleira-label header"), "header"),
    (re.compile(r"too large to scan"), "too large"),
    (re.compile(r"detectors failed"), "detectors failed"),
    (re.compile(r"unscannable part in .+"), "unscannable"),
    (re.compile(r"messages\[\d+\], seen before"), "seen before"),
    (re.compile(r"(?P<kind>\w+) in .+"), "found"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One decision in the words of the page."""

    record: DecisionRecord
    fate: Fate
    went_to: str
    """The places outside it was sent to, each with its deployment; empty if there are none."""
    answered_at: str | None
    """The place that answered, if `went_to` does not say it already."""
    asked: str
    reasons: str
    problem: str | None
    """What kept it from being answered, in a few words."""
    nano_usd: int
    estimated: bool


def shown(record: DecisionRecord, attempts: Sequence[AttemptRow], pack: Pack, texts: Texts) -> Shown:
    """Tell a decision by its attempts: where an answer came from says nothing of who was asked before."""
    sent = [attempt for attempt in attempts if attempt.error_code not in _HELD_BACK]
    outside = [attempt for attempt in sent if not is_home(attempt.zone, pack)]
    told = {attempt.deployment for attempt in outside} == {record.deployment}
    return Shown(
        record=record,
        fate="out" if outside else "home" if sent else "nothing",
        went_to=_listed(f"{place(attempt.zone, pack, texts)} ({attempt.deployment})" for attempt in outside),
        answered_at=None if record.zone is None or told else place(record.zone, pack, texts),
        asked="@".join(part for part in (record.asked_model, ",".join(record.collections)) if part),
        reasons=_listed(_reason(source, texts) for source in record.raised_by),
        problem=_problem(record, texts),
        nano_usd=sum(attempt.cost_nano_usd or 0 for attempt in attempts),
        estimated=any(attempt.estimated for attempt in attempts if attempt.cost_nano_usd),
    )


def is_home(zone_name: str, pack: Pack) -> bool:
    """True if the zone admits the house's own addresses alone; a zone that the pack no longer has is none."""
    zone = pack.zones.get(zone_name)
    return zone is not None and zone.is_home


def place(zone_name: str, pack: Pack, texts: Texts) -> str:
    """Where a zone is, in plain words; a zone of the owner's own making has its own name."""
    if not is_home(zone_name, pack):
        return texts.named(f"zone.{zone_name}", zone_name)
    return texts("private" if "private" in pack.zones[zone_name].addresses.classes else "loopback")


def _problem(record: DecisionRecord, texts: Texts) -> str | None:
    if record.code is not None:
        return texts.refusal(record.code)
    if record.status == _CLIENT_LEFT:
        return texts("interrupted")
    return texts("answering") if record.status is None else None


def _reason(source: str, texts: Texts) -> str:
    name = source.rpartition(": ")[0] or source
    for pattern, text in _SOURCES:
        if found := pattern.fullmatch(name):
            values = found.groupdict()
            if kind := values.get("kind"):
                values["name"] = texts.named(f"kind.{kind}", kind)
            return texts(text, **values)
    return name


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(parts))
