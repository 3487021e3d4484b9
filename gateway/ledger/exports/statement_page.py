"""A statement as one HTML file that prints on paper: it needs no server, no script and no font from anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING

from gateway.economics.calendar import day_of
from gateway.ledger.exports.sheets import plain, usd
from gateway.ledger.usage import Sums

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from gateway.ledger.exports.statement import Bill, Statement
    from policies.fields import Language

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "title": "Statement",
        "from": "Days of {zone}, {start} to {end}",
        "open": "Not final: {why}",
        "month": "the month has not ended",
        "held": "{count} calls are under way, for at most {amount}",
        "due": "Charged to callers",
        "house": "Borne by the house",
        "surcharge": "Of the total, taxes and fees",
        "total": "Total",
        "people": "By person",
        "providers": "By provider",
        "own": "On machines of one's own",
        "own note": "At what a token more costs there.",
        "machines": "The machines over time",
        "machines note": "Apart from the sums above: the same machines, with what they cost whether used or not.",
        "capital": "Capital",
        "rent": "Rent",
        "energy": "Energy",
        "staff": "Staff",
        "used": "Used",
        "idle": "Idle",
        "all": "In all",
        "name": "Name",
        "calls": "Calls",
        "tokens": "Tokens",
        "estimated": "{count} calls were charged at an estimate, since the upstream did not say what it counted.",
        "rate": "{currency} at {rate} for a dollar, the owner's rate of {day}.",
    },
    "pt": {
        "title": "Extrato",
        "from": "Dias de {zone}, {start} a {end}",
        "open": "Não é final: {why}",
        "month": "o mês não terminou",
        "held": "{count} chamadas em andamento, por no máximo {amount}",
        "due": "Cobrado de quem chamou",
        "house": "Pago pela casa",
        "surcharge": "Do total, impostos e taxas",
        "total": "Total",
        "people": "Por pessoa",
        "providers": "Por provedor",
        "own": "Em equipamentos próprios",
        "own note": "Pelo custo de um token a mais.",
        "machines": "Os equipamentos ao longo do mês",
        "machines note": "À parte das somas acima: os mesmos equipamentos, com o que custam usados ou parados.",
        "capital": "Capital",
        "rent": "Aluguel",
        "energy": "Energia",
        "staff": "Pessoal",
        "used": "Em uso",
        "idle": "Parados",
        "all": "Ao todo",
        "name": "Nome",
        "calls": "Chamadas",
        "tokens": "Tokens",
        "estimated": "{count} chamadas foram cobradas por estimativa, pois o provedor não informou o que contou.",
        "rate": "{currency} a {rate} por dólar, câmbio informado pelo dono em {day}.",
    },
}
_STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
p { margin: .3rem 0 } .open { border-left: 4px solid #b45309; padding-left: .6rem }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid #8886; font-variant-numeric: tabular-nums }
th:first-child, td:first-child { text-align: left } .part th { padding-left: 1.8rem; font-weight: normal }
tbody th { font-weight: 600 } tfoot th, tfoot td { font-weight: 700; border-top: 2px solid; border-bottom: 0 }
@media print { body { margin: 0; max-width: none } h2 { break-after: avoid } tr { break-inside: avoid } }
"""
_SIGNS = {"USD": "US$", "BRL": "R$", "EUR": "€", "CNY": "CN¥"}
_CENTS, _SMALL = Decimal("0.01"), Decimal("0.0001")
_TO_PORTUGUESE = str.maketrans(",.", ".,")
_OF_A_MACHINE = ("capital", "rent", "energy", "staff", "used", "idle")
_FIGURES = ("calls", "tokens", "due", "house", "total")


def page(statement: Statement, language: Language) -> str:
    """The whole file. Dollars stand there with every digit, the owner's currency with four behind the point."""
    hand = _Hand(statement, language)
    own = [*hand.table("own", statement.own), f"<p>{hand.say('own note')}</p>"] if statement.own else []
    machines = hand.machines() if statement.machines else ()
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="{"pt-BR" if language == "pt" else "en"}"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Soleira: {hand.heading()}</title><style>{_STYLE}</style></head><body><main>",
            *hand.head(),
            *hand.table("people", statement.people),
            *hand.table("providers", statement.providers),
            *own,
            *machines,
            *hand.foot(),
            "</main></body></html>\n",
        ]
    )


