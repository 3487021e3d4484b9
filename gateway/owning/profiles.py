"""Capacity profiles: the owner's measured ones in DATA/capacity, beside the public ones."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import count, pairwise
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from gateway.economics.profiles import Point, Profile, Quality
from gateway.owning import published
from policies.faults import problems_of
from policies.fields import Amount, Name, Strict
from policies.problems import PackError, Problem
from policies.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOLDER = "capacity"
"""Below the data directory."""
UNKNOWN = "unknown"
"""Stands for a form or a device that nobody named."""

_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
_PLAIN = re.compile(r"(?!null\Z)[A-Za-z0-9][A-Za-z0-9._/-]*\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"-(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Measured(Profile):
    """A profile of the owner's: what `soleira measure` found, or what was written by hand in its form."""

    deployment: str = ""
    """Of which pack's deployment it is; empty: of none."""
    cached_tps: Fraction | None = None
    """The rate at which input passes that the engine still holds; None: not measured."""
    contexts: tuple[Point, ...] = ()
    """Single requests by rising length."""
    stopped: str = ""
    """Why it ends where it does."""


def profiles(data: Path | None) -> dict[str, Profile]:
    """Every profile by its name; the newest measured one of a deployment stands under the deployment's name as well.

    PackError with file, line and key where a file of DATA/capacity is none.
    """
    own = _own(data / FOLDER) if data is not None else {}
    measured = sorted((each for each in own.values() if each.quality == "measured"), key=_age)
    newest = {each.deployment: each for each in measured if each.deployment}
    return {**published.profiles(), **newest, **own}


def cached_tps(profile: Profile) -> Fraction | None:
    """The rate of cached input, where it was measured."""
    return profile.cached_tps if isinstance(profile, Measured) else None


def write(data: Path, profile: Measured, link: Callable[[Path, Path], None] = os.link) -> Path:
    """Keep a profile in a file of its own: whole or not at all, and never in the place of another."""
    folder = data / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = written(profile).encode()
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
        "stopped": profile.stopped,
        "note": profile.note,
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


class ProfileFile(Strict):
    """A file of DATA/capacity."""

    deployment: Name | None = None
    model: Name
    quant: Name = UNKNOWN
    gpu: Name = UNKNOWN
    gpus: Annotated[int, Field(ge=1, le=100_000)] = 1
    engine: Name = UNKNOWN
    as_of: date
    source: Annotated[str, Field(min_length=1, max_length=500)]
    quality: Quality = "measured"
    cached_tps: Annotated[Amount, AfterValidator(lambda value: _positive(value))] | None = None
    stopped: Annotated[str, Field(max_length=500)] = ""
    note: Annotated[str, Field(max_length=2000)] = ""
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


def _own(folder: Path) -> dict[str, Measured]:
    """The profiles of a folder by the names of their files; all problems at once."""
    found: dict[str, Measured] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            found[path.stem] = _read(path)
        except PackError as error:
            problems += error.problems
    if problems:
        raise PackError(problems)
    return found


def _read(path: Path) -> Measured:
    shown = f"{FOLDER}/{path.name}"
    try:
        source = read_source(shown, path.read_bytes())
    except OSError as error:
        raise PackError([Problem(shown, None, "", f"cannot be read: {error.strerror}")]) from None
    try:
        return ProfileFile.model_validate(source.tree if source.tree is not None else {}).profile(path.stem)
    except ValidationError as error:
        raise PackError(problems_of(source, ProfileFile, error)) from None


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
