"""What there is to tell: budgets at a threshold, prices to look at again, a day with many estimates."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from gateway.catalog.price_lists import price_of
from gateway.ledger.price import as_usd
from gateway.ledger.subjects import HOUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import tzinfo

    from gateway.ledger.budgets import Standing
    from gateway.ledger.usage import Sums
    from policies.alerts import Occasion
    from policies.budgets import Budgets
    from policies.pack import Pack

FEWEST_CALLS = 20
"""Of fewer calls a day, one estimate would be a large share."""
_RETIRING = timedelta(days=30)
_ALL = 100


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell, in both languages: names and sums, nothing of what was said."""

    id: str
    """The same for the same thing in every process."""
    occasion: Occasion
    en: str
    pt: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs."""
    covers: tuple[str, ...] = ()
    """The ids of lesser things that need no telling any more once this is told."""


def of_budgets(standings: Iterable[Standing], budgets: Budgets) -> Iterator[Notice]:
    """One for each budget that has spent a threshold or more: the highest that it has reached.

    What is only held does not count: it may come to less.
    """
    for standing in standings:
        percent = _spent_percent(standing)
        reached = [threshold for threshold in standing.budget.warn_at if threshold <= percent]
        if reached:
            *lesser, highest = (f"budgets/{standing.window.id}/{threshold}" for threshold in reached)
            yield _spent(standing, percent, budgets.zone, highest, tuple(lesser))


def of_prices(pack: Pack, today: date, stale_after: int) -> Iterator[Notice]:
    """Prices that were looked up long ago or have ended, and models that are taken away soon."""
    noon = datetime.combine(today, time(12), tzinfo=UTC)
    for spec in pack.deployments:
        price = price_of(spec, pack, today).at(noon)
        name, facts = spec.name, {"deployment": spec.name}
        if price.is_free:
            continue
        if price.as_of is not None and today - price.as_of > timedelta(days=stale_after):
            yield Notice(
                f"prices/{name}/as of {price.as_of}",
                "prices",
                f"The price of {name} was looked up on {price.as_of}: look again.",
                f"O preço de {name} foi consultado em {price.as_of:%d/%m/%Y}: consulte de novo.",
                {**facts, "as_of": price.as_of.isoformat()},
            )
        if price.lapsed:
            yield Notice(
                f"prices/{name}/lapsed {price.ends_on}",
                "prices",
                f"The price of {name} has ended and is charged on for want of another: add one to prices.yaml.",
                f"O preço de {name} terminou e continua valendo por falta de outro: inclua um em prices.yaml.",
                {**facts, "lapsed": True},
            )
        gone = price.retires_on
        if gone is not None and gone - today <= _RETIRING:
            yield Notice(
                f"prices/{name}/retires {gone}",
                "prices",
                f"The operator of {name} takes its model away on {gone}.",
                f"O operador de {name} retira o modelo em {gone:%d/%m/%Y}.",
                {**facts, "retires_on": gone.isoformat()},
            )


def of_estimates(sums: Sums, day: date, above: int) -> Iterator[Notice]:
    """A day on which more than so many percent of the calls were charged at an estimate."""
    if sums.attempts < FEWEST_CALLS or sums.estimated * 100 <= above * sums.attempts:
        return
    share = sums.estimated * 100 // sums.attempts
    yield Notice(
        f"estimates/{day}",
        "estimates",
        f"On {day}, {sums.estimated} of {sums.attempts} calls ({share}%) were charged at an estimate, "
        "since the upstream did not say what it counted.",
        f"Em {day:%d/%m/%Y}, {sums.estimated} de {sums.attempts} chamadas ({share}%) foram cobradas por estimativa, "
        "pois o provedor não informou o que contou.",
        {"day": day.isoformat(), "attempts": sums.attempts, "estimated": sums.estimated},
    )


def a_test(at: datetime) -> Notice:
    """What `soleira alerts test` sends."""
    return Notice(
        f"test/{at.isoformat()}",
        "budgets",
        "This is a test: alerts arrive here.",
        "Este é um teste: os alertas chegam aqui.",
        {"test": True},
    )


def _spent_percent(standing: Standing) -> int:
    """Of the tightest limit, rounded down; a limit of nothing is used up by nobody's doing."""
    window = standing.window
    pairs = ((standing.spent_nano_usd, window.limit_nano_usd), (standing.spent_tokens, window.limit_tokens))
    return max((spent * 100 // limit for spent, limit in pairs if limit), default=0)


def _spent(standing: Standing, percent: int, zone: tzinfo, name: str, lesser: tuple[str, ...]) -> Notice:
    budget, window = standing.budget, standing.window
    whom = "" if window.subject in ("", HOUSE, budget.of.name) else f" ({window.subject})"
    ends = window.ends_at.astimezone(zone)
    refused = budget.hard and percent >= _ALL
    english = (
        f"Budget {budget.name!r}{whom} has spent {percent}%: {_sums(standing, _english)}, until {ends:%Y-%m-%d %H:%M}."
    )
    portuguese = (
        f"O orçamento {budget.name!r}{whom} gastou {percent}%: {_sums(standing, _portuguese)}, "
        f"até {ends:%d/%m/%Y %H:%M}."
    )
    return Notice(
        id=name,
        occasion="budgets",
        en=f"{english} What it counts is refused until then." if refused else english,
        pt=f"{portuguese} O que ele conta é recusado até lá." if refused else portuguese,
        facts={**standing.as_dict(), "percent": percent},
        covers=lesser,
    )


def _sums(standing: Standing, spell: Callable[[str], str]) -> str:
    """`US$ 4 of US$ 5, 1000 of 2000 tokens`, in the one language or the other."""
    window, of = standing.window, spell("of")
    parts = []
    if window.limit_nano_usd is not None:
        spent, limit = (f"US$ {spell(as_usd(nano))}" for nano in (standing.spent_nano_usd, window.limit_nano_usd))
        parts.append(f"{spent} {of} {limit}")
    if window.limit_tokens is not None:
        parts.append(f"{standing.spent_tokens} {of} {window.limit_tokens} tokens")
    return ", ".join(parts)


def _english(text: str) -> str:
    return text


def _portuguese(text: str) -> str:
    return "de" if text == "of" else text.replace(".", ",")