@dataclass(frozen=True, slots=True)
class _Hand:
    """Writes one statement in one language."""

    statement: Statement
    language: Language

    def heading(self) -> str:
        year, month = self.statement.month.split("-")
        shown = f"{month}/{year}" if self.language == "pt" else self.statement.month
        return f"{self.say('title')} {shown}"

    def say(self, word: str, **values: str) -> str:
        return escape(_WORDS[self.language][word].format(**values))

    def head(self) -> Iterator[str]:
        """The month, whether it is final, and what it comes to."""
        total, span = self.statement.total, self.statement.span
        last = day_of(span.end - timedelta(microseconds=1), span.zone)
        days = {"start": self.day(day_of(span.start, span.zone)), "end": self.day(last)}
        yield f"<h1>{self.heading()}</h1><p>{self.say('from', zone=str(span.zone), **days)}</p>"
        if not self.statement.ended:
            yield f'<p class="open">{self.say("open", why=_WORDS[self.language]["month"])}</p>'
        if self.statement.held:
            held = {"count": self.count(self.statement.held), "amount": self.money(self.statement.held_nano_usd)}
            yield f'<p class="open">{self.say("held", **held)}</p>'
        sums = {
            "due": total.principal_nano_usd,
            "house": total.house_nano_usd,
            "total": total.cost_nano_usd,
            "surcharge": total.surcharge_nano_usd,
        }
        for word, nano_usd in sums.items():
            if word == "surcharge" and not nano_usd:
                continue
            yield f"<p>{self.say(word)}: <strong>{escape(self.money(nano_usd))}</strong></p>"

    def table(self, word: str, bills: tuple[Bill, ...]) -> Iterator[str]:
        """A line for each name, below it its parts, and the sum of all."""
        heads = "".join(f'<th scope="col">{self.say(name)}</th>' for name in ("name", *_FIGURES))
        yield f'<h2>{self.say(word)}</h2><div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
        for bill in bills:
            yield self.line(bill.name, bill.sums)
            if [part.name for part in bill.parts] != [bill.name]:
                yield from (self.line(part.name, part.sums, "part") for part in bill.parts)
        total = sum((bill.sums for bill in bills), Sums())
        yield f"</tbody><tfoot>{self.line(_WORDS[self.language]['total'], total)}</tfoot></table></div>"

    def machines(self) -> Iterator[str]:
        """What each machine cost over time, used and idle."""
        heads = "".join(f'<th scope="col">{self.say(name)}</th>' for name in ("name", *_OF_A_MACHINE, "all"))
        yield f'<h2>{self.say("machines")}</h2><div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
        for machine in self.statement.machines:
            sums = [getattr(machine, f"{name}_nano_usd") for name in (*_OF_A_MACHINE, "allocated")]
            cells = "".join(f"<td>{escape(self.money(nano_usd))}</td>" for nano_usd in sums)
            yield f'<tr><th scope="row">{escape(machine.name)}</th>{cells}</tr>'
        yield f"</tbody></table></div><p>{self.say('machines note')}</p>"

    def line(self, name: str, sums: Sums, kind: str = "") -> str:
        counts = [self.count(sums.attempts), self.count(sums.tokens)]
        money = [self.money(nano) for nano in (sums.principal_nano_usd, sums.house_nano_usd, sums.cost_nano_usd)]
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (*counts, *money))
        return f'<tr class="{kind}"><th scope="row">{escape(name)}</th>{cells}</tr>'

    def foot(self) -> Iterator[str]:
        """What was estimated, and by which rate the owner's currency stands there."""
        statement, rate = self.statement, self.statement.rate
        if statement.total.estimated:
            yield f"<p>{self.say('estimated', count=self.count(statement.total.estimated))}</p>"
        if rate is not None:
            per_usd = self.spelled(plain(rate.per_usd))
            yield f"<p>{self.say('rate', currency=statement.currency, rate=per_usd, day=self.day(rate.as_of))}</p>"

    def money(self, nano_usd: int) -> str:
        dollars = f"US$\N{NO-BREAK SPACE}{self.spelled(_grouped(usd(nano_usd)))}"
        rate = self.statement.rate
        if rate is None:
            return dollars
        own = (usd(nano_usd) * rate.per_usd).quantize(_SMALL if nano_usd else _CENTS)
        sign = _SIGNS[self.statement.currency]
        return f"{sign}\N{NO-BREAK SPACE}{self.spelled(f'{own:,}')} ({dollars})"

    def count(self, number: int) -> str:
        return self.spelled(f"{number:,}")

    def day(self, which: date) -> str:
        return f"{which:%d/%m/%Y}" if self.language == "pt" else which.isoformat()

    def spelled(self, number: str) -> str:
        return number.translate(_TO_PORTUGUESE) if self.language == "pt" else number


def _grouped(amount: Decimal) -> str:
    """Thousands set apart, every digit that counts, and never less than cents."""
    whole, _, part = plain(amount).partition(".")
    return f"{int(whole):,}.{part.ljust(2, '0')}"
