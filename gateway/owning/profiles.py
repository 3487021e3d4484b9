"""Capacity profiles: the owner's measured ones in DATA/capacity, beside the public ones."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import count, pairwise
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from gateway.economics.profiles import Point, Profile, Quality
from gateway.errors import BadRequest, Unavailable
from gateway.owning import published
from policies.faults import checked
from policies.fields import Amount, Name, Strict
from policies.problems import PackError, Problem
from policies.source import MAX_BYTES, read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOLDER = "capacity"
"""Below the data directory."""
UNKNOWN = "unknown"
"""Stands for a form or a device that nobody named."""

_ELSEWHERE = timedelta(days=1)
"""Where somebody wrote a file by hand, it may be tomorrow already."""
_ROOM = 64 * 1024
"""More bytes than a profile has."""
_LINE, _STOPPED, _NOTE = 120, 500, 2000
"""Characters of texts."""
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_PLAIN = re.compile(r"(?!null\Z)[A-Za-z0-9][A-Za-z0-9._/-]*\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"-(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Measured(Profile):
    """A profile of the owner's: what `soleira measure` found, or what was written by hand in its form."""

    deployment: str = ""
    """Of which pack's deployment it is; empty: of none."""
    contexts: tuple[Point, ...] = ()
    """Single requests by rising length."""
    stopped: str = ""
    """Why it ends where it does."""

    @property
    def tells(self) -> bool:
        """True if a scenario can plan with it: at one point at least both rates are known."""
        return any(point.prefill_tps is not None and point.decode_tps is not None for point in self.points)


def profiles(data: Path | None, today: date | None = None) -> dict[str, Profile]:
    """Every profile by its name; of a deployment's measured ones, one stands under the deployment's name as well.

    That is the newest which went to its end; without any, the newest that tells both rates: what somebody stopped after
    a moment does not take the place of a whole curve.

    PackError with file, line and key where a file of DATA/capacity is none, or is of a day that is yet to come.
    """
    latest = (today or datetime.now(UTC).date()) + _ELSEWHERE
    own = _own(data / FOLDER, latest) if data is not None else {}
    measured = sorted((each for each in own.values() if each.quality == "measured"), key=_rank)
    leading = {each.deployment: each for each in measured if each.deployment}
    return {**published.profiles(), **leading, **own}


def make_room(data: Path) -> None:
    """Unavailable where no profile could be kept."""
    folder = data / FOLDER
    trial = folder / f".{os.getpid()}.unfinished"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial.write_bytes(b"\0" * _ROOM)
    except OSError as error:
        raise Unavailable(
            f"{folder} cannot be written ({error.strerror}): nothing was measured, for it would be lost"
        ) from None
    finally:
        with suppress(OSError):
            trial.unlink(missing_ok=True)


def check_names(*, quant: str, gpu: str, gpus: int) -> None:
    """BadRequest for what no file of a profile may hold."""
    try:
        _Names(quant=quant, gpu=gpu, gpus=gpus)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False)
        message = str(first["msg"]).removeprefix("Value error, ")
        raise BadRequest(f"{first['loc'][0]}: {message[:1].lower()}{message[1:]}", param=str(first["loc"][0])) from None


def line(text: str) -> str:
    """What an engine says of itself, as a file of a profile may hold it."""
    return "".join(character if character.isprintable() else " " for character in text)[:_LINE]


def write(data: Path, profile: Measured, link: Callable[[Path, Path], None] = os.link) -> Path:
    """Keep a profile in a file of its own: whole or not at all, and never in the place of another."""
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = written(profile).encode()
    _parsed(f"{FOLDER}/{profile.name}", content)  # one that cannot be read would keep all others from being read
    for path in _places(folder, profile):
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _place(unfinished, path, link)
        except FileExistsError:
            continue
        finally:
            unfinished.unlink(missing_ok=True)
        return path
    raise AssertionError("there is always a next number")


def written(profile: Measured) -> str:
    """The profile as its file has it."""
    facts = {
        "deployment": profile.deployment,
        "model": profile.model,
        "quant": profile.quant,
        "gpu": profile.gpu,
        "gpus": str(profile.gpus),
        "engine": profile.engine,
        "as_of": profile.as_of.isoformat(),
        "source": profile.source,
        "quality": profile.quality,
        "cached_tps": None if profile.cached_tps is None else _number(profile.cached_tps),
        "stopped": profile.stopped[:_STOPPED],
        "note": profile.note[:_NOTE],
    }
    lines = ["# What an engine carries, as it was measured. Rates are tokens a second of the whole replica."]
    lines += [f"{name}: {_text(value)}" for name, value in facts.items() if value]
    for name, points in (("points", profile.points), ("contexts", profile.contexts)):
        if points:
            lines += [f"{name}:", *(f"  - {{{', '.join(_members(point))}}}" for point in points)]
    return "\n".join(lines) + "\n"


class PointEntry(Strict):
    """One setting, as the file has it."""

    concurrency: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    prompt_tokens: Annotated[int, Field(ge=1)]
    output_tokens: Annotated[int, Field(ge=1)]
    ttft_ms: Amount | None = None
    tpot_ms: Amount | None = None
    prefill_tps: Annotated[Amount, AfterValidator(lambda value: _positive(value))] | None = None
    decode_tps: Annotated[Amount, AfterValidator(lambda value: _positive(value))] | None = None

    @property
    def setting(self) -> tuple[int, int, int]:
        """What was set; points are sorted by it."""
        return self.prompt_tokens, self.output_tokens, self.concurrency

    def point(self) -> Point:
        """The same in exact numbers."""
        amounts = {name: getattr(self, name) for name in _AMOUNTS}
        exact = {name: None if amount is None else Fraction(amount) for name, amount in amounts.items()}
        return Point(self.concurrency, self.prompt_tokens, self.output_tokens, **exact)


