"""What others have measured of engines, from capacities.yaml: curves with source and day, their rates derived.

Benchmarks publish tokens in and out together. A machine that reads P tokens a second, or writes D, and does either at a
time, spends the part in / P of a second reading and writes in the rest: D = out / (1 - in / P). P is the prompt over
the time to the first token of a request that is alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from gateway.catalog.sheets import FOLDER, Count, Named, Number, SaidText, Sheet, read_sheet
from policies.fields import Strict, Word

if TYPE_CHECKING:
    from datetime import date

    from gateway.catalog.sheets import Said

Quality = Literal["published", "derived"]
"""`derived`: the rates were worked out from what was published; `published`: there was not enough to work them out."""

_FILE = FOLDER / "capacities.yaml"
_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """One setting of a benchmark, of a whole replica."""

    concurrency: int
    prompt_tokens: int
    """Of one request."""
    output_tokens: int
    ttft_ms: Fraction | None
    tpot_ms: Fraction | None
    output_tps: Fraction
    """Written tokens of a second, while prompts are read in between: as published."""
    prefill_tps: Fraction | None
    """Derived, as if it only read; None: nobody has published what a request takes that is alone."""
    decode_tps: Fraction | None
    """Derived, as if it only wrote."""


@dataclass(frozen=True, slots=True)
class PublishedProfile:
    """A published curve of one model on one kind of replica, by rising concurrency."""

    name: str
    model: str
    quant: str
    gpu: str
    gpus: int
    engine: str
    points: tuple[PublishedPoint, ...]
    said: Said
    quality: Quality
    note: str

    @property
    def as_of(self) -> date:
        return self.said.as_of


def capacities() -> dict[str, PublishedProfile]:
    """Every published curve, by its name."""
    return dict(_catalog().entries)


def find_capacity(name: str) -> PublishedProfile:
    """The curve of that name; LookupError that says what was probably meant."""
    return _catalog().find(name)


@cache
def _catalog() -> Named[PublishedProfile]:
    return read_capacities(_FILE.name, _FILE.read_bytes())


class _AloneEntry(Strict):
    """A request that has the machine to itself."""

    prompt: Count
    ttft_ms: Annotated[Number, Field(gt=0)]

    @property
    def prefill_tps(self) -> Fraction:
        return Fraction(self.prompt * _MILLISECONDS) / self.ttft_ms


class _PointEntry(Strict):
    concurrency: Count
    prompt: Count
    output: Count
    ttft_ms: Number | None = None
    tpot_ms: Number | None = None
    tps_per_gpu: Number | None = None
    """Tokens in and out together, of one GPU."""
    output_tps: Number | None = None
    """Tokens out, of all."""

    @model_validator(mode="after")
    def _says_what_it_does(self) -> Self:
        if (self.tps_per_gpu is None) == (self.output_tps is None):
            raise ValueError("should name either tps_per_gpu or output_tps")
        return self

    def written_tps(self, gpus: int) -> Fraction:
        if self.output_tps is not None:
            return self.output_tps
        return (self.tps_per_gpu or Fraction(0)) * gpus * Fraction(self.output, self.prompt + self.output)


class _CapacityEntry(Strict):
    model: Word
    quant: Word
    gpu: Word
    gpus: Count
    engine: Word
    said: SaidText
    alone: _AloneEntry | None = None
    points: Annotated[tuple[_PointEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        order = [(point.prompt, point.output, point.concurrency) for point in self.points]
        if order != sorted(set(order)):
            raise ValueError("should list its points by rising concurrency, none twice")
        for point in self.points:
            if self.alone is not None and _read_tps(point, self.gpus) >= self.alone.prefill_tps:
                raise ValueError(f"reads more at {point.concurrency} requests than a machine that does nothing else")
        return self


class _CapacitiesSheet(Sheet):
    capacities: dict[Word, _CapacityEntry]


def read_capacities(file: str, data: bytes) -> Named[PublishedProfile]:
    """Read a sheet of curves; PackError with file, line and key for all that is wrong with it."""
    _, sheet = read_sheet(file, data, _CapacitiesSheet)
    return Named(
        "published profile", {name: _capacity(sheet, name, entry) for name, entry in sheet.capacities.items()}, {}
    )


def _capacity(sheet: Sheet, name: str, entry: _CapacityEntry) -> PublishedProfile:
    said = sheet.said(entry.said)
    return PublishedProfile(
        name=name,
        model=entry.model,
        quant=entry.quant,
        gpu=entry.gpu,
        gpus=entry.gpus,
        engine=entry.engine,
        points=tuple(_point(point, entry) for point in entry.points),
        said=said,
        quality="published" if entry.alone is None else "derived",
        note=said.note,
    )


def _point(point: _PointEntry, entry: _CapacityEntry) -> PublishedPoint:
    written = point.written_tps(entry.gpus)
    prefill = None if entry.alone is None else entry.alone.prefill_tps
    decode = None if prefill is None else written / (1 - _read_tps(point, entry.gpus) / prefill)
    return PublishedPoint(
        concurrency=point.concurrency,
        prompt_tokens=point.prompt,
        output_tokens=point.output,
        ttft_ms=point.ttft_ms,
        tpot_ms=point.tpot_ms,
        output_tps=written,
        prefill_tps=prefill,
        decode_tps=decode,
    )


def _read_tps(point: _PointEntry, gpus: int) -> Fraction:
    """Prompts that are read in a second, from what is written."""
    return point.written_tps(gpus) * Fraction(point.prompt, point.output)
