"""How near a question is to text that does not answer it: what a cosine must be compared with.

e5 puts everything close together, questions of one language closer to text of that language, and some questions closer
to everything. What counts is by how much a passage is nearer than text about something else, in its own language.
The sentences below are that text: sixteen subjects, the same in both languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.turns import Embedder

_SENTENCES = {
    "pt": (
        "A reunião começa às nove horas e termina antes do almoço.",
        "O valor da fatura deve ser pago até o último dia do mês.",
        "A chuva da semana passada encheu o rio e fechou a estrada.",
        "Minha avó plantava rosas e alecrim no quintal da casa.",
        "O time venceu a partida por dois a um no segundo tempo.",
        "A empresa contratou vinte pessoas para a nova fábrica.",
        "O computador precisa ser reiniciado depois da atualização.",
        "A lei foi aprovada pelo parlamento e entra em vigor em janeiro.",
        "O médico recomendou descanso, água e um remédio para a dor.",
        "Corte a cebola, refogue no azeite e junte o arroz.",
        "A cidade foi fundada no século dezoito por comerciantes.",
        "O contrato pode ser rescindido por qualquer uma das partes.",
        "Os planetas giram em torno do sol em órbitas elípticas.",
        "O trem para o litoral parte da plataforma quatro.",
        "A professora corrigiu as provas e entregou as notas.",
        "O aparelho tem garantia contra defeitos de fabricação.",
    ),
    "en": (
        "The meeting starts at nine o'clock and ends before lunch.",
        "The amount of the invoice must be paid by the last day of the month.",
        "Last week's rain filled the river and closed the road.",
        "My grandmother used to grow roses and rosemary in the yard.",
        "The team won the match two to one in the second half.",
        "The company hired twenty people for the new factory.",
        "The computer has to be restarted after the update.",
        "The law was passed by parliament and takes effect in January.",
        "The doctor recommended rest, water and a medicine for the pain.",
        "Chop the onion, fry it in olive oil and add the rice.",
        "The town was founded in the eighteenth century by merchants.",
        "The contract may be terminated by either of the parties.",
        "The planets move around the sun in elliptical orbits.",
        "The train to the coast leaves from platform four.",
        "The teacher marked the tests and handed out the grades.",
        "The appliance is guaranteed against manufacturing defects.",
    ),
}


@dataclass(frozen=True, slots=True)
class Background:
    """The mean vector of each language's sentences: a question's product with it is its mean cosine to them."""

    means: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, embedder: Embedder) -> Background:
        return cls({language: _mean(embedder.passages(texts)) for language, texts in _SENTENCES.items()})

    def near(self, question: Sequence[float]) -> dict[str | None, float]:
        """The question's mean cosine to unrelated text of each language; None stands for an unknown one."""
        found: dict[str | None, float] = {name: dot(question, mean) for name, mean in self.means.items()}
        return {**found, None: sum(found.values()) / len(found)}


def dot(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


def _mean(vectors: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
