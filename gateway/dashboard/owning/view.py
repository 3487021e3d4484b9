"""What a reader of the page looks at: the scenario and what they try instead, all of it in the page's address.

An address has the very figures that `soleira break-even --set` takes. The form asks for them as people say them
(per cent, millions), under names with a suffix, and is led on to the address that has them plainly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlencode

from gateway.errors import BadRequest
from gateway.owning.questions import OVERRIDES, Override, overrides_of
from policies.amounts import fraction
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.datastructures import QueryParams

PATH = "/dashboard/owning"
Window = Literal["7d", "30d", "90d"]
WINDOWS: tuple[Window, ...] = get_args(Window)

_SPOKEN: dict[str, tuple[str, Fraction]] = {
    "share": ("percent", Fraction(1, 100)),
    "tokens/day": ("millions", Fraction(1_000_000)),
}
"""Units that the form has other words for: the suffix, and what one of it is."""


@dataclass(frozen=True, slots=True)
class View:
    """The state of a page. Its address says all of it: whoever is sent the address sees the same."""

    scenario: str = ""
    """By its name; empty: the first there is."""
    is_example: bool = False
    """True if the bundled example is looked at, not one of the owner's scenarios."""
    window: Window | None = None
    """The days of the ledger that traffic is taken from; None: as the scenario says."""
    tried: Mapping[Override, Fraction] = field(default_factory=dict)
    dollars: bool = False
    """True if dollars are wanted where the owner has another currency."""
    more: bool = False
    """True if all that lies under the first view is open."""

    def href(self, path: str = "", **changes: object) -> str:
        """The address of this view, with some of it changed; `path` is a page below this one."""
        changed = replace(self, **changes)  # type: ignore[arg-type]  # the names are the templates'
        words = changed.words()
        return f"{PATH}{path}?{urlencode(words)}" if words else f"{PATH}{path}"

    def without(self, name: Override) -> str:
        """The address of this view with one figure as it was."""
        return self.href(tried={each: value for each, value in self.tried.items() if each != name})

    def kept(self) -> dict[str, str]:
        """What the form that tries figures takes along."""
        return replace(self, tried={}, more=True).words()

    def asked(self) -> dict[str, str]:
        """What the form that asks for today's volume takes along."""
        return {name: word for name, word in self.words().items() if name != "tokens_per_day"}

    def words(self) -> dict[str, str]:
        """The address's query."""
        words = {"scenario": self.scenario, "example": "1" if self.is_example else "", "ledger": self.window or ""}
        words |= {str(name): plain(value) for name, value in self.tried.items()}
        words |= {"currency": "USD" if self.dollars else "", "more": "1" if self.more else ""}
        return {name: word for name, word in words.items() if word}

    def settings(self) -> list[str]:
        """What is tried, as `--set` takes it."""
        return [f"{name}={plain(value)}" for name, value in self.tried.items()]


def read(query: QueryParams) -> View:
    """The view that an address asks for, or what the form sent; BadRequest if it makes no sense."""
    window = query.get("ledger")
    return View(
        scenario=query.get("scenario", ""),
        is_example=query.get("example") == "1",
        window=_window(window) if window else None,
        tried=overrides_of({name: _asked(query, name) for name in OVERRIDES}),
        dollars=query.get("currency") == "USD",
        more=query.get("more") == "1",
    )


def untried(query: QueryParams) -> View:
    """What is left of an address whose figures make no sense."""
    return View(
        scenario=query.get("scenario", ""),
        is_example=query.get("example") == "1",
        dollars=query.get("currency") == "USD",
    )


def is_plain(query: QueryParams) -> bool:
    """True if an address is as pages write it: nothing empty, no figure as the form has it."""
    spoken = {asked_as(name) for name in OVERRIDES} - OVERRIDES.keys()
    return all(value for _, value in query.multi_items()) and spoken.isdisjoint(query.keys())


def asked_as(name: Override) -> str:
    """The figure's name in the form: `cached_share_percent`."""
    suffix, _ = _SPOKEN.get(OVERRIDES[name].unit, ("", 1))
    return f"{name}_{suffix}" if suffix else name


def spoken(name: Override, value: Fraction) -> str:
    """The figure as the form has it: `50` per cent, `400` millions."""
    return plain(value / _SPOKEN.get(OVERRIDES[name].unit, ("", 1))[1])


def plain(value: Fraction) -> str:
    """A figure as an address and a form have it: every digit that it was given with, no exponent."""
    text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def chosen(name: str, known: Sequence[str]) -> str:
    """The scenario that is meant; BadRequest for one that there is not."""
    if not name:
        return known[0]
    if name in known:
        return name
    near = closest(name, known)
    meant = f"; did you mean {near!r}?" if near else ""
    raise BadRequest(f"break_even.yaml has no scenario {name!r}: it has {', '.join(known)}{meant}", param="scenario")


def _window(text: str) -> Window:
    for known in WINDOWS:
        if text == known:
            return known
    raise BadRequest(f"ledger={text!r} is not known: use one of {', '.join(WINDOWS)}", param="ledger")


def _asked(query: QueryParams, name: Override) -> str:
    """One figure plainly, whichever way it was asked for; empty: it is not tried."""
    asked = query.get(asked_as(name), "").strip()
    if asked_as(name) == name or not asked:
        return query.get(name, "")
    try:
        return plain(fraction(asked) * _SPOKEN[OVERRIDES[name].unit][1])
    except ValueError as error:
        raise BadRequest(f"{asked_as(name)} {error}: {asked!r}", param=name) from None
