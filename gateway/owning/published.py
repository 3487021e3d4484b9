"""The capacity profiles that come with Soleira, from capacities.yaml: what others have published of their engines.

Benchmarks publish tokens in and out together. A machine that reads P tokens a second, or writes D, and does either at a
time, spends the part in / P of a second reading and writes in the rest: D = out / (1 - in / P). P is the prompt over
the time to the first token of a request that is alone. Where nobody has published such a request there are no rates:
such a profile is `published`, and `derived` where they were worked out.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Annotated, Self

from pydantic import Field, model_validator

from gateway.catalog.sheets import FOLDER, Count, Number, SaidText, Sheet, read_sheet
from gateway.economics.profiles import Point, Profile
from policies.fields import Strict, Word

_FILE = FOLDER / "capacities.yaml"
_MILLISECONDS = 1000


def profiles() -> dict[str, Profile]:
    """Every published profile, by its name."""
    return dict(_bundled())


@cache
def _bundled() -> dict[str, Profile]:
    return read_profiles(_FILE.name, _FILE.read_bytes())


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


def read_profiles(file: str, data: bytes) -> dict[str, Profile]:
    """Read a sheet of curves; PackError with file, line and key for all that is wrong with it."""
    _, sheet = read_sheet(file, data, _CapacitiesSheet)
    return {name: _profile(sheet, name, entry) for name, entry in sheet.capacities.items()}


def _profile(sheet: Sheet, name: str, entry: _CapacityEntry) -> Profile:
    said = sheet.said(entry.said)
    return Profile(
        name=name,
        model=entry.model,
        quant=entry.quant,
        gpu=entry.gpu,
        gpus=entry.gpus,
        engine=entry.engine,
        points=tuple(_point(point, entry) for point in entry.points),
        source=said.source,
        as_of=said.as_of,
        quality="published" if entry.alone is None else "derived",
        note=said.note,
    )


def _point(point: _PointEntry, entry: _CapacityEntry) -> Point:
    prefill = None if entry.alone is None else entry.alone.prefill_tps
    return Point(
        concurrency=point.concurrency,
        prompt_tokens=point.prompt,
        output_tokens=point.output,
        ttft_ms=point.ttft_ms,
        tpot_ms=point.tpot_ms,
        prefill_tps=prefill,
        decode_tps=None
        if prefill is None
        else point.written_tps(entry.gpus) / (1 - _read_tps(point, entry.gpus) / prefill),
    )


def _read_tps(point: _PointEntry, gpus: int) -> Fraction:
    """Prompts that are read in a second, from what is written."""
    return point.written_tps(gpus) * Fraction(point.prompt, point.output)
