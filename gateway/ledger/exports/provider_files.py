"""Reads a provider's own usage or cost file: a CSV whose columns are known by their names, or are said."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, get_args

from gateway.economics.calendar import known
from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Role = Literal[
    "day", "model", "requests", "input", "uncached", "cached", "cache_write", "cache_write_5m", "cache_write_1h",
    "output", "reasoning", "cost", "currency",
]  # fmt: skip
"""What a column says. `input` counts all that went in, `uncached` what of it neither came from a cache nor went to
one."""

ROLES: tuple[Role, ...] = get_args(Role)
COUNTS: tuple[Role, ...] = (
    "requests", "input", "uncached", "cached", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning",
)  # fmt: skip

# What columns are called by OpenAI, Anthropic, Moonshot, DeepSeek and those who follow them; the first that is there.
_NAMES: Mapping[Role, tuple[str, ...]] = {
    "day": (
        "usage_date_utc", "start_time_iso", "start_time", "date_utc", "utc_date", "usage_date", "date", "day",
        "timestamp", "created_at", "created", "time", "aggregation_timestamp", "日期", "时间",
    ),
    "model": ("model_version", "model", "model_name", "model_id", "snapshot_id", "line_item", "模型", "模型名称"),
    "requests": (
        "num_model_requests", "num_requests", "n_requests", "request_count", "requests", "calls", "api_calls",
        "请求次数",
    ),
    "input": (
        "input_tokens", "prompt_tokens", "n_context_tokens_total", "total_input_tokens", "input_token_count",
        "输入tokens",
    ),
    "uncached": (
        "usage_input_tokens_no_cache", "uncached_input_tokens", "input_uncached_tokens", "prompt_cache_miss_tokens",
        "input_cache_miss_tokens",
    ),
    "cached": (
        "usage_input_tokens_cache_read", "input_cached_tokens", "cached_input_tokens", "cached_tokens",
        "cache_read_input_tokens", "prompt_cache_hit_tokens", "input_cache_hit_tokens", "cache_read_tokens",
    ),
    "cache_write": ("usage_input_tokens_cache_write", "cache_creation_input_tokens", "cache_write_tokens"),
    "cache_write_5m": ("usage_input_tokens_cache_write_5m", "cache_write_5m_tokens"),
    "cache_write_1h": ("usage_input_tokens_cache_write_1h", "cache_write_1h_tokens"),
    "output": (
        "usage_output_tokens", "output_tokens", "completion_tokens", "n_generated_tokens_total", "total_output_tokens",
        "输出tokens",
    ),
    "reasoning": ("reasoning_tokens", "output_reasoning_tokens"),
    "cost": ("cost_usd", "amount_value", "cost", "amount", "total_cost", "fee", "charge", "金额", "费用"),
    "currency": ("amount_currency", "currency", "币种"),
}  # fmt: skip
_DELIMITERS = ",;\t"
_EPOCH = re.compile(r"\d{9,11}(\.\d+)?\Z")
_DAY = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})\Z")
_AMOUNT = re.compile(r"[+-]?(\d{1,15}(\.\d{0,24})?|\.\d{1,24})([eE][+-]?\d{1,2})?\Z")
_MONEY_SIGNS = re.compile(r"^(US\$|R\$|[$€¥£])\s*|\s*(USD|BRL|EUR|CNY)$")
_MOST_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stated:
    """What one line of the file says."""

    day: date
    model: str
    """Empty: it does not say."""
    counts: dict[Role, int]
    cost: Decimal | None
    currency: str | None
    places: int
    """Digits behind the point of its cost: it was rounded there."""


@dataclass(frozen=True, slots=True)
class ProviderFile:
    """A whole file."""

    columns: dict[Role, str]
    """Which column was read as what."""
    lines: tuple[Stated, ...]


def read(data: bytes, said: Mapping[Role, str], zone: tzinfo = UTC) -> ProviderFile:
    """Read the file; BadRequest with what is wrong and where. `said` names columns that are not to be guessed."""
    text = _decoded(data)
    delimiter = _delimiter(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = [name.strip() for name in next(rows, [])]
    columns = _columns(header, said)
    places = {role: header.index(name) for role, name in columns.items()}
    lines: list[Stated] = []
    for row in rows:
        cells = {role: row[place].strip() for role, place in places.items() if place < len(row)}
        lines += _stated(cells, rows.line_num, zone, "," if delimiter == ";" else ".")
    return ProviderFile(columns, tuple(lines))


def said_columns(text: str) -> dict[Role, str]:
    """Read `day=Date,input=Prompt tokens`; BadRequest for a word that is none of the known."""
    known: Mapping[str, Role] = {role: role for role in ROLES}
    said: dict[Role, str] = {}
    for part in text.split(",") if text else []:
        role, _, name = part.partition("=")
        if role.strip() not in known or not name.strip():
            raise BadRequest(f"{part!r} says no column: write day=NAME, with {', '.join(ROLES)} for day")
        said[known[role.strip()]] = name.strip()
    return said


def _decoded(data: bytes) -> str:
    if len(data) > _MOST_BYTES:
        raise BadRequest(
            f"the file is larger than {_MOST_BYTES // 1024 // 1024} MiB: ask the provider for a shorter time"
        )
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise BadRequest("the file is no UTF-8 text: save it as CSV UTF-8") from None


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


def _columns(header: Sequence[str], said: Mapping[Role, str]) -> dict[Role, str]:
    missing = [name for name in said.values() if name not in header]
    if missing:
        raise BadRequest(f"the file has no column {missing[0]!r}: it has {', '.join(header)}")
    known = {_plain(name): name for name in reversed(header)}
    columns = {**_guessed(known), **said}
    if "day" not in columns or not any(role in columns for role in (*COUNTS, "cost")):
        raise BadRequest(
            f"no column for {'a count or a cost' if 'day' in columns else 'the day'} is known in: {', '.join(header)}; "
            "name them with --columns day=NAME,model=NAME,input=NAME,output=NAME,cost=NAME"
        )
    return columns


def _guessed(known: Mapping[str, str]) -> dict[Role, str]:
    """The columns by what they are usually called.

    Where reads of a cache are `cache_read_input_tokens`, the words are Anthropic's: `input_tokens` leaves those out.
    """
    guessed = {role: known[name] for role in ROLES for name in reversed(_NAMES[role]) if name in known}
    if guessed.get("cached") == known.get("cache_read_input_tokens", "") and "uncached" not in guessed:
        guessed |= {"uncached": guessed.pop("input")} if "input" in guessed else {}
    return guessed


def _plain(name: str) -> str:
    return re.sub(r"[^\w]+", "_", name.strip().lower()).strip("_")


def _stated(cells: Mapping[Role, str], number: int, zone: tzinfo, point: str) -> Iterator[Stated]:
    """What a line says; nothing if all of its counts are empty, as for days without any usage."""
    counts = {role: _count(cells[role], number, role) for role in COUNTS if cells.get(role)}
    cost = _money(cells["cost"], number, point) if cells.get("cost") else None
    if not counts and cost is None:
        return
    yield Stated(
        day=_day(cells.get("day", ""), number, zone),
        model=cells.get("model", "").split(",")[0].strip(),
        counts=counts,
        cost=cost,
        currency=cells.get("currency", "").upper() or None,
        places=0 if cost is None else max(0, -int(cost.as_tuple().exponent)),
    )


def _count(text: str, number: int, role: Role) -> int:
    """A whole number, with or without signs between thousands."""
    plain = re.sub(r"[,_\s\u00a0\u202f]", "", text)
    plain = plain.removesuffix(".0")
    if not plain.isdigit():
        raise BadRequest(f"line {number}: {text!r} is no count of {role}")
    return int(plain)


def _money(text: str, number: int, point: str) -> Decimal:
    plain = re.sub(r"\s", "", _MONEY_SIGNS.sub("", text))
    plain = plain.replace(".", "").replace(",", ".") if point == "," and "," in plain else plain.replace(",", "")
    if not _AMOUNT.match(plain):
        raise BadRequest(f"line {number}: {text!r} is no amount of money")
    return Decimal(plain)


def _day(text: str, number: int, zone: tzinfo) -> date:
    """A date as it stands; of a moment, the day that it is in the zone."""
    match = _DAY.match(text)
    try:
        if _EPOCH.match(text):
            return known(datetime.fromtimestamp(float(text), UTC).astimezone(zone).date())
        if match is not None:
            return known(date(*map(int, match.groups())))
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        known(moment.date())
    except (ValueError, OverflowError, OSError):
        raise BadRequest(f"line {number}: {text!r} is no day: it should look like 2026-11-28") from None
    return moment.date() if moment.tzinfo is None else moment.astimezone(zone).date()