class _Names(Strict):
    """On what it was measured."""

    quant: Name = UNKNOWN
    gpu: Name = UNKNOWN
    gpus: Annotated[int, Field(ge=1, le=100_000)] = 1


class ProfileFile(_Names):
    """A file of DATA/capacity."""

    deployment: Name | None = None
    model: Name
    engine: Name = UNKNOWN
    as_of: date
    source: Annotated[str, Field(min_length=1, max_length=500)]
    quality: Quality = "measured"
    cached_tps: Annotated[Amount, AfterValidator(lambda value: _positive(value))] | None = None
    stopped: Annotated[str, Field(max_length=_STOPPED)] = ""
    note: Annotated[str, Field(max_length=_NOTE)] = ""
    points: tuple[PointEntry, ...]
    contexts: tuple[PointEntry, ...] = ()

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if not self.points:
            raise ValueError("has no points: name at least one setting that was measured")
        if any(not before.setting < after.setting for before, after in pairwise(self.points)):
            raise ValueError("points should rise in concurrency, for each length of prompt and answer, none twice")
        return self

    def profile(self, name: str) -> Measured:
        """The profile under a name."""
        return Measured(
            name=name,
            model=self.model,
            quant=self.quant,
            gpu=self.gpu,
            gpus=self.gpus,
            engine=self.engine,
            points=tuple(entry.point() for entry in self.points),
            source=self.source,
            as_of=self.as_of,
            quality=self.quality,
            note=self.note,
            deployment=self.deployment or "",
            cached_tps=None if self.cached_tps is None else Fraction(self.cached_tps),
            contexts=tuple(entry.point() for entry in self.contexts),
            stopped=self.stopped,
        )


_AMOUNTS = ("ttft_ms", "tpot_ms", "prefill_tps", "decode_tps")


def _own(folder: Path, latest: date) -> dict[str, Measured]:
    """The profiles of a folder by the names of their files; all problems at once."""
    found: dict[str, Measured] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            found[path.stem] = _read(path, latest)
        except PackError as error:
            problems += error.problems
    if problems:
        raise PackError(problems)
    return found


def _read(path: Path, latest: date) -> Measured:
    shown = f"{FOLDER}/{path.name}"
    try:
        content = _content(path)
    except OSError as error:
        raise PackError([Problem(shown, None, "", f"cannot be read: {error.strerror}")]) from None
    entry = _parsed(shown, content)
    if entry.as_of > latest:
        raise PackError([read_source(shown, content).problem(("as_of",), "is a day that is yet to come")])
    return entry.profile(path.stem)


def _content(path: Path) -> bytes:
    """No more than what tells that it is too much; a pipe, of which nobody may ever write the end, is not opened."""
    if path.exists() and not path.is_file():
        raise OSError(0, "is no file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _parsed(shown: str, content: bytes) -> ProfileFile:
    source = read_source(shown, content)
    if source.tree is None:
        raise PackError([Problem(shown, None, "", "is empty: write a profile, or remove it")])
    return checked(source, ProfileFile, source.tree)


def _rank(profile: Measured) -> tuple[bool, bool, date, int]:
    """The higher one leads."""
    return (profile.tells, not profile.stopped, *_age(profile))


def _age(profile: Measured) -> tuple[date, int]:
    """Of one day, the higher number at the end of the name is the later one."""
    day = profile.as_of.isoformat()
    numbered = _NUMBERED.search(profile.name.rpartition(day)[2])
    return profile.as_of, int(numbered[1]) if numbered else 1


def _places(folder: Path, profile: Measured) -> Iterator[Path]:
    """`NAME-2026-12-01.yaml`, then `NAME-2026-12-01-2.yaml`, ..."""
    stem = f"{_NO_FILE_NAME.sub('-', profile.deployment or profile.model)}-{profile.as_of}"
    yield folder / f"{stem}.yaml"
    yield from (folder / f"{stem}-{number}.yaml" for number in count(2))


def _place(unfinished: Path, path: Path, link: Callable[[Path, Path], None]) -> None:
    """Give the finished file its name; FileExistsError where that is taken: a link, unlike a rename, replaces none."""
    try:
        link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, as of memory sticks
        path.touch(0o600, exist_ok=False)
        unfinished.replace(path)


def _members(point: Point) -> Iterator[str]:
    for field in fields(point):
        value = getattr(point, field.name)
        if value is not None:
            yield f"{field.name}: {_number(Fraction(value))}"


def _number(value: Fraction) -> str:
    """Digits with at most six behind the point; what is not 0 does not become it."""
    places = Decimal("0.000001")
    rounded = (Decimal(value.numerator) / Decimal(value.denominator)).quantize(places)
    return format((rounded or places).normalize() if value else Decimal(0), "f")


def _text(value: str) -> str:
    """As YAML reads it back."""
    if _PLAIN.match(value):
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def _positive(value: Decimal) -> Decimal:
    if value == 0:
        raise ValueError("should be more than 0; leave it out where it is not known")
    return value
