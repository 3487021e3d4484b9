"""The books of one transaction: what each entry changes in budgets' windows and in rollups, worked out in memory.

The rows that an entry depends on are read, and locked, before; what has changed is written after. Nothing here waits.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.db.tables import BUCKET, DIMENSIONS, MEASURES
from gateway.wire.lanes import LANES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Value = str | int | None
Row = dict[str, Value]
"""A row as it is stored: moments in microseconds, money in nano-dollars, lists as JSON."""

_BUCKET_MICROSECONDS = BUCKET.days * 86_400_000_000 + BUCKET.seconds * 1_000_000
_TOKEN_LANES = tuple(lane for lane in LANES if lane != "searches")
_SAME = tuple(name for name in MEASURES if name.endswith("_nano_usd") and name != "house_nano_usd") + LANES
"""Measures that are a column of the attempt."""
TOTALS = ("spent_nano_usd", "held_nano_usd", "spent_tokens", "held_tokens")
"""What a window counts."""


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A hold was refused: this window, as it stands, has no room for it."""

    window: Row


@dataclass(frozen=True, slots=True)
class Open:
    """An attempt that may still be settled, and the windows it counts in."""

    row: Row
    windows: tuple[str, ...]


@dataclass(slots=True)
class Books:
    """The windows as they stand in this transaction, and all that its entries change."""

    windows: dict[str, Row] = field(default_factory=dict)
    opened: dict[str, Open] = field(default_factory=dict)
    added: list[Row] = field(default_factory=list)
    """Attempts that are new."""
    linked: list[Row] = field(default_factory=list)
    """The windows of these."""
    changed: list[Row] = field(default_factory=list)
    """Attempts that are settled now."""
    _moved: defaultdict[str, Row] = field(default_factory=lambda: defaultdict(lambda: dict.fromkeys(TOTALS, 0)))
    _rolled: defaultdict[tuple[Value, ...], list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0] * len(MEASURES))
    )

    def hold(self, row: Row, windows: Sequence[Row]) -> NoRoom | None:
        """Enter an attempt, and hold it in all its windows, or in none if a hard one has no room."""
        full = [self.windows[name] for name in _ids(windows) if not _has_room(self.windows[name], row)]
        if full:
            return NoRoom(max(full, key=lambda window: _whole(window["ends_at"])))
        for name in _ids(windows):
            self._move(name, "held", 1, row["held_nano_usd"], row["held_tokens"])
            self.linked.append({"attempt_id": row["id"], "window_id": name})
        self.added.append(row)
        self.opened[str(row["id"])] = Open(row, tuple(_ids(windows)))
        return None

    def settle(self, attempt_id: str, values: Mapping[str, Value]) -> bool:
        """Close an attempt; False if it is not open. One that was recovered takes what its owner knows better."""
        opened = self.opened.pop(attempt_id, None)
        if opened is None:
            return False
        self.close(opened.row, values, opened.windows)
        return True

    def close(self, row: Row, values: Mapping[str, Value], windows: Iterable[str]) -> None:
        """Put what the attempt has cost in place of what it stood for: what it held, or what it was recovered at."""
        after = {**row, **values}
        held = row["state"] == "held"
        before, spent = (0 if held else tokens(row)), tokens(after)
        for name in windows:
            if held:
                self._move(name, "held", -1, row["held_nano_usd"], row["held_tokens"])
            else:
                self._move(name, "spent", -1, row["cost_nano_usd"], before)
            self._move(name, "spent", 1, after["cost_nano_usd"], spent)
        if not held:
            self._roll(row, -1)
        self._roll(after, 1)
        self.changed.append({"b_id": row["id"], **values})

    @property
    def moved(self) -> list[Row]:
        """What is added to each window, in the order of their ids."""
        return [{"b_id": name, **self._moved[name]} for name in sorted(self._moved)]

    @property
    def rolled(self) -> list[Row]:
        """What is added to each rollup, in the order of their keys."""
        keys = sorted(self._rolled, key=str)
        return [
            {
                **dict(zip(("bucket", *DIMENSIONS), key, strict=True)),
                **dict(zip(MEASURES, self._rolled[key], strict=True)),
            }
            for key in keys
        ]

    def _move(self, name: str, what: str, sign: int, nano_usd: Value, count: Value) -> None:
        for place in (self._moved[name], self.windows.get(name)):
            if place is not None:
                for column, amount in ((f"{what}_nano_usd", nano_usd), (f"{what}_tokens", count)):
                    place[column] = _whole(place[column]) + sign * _whole(amount)

    def _roll(self, row: Row, sign: int) -> None:
        started_at = _whole(row["started_at"])
        key = (started_at - started_at % _BUCKET_MICROSECONDS, *(row[name] for name in DIMENSIONS))
        sums, more = self._rolled[key], measures(row)
        for place, name in enumerate(MEASURES):
            sums[place] += sign * more[name]


def measures(row: Row) -> dict[str, int]:
    """What one settled attempt adds to its rollup."""
    outcome = row["outcome"]
    return {
        "attempts": 1,
        **{name: _whole(row[name]) for name in ("estimated", "assumed", "from_cache")},
        "failed": int(outcome in ("failed", "unknown")),
        "aborted": int(outcome == "aborted"),
        "house_nano_usd": _whole(row["cost_nano_usd"]) if row["bearer"] == "house" else 0,
        "busy_ms": _whole(row["total_ms"]),
        **{name: _whole(row[name]) for name in _SAME},
    }


def tokens(row: Row) -> int:
    """The inclusive total of the row's lanes."""
    return sum(_whole(row[lane]) for lane in _TOKEN_LANES)


def _has_room(window: Row, row: Row) -> bool:
    """A soft window always has. A hold that costs nothing does not ask for money; one of no tokens asks for one."""
    if not window["hard"]:
        return True
    nano_usd, count = _whole(row["held_nano_usd"]), _whole(row["held_tokens"])
    money = nano_usd == 0 or _fits(window, "nano_usd", nano_usd)
    return money and _fits(window, "tokens", max(1, count))


def _fits(window: Row, unit: str, amount: int) -> bool:
    limit = window[f"limit_{unit}"]
    return limit is None or _whole(window[f"spent_{unit}"]) + _whole(window[f"held_{unit}"]) + amount <= _whole(limit)


def _ids(windows: Sequence[Row]) -> list[str]:
    return [str(window["id"]) for window in windows]


def _whole(value: Value) -> int:
    """A stored number; none counts as nothing."""
    return int(value or 0)
