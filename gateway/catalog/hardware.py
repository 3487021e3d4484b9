"""Accelerators and machines, from hardware.yaml: memory, bandwidth, power, rent; each figure with source and day."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gateway.catalog.sheets import (
    FOLDER,
    BytesPerSecond,
    Count,
    Line,
    Named,
    Number,
    SaidText,
    Sheet,
    Size,
    Sourced,
    names,
    read_sheet,
)
from policies.budgets import Currency
from policies.fields import Strict, Word, listed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from fractions import Fraction

    from gateway.catalog.sheets import Said

Kind = Literal["gpu", "unified", "cpu", "nas"]

_FILE = FOLDER / "hardware.yaml"


@dataclass(frozen=True, slots=True)
class Rent:
    """What one accelerator costs by the hour at somebody's."""

    name: str
    """`flatkey`, `digitalocean`, `hyperscaler`, ..."""
    per_gpu_hour: Fraction
    currency: str
    contract: str
    """`on demand`, `3 years`, ..."""
    said: Said


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator (or a unified-memory or CPU machine, where `kind` says so)."""

    name: str
    """Short: `b300`."""
    title: str
    kind: Kind
    vendor: str
    architecture: str
    """`blackwell`, `hopper`, `ada`, `cdna4`, `apple`, `x86`."""
    label_bytes: int
    """As the vendor writes it on the card; 0: it is announced, and nobody has said."""
    driver_bytes: int | None
    """As the driver reports it; None: nobody has said, and the label counts.

    Of one memory that processor and accelerator share it is what the system leaves to the latter.
    """
    bytes_per_second: int | None
    """Of its memory."""
    kw: Fraction | None
    """All in, of one, with its share of the server."""
    native_fp4: bool
    rents: tuple[Rent, ...]
    usd: tuple[Fraction, Fraction] | None
    """What one costs to buy, from and to."""
    said: Said
    is_known: bool = True
    """False for what is announced and has no figures."""
    aliases: tuple[str, ...] = ()
    link: str | None = None
    """How they are connected among each other: `NVLink 5`; None: nobody has said, or PCIe alone."""
    link_bytes_per_second: int | None = None
    """Of one, one way."""
    domain: int | None = None
    """How many such a connection joins."""
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Said] = field(default_factory=dict)
    """Sources of single figures, where they are others than `said`: by the names of these fields."""

    @property
    def usable_bytes(self) -> int:
        """What counts."""
        return self.driver_bytes or self.label_bytes

    @property
    def usable_said(self) -> Said:
        """Where that comes from."""
        return self.figure("driver_bytes" if self.driver_bytes else "label_bytes")

    def figure(self, name: str) -> Said:
        """Where one of its figures comes from."""
        return self.figures.get(name, self.said)


def gpus() -> dict[str, Gpu]:
    """Every accelerator, by its short name."""
    return dict(_catalog().entries)


def find_gpu(name: str) -> Gpu:
    """The accelerator of that name or alias; LookupError that says what was probably meant."""
    return _catalog().find(name)


def oldest(gpu: Gpu) -> date:
    """The day of the oldest figure that is told of it."""
    return min(said.as_of for said in (gpu.said, *gpu.figures.values(), *(rent.said for rent in gpu.rents)))


@cache
def _catalog() -> Named[Gpu]:
    return read_hardware(_FILE.name, _FILE.read_bytes())


class _RentEntry(Strict):
    per_gpu_hour: Number
    currency: Currency = "USD"
    contract: Line
    said: SaidText


class _UsdEntry(Strict):
    low: Number = Field(alias="from")
    high: Number = Field(alias="to")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.high < self.low:
            raise ValueError("should go from the lower price to the higher one")
        return self


class _GpuEntry(Sourced):
    title: Line
    aliases: Annotated[tuple[Line, ...], BeforeValidator(listed)] = ()
    kind: Kind = "gpu"
    vendor: Line
    architecture: Word
    label: Size | None = None
    driver: Size | None = None
    bandwidth: BytesPerSecond | None = None
    kw: Number | None = None
    native_fp4: bool = False
    link: Line | None = None
    link_bandwidth: BytesPerSecond | None = None
    domain: Count | None = None
    usd: _UsdEntry | None = None
    rents: dict[Word, _RentEntry] = Field(default_factory=dict)
    notes: tuple[Line, ...] = ()
    is_known: bool = True

    @model_validator(mode="after")
    def _has_memory(self) -> Self:
        if self.is_known and self.label is None:
            raise ValueError("should have a label, or say `is_known: false`")
        if self.kind == "unified" and self.driver is None:
            raise ValueError("should have a driver: of one memory for both, the system keeps a part")
        return self


class _HardwareSheet(Sheet):
    gpus: dict[Word, _GpuEntry]


_FIELDS = {
    "label": "label_bytes",
    "driver": "driver_bytes",
    "bandwidth": "bytes_per_second",
    "link_bandwidth": "link_bytes_per_second",
}
"""What the sheet calls otherwise than `Gpu` does."""


def read_hardware(file: str, data: bytes) -> Named[Gpu]:
    """Read a sheet of hardware; PackError with file, line and key for all that is wrong with it."""
    source, sheet = read_sheet(file, data, _HardwareSheet)
    entries = {name: _gpu(sheet, name, entry) for name, entry in sheet.gpus.items()}
    aliases = names(source, "gpus", {name: entry.aliases for name, entry in sheet.gpus.items()})
    return Named("GPU", entries, aliases)


def _gpu(sheet: Sheet, name: str, entry: _GpuEntry) -> Gpu:
    return Gpu(
        name=name,
        title=entry.title,
        kind=entry.kind,
        vendor=entry.vendor,
        architecture=entry.architecture,
        label_bytes=entry.label or 0,
        driver_bytes=entry.driver,
        bytes_per_second=entry.bandwidth,
        kw=entry.kw,
        native_fp4=entry.native_fp4,
        rents=tuple(_rent(sheet, rent, row) for rent, row in entry.rents.items()),
        usd=None if entry.usd is None else (entry.usd.low, entry.usd.high),
        said=sheet.said(entry.said),
        is_known=entry.is_known,
        aliases=entry.aliases,
        link=entry.link,
        link_bytes_per_second=entry.link_bandwidth,
        domain=entry.domain,
        notes=entry.notes,
        figures={_FIELDS.get(figure, figure): sheet.said(said) for figure, said in entry.figures.items()},
    )


def _rent(sheet: Sheet, name: str, entry: _RentEntry) -> Rent:
    return Rent(name, entry.per_gpu_hour, entry.currency, entry.contract, sheet.said(entry.said))
