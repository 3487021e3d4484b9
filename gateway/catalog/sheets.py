"""The catalogs that come with Soleira: YAML sheets beside the code, read as strictly as a pack is.

Every sheet lists its sources once, with their days; entries name them by their keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator

from policies.faults import checked
from policies.fields import Strict, Word
from policies.problems import PackError, Problem, closest
from policies.source import Source, Value, read_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from policies.source import Path as KeyPath

FOLDER = Path(__file__).with_name("data")

_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{1,3})\Z")
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,12})?\Z")

_S = TypeVar("_S", bound="Sheet")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Said:
    """Where a figure comes from."""

    source: str
    as_of: date
    note: str = ""


def bytes_of(text: str) -> int:
    """Read a size as people write it: `288 GB` is 288 · 10⁹ bytes, `268.2 GiB` is 268.2 · 2³⁰; ValueError if none."""
    found = _SIZE.match(text.strip())
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if not found or found[2].lower() not in units:
        raise ValueError("should be a size with its unit, such as 288 GB or 268.2 GiB")
    return int(Fraction(found[1]) * units[found[2].lower()])


def _size(value: object) -> int:
    return bytes_of(str(value))


def _rate(value: object) -> int:
    text = str(value).strip()
    if not text.endswith("/s"):
        raise ValueError("should be bytes of a second, such as 3.35 TB/s")
    return bytes_of(text.removesuffix("/s"))


def _number(value: object) -> Fraction:
    if not _NUMBER.match(str(value)):
        raise ValueError("should be a number such as 4.25: digits, at most one point, no sign")
    return Fraction(str(value))


def _line(value: str) -> str:
    if not value or not value.isprintable() or len(value) > 400:
        raise ValueError("should be one line of 1 to 400 characters")
    return value


def _of_a_key(value: object) -> object:
    return {"from": value} if isinstance(value, str) else value


Line = Annotated[str, AfterValidator(_line)]
Size = Annotated[int, PlainValidator(_size)]
BytesPerSecond = Annotated[int, PlainValidator(_rate)]
Number = Annotated[Fraction, PlainValidator(_number)]
Count = Annotated[int, Field(ge=1, le=10**15)]


class SourceEntry(Strict):
    """One source: how a reader would look for it, and of which day it is."""

    source: Line
    as_of: date


class SaidEntry(Strict):
    """The key of a source, alone or with a note on the figure."""

    from_: Word = Field(alias="from")
    note: Line | None = None


SaidText = Annotated[SaidEntry, BeforeValidator(_of_a_key)]


class Sheet(Strict):
    """What every sheet begins with."""

    sources: dict[Word, SourceEntry]

    def said(self, entry: SaidEntry) -> Said:
        found = self.sources[entry.from_]
        return Said(found.source, found.as_of, entry.note or "")


class Sourced(Strict):
    """An entry whose single figures may come from elsewhere than the rest of it: figure -> source."""

    said: SaidText
    figures: dict[Word, SaidText] = Field(default_factory=dict)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Figures that the entry has not: their names, and what was probably meant."""
        written = {name for name in type(self).model_fields if getattr(self, name) is not None}
        for name in self.figures:
            if name not in written:
                yield name, closest(name, written - {"said", "figures"}) or ""


def read_sheet(file: str, data: bytes, schema: type[_S]) -> tuple[Source, _S]:
    """Read a sheet; PackError with file, line and key for all that is wrong with it."""
    source = read_source(file, data)
    sheet = checked(source, schema, {} if source.tree is None else source.tree)
    problems = [*_unknown_sources(source, sheet), *_unknown_figures(source, sheet)]
    if problems:
        raise PackError(problems)
    return source, sheet


def _unknown_sources(source: Source, sheet: Sheet) -> Iterator[Problem]:
    """Keys of sources that the sheet does not list, wherever they are written."""
    for path, key in _source_keys(source.tree, ()):
        if key not in sheet.sources:
            yield source.problem(path, f"{key!r} is no key of `sources`", closest(key, sheet.sources))


def _source_keys(tree: Value, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _source_keys(item, (*path, index))
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name == "said" or path[-1:] == ("figures",):
                key = value.get("from") if isinstance(value, dict) else value
                yield (*path, name), str(key)
            else:
                yield from _source_keys(value, (*path, name))


def _unknown_figures(source: Source, sheet: Sheet) -> Iterator[Problem]:
    for path, entry in _sourced(sheet, ()):
        for name, meant in entry.problems():
            yield source.problem((*path, "figures", name), "is no figure of this entry", meant or None)


def _sourced(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, Sourced]]:
    if isinstance(value, Sourced):
        yield path, value
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            yield from _sourced(getattr(value, name), (*path, field.alias or name))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _sourced(inner, (*path, key))
    if isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _sourced(inner, (*path, index))


@dataclass(frozen=True)
class Named(Generic[_T]):
    """Entries by their names and by what else people call them."""

    kind: str
    """`model`, `GPU`: what a message calls them."""
    entries: Mapping[str, _T]
    aliases: Mapping[str, str]

    def find(self, name: str) -> _T:
        """The entry; LookupError that says what was probably meant, or what there is."""
        wanted = name.strip().lower()
        wanted = self.aliases.get(wanted, wanted)
        known = {entry.lower(): found for entry, found in self.entries.items()}
        if wanted in known:
            return known[wanted]
        meant = closest(wanted, [*known, *self.aliases])
        spelled = {entry.lower(): entry for entry in self.entries}
        hint = f"use one of {', '.join(self.entries)}" if self.entries else "nothing of the kind is known"
        if meant is not None:
            hint = f"did you mean {spelled.get(meant, meant)!r}?"
        raise LookupError(f"the {self.kind} {name!r} is not in the catalog; {hint}")


def names(source: Source, key: str, entries: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The aliases of a sheet's entries, in lower case; PackError if two entries answer to one name."""
    found: dict[str, str] = {}
    problems = []
    for name, aliases in entries.items():
        for alias in aliases:
            owner = found.get(alias.lower()) or (alias.lower() if alias.lower() in entries else None)
            if owner is not None:
                problems.append(source.problem((key, name, "aliases"), f"{alias!r} is a name of {owner!r} already"))
            found[alias.lower()] = name
    if problems:
        raise PackError(problems)
    return found
