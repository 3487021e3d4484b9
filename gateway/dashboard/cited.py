"""What Soleira itself says of a figure's source, in the reader's language; names of publications stay as they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.dashboard.texts import Language

_WHOLE: dict[str, str] = {
    "nobody stated it": "ninguém informou",
    "nobody stated it: one replica at least": "ninguém informou: pelo menos uma réplica",
    "nobody stated it: no hours of people are counted": "ninguém informou: não se conta hora de ninguém",
    "nobody stated it: nothing is added": "ninguém informou: nada se acrescenta",
    "nobody stated it: prices stay": "ninguém informou: os preços ficam",
    "nobody stated it: the price of input": "ninguém informou: o preço da entrada",
    "nobody stated it: the volume stays": "ninguém informou: o volume fica",
    "nobody stated it: all of it may go to the host": "ninguém informou: tudo pode ir ao provedor",
    "nobody stated it: a queue grows without end beyond about three quarters": (
        "ninguém informou: além de uns três quartos a fila cresce sem fim"
    ),
    "nobody stated it: it counts as no work": "ninguém informou: conta como trabalho nenhum",
    "half of it, or of what it leaves of the whole, to either side of what is known": (
        "metade dele, ou do que falta para o todo, para cada lado do que se conhece"
    ),
    "a fifth to either side of what is stated": "um quinto para cada lado do informado",
    "a fifth to either side: it is not the list price of the model's maker, of which a reseller takes a part": (
        "um quinto para cada lado: não é o preço de tabela do fabricante, do qual um revendedor cobra uma parte"
    ),
    "how far traffic of different kinds lies apart": "o quanto diferem tráfegos de tipos diversos",
    "half to one and a half of what it is above the mean": "de metade a uma vez e meia do que passa da média",
    "none to half of what the machines cost": "de nada à metade do que as máquinas custam",
    "none to twice as much": "de nada ao dobro",
    "changed for this look": "alterado nesta consulta",
    "this machine's system": "o sistema desta máquina",
    "stated by whoever asked": "informado por quem perguntou",
}
_PARTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(english), portuguese)
    for english, portuguese in (
        (r"\Astated in scenario (?=')", "informado no cenário "),
        (r"\Athe house's own ledger, ([\d.]+) days? until ", r"o livro-razão da casa, \1 dias até "),
        (r"\Aprice of deployment (?=')", "preço do deployment "),
        (r"\Amachine (?='.*' of break_even\.yaml)", "máquina "),
        (r"(?<=') of break_even\.yaml", " de break_even.yaml"),
        (r"\Aprofile (?=\S+: )", "perfil "),
        (
            r"\Athe cheapest and the dearest rent that is known: ",
            "o aluguel mais barato e o mais caro que se conhecem: ",
        ),
        (
            r"\Aits maker's list price, of which resellers take down to ([\d.]+) ",
            r"preço de tabela do fabricante, do qual revendedores chegam a cobrar \1 ",
        ),
        (r"; a fifth above\Z", "; um quinto acima"),
        (
            r"\Afrom none to the ([\d.]+ %) and more that agents reach ",
            r"de nada aos \1 e mais que agentes alcançam ",
        ),
        (
            r"\Aa model of one number is right within ([\d.]+ %) at best ",
            r"um modelo de um só número acerta por \1, no melhor caso ",
        ),
        (r", with ([\d.]+) for taxes\Z", r", com \1 de impostos"),
        (r", in (\w+) at ([\d.]+) for a dollar ", r", em \1 a \2 por dólar "),
        (r", times ([\d.]+)", r", vezes \1"),
        (r"; ([\d.]+ %) reserved at ([\d.]+) for (\d+) months", r"; \1 reservados a \2 por \3 meses"),
    )
)
"""What is put around a name that stays: where it begins, ends or is followed by what was reckoned."""
_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def cited(source: str, language: Language) -> str:
    """A source as a reader of the language would read it."""
    return source if language == "en" else _WHOLE.get(source) or _by_part(source)


def is_named(source: str) -> bool:
    """True for the name of a publication or of whatever else stays in its own language."""
    return source not in _WHOLE and not any(pattern.search(source) for pattern, _ in _PARTS)


def _by_part(source: str) -> str:
    for pattern, portuguese in _PARTS:
        if found := pattern.search(source):
            said = _POINT.sub(",", found.expand(portuguese))
            source = f"{source[: found.start()]}{said}{source[found.end() :]}"
    return source
