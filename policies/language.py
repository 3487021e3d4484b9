"""Tells Portuguese from English by their commonest words."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["pt", "en"]

_WORD = re.compile(r"[^\W\d_]+")


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


_PORTUGUESE = _words(
    "a à ao aos as às até com como da das de depois desde do dos e é ela ele eles em entre era essa esse esta está este"
    " eu foi há isso já mais mas me mesmo meu minha muito na não nas nem no nos nós o onde os ou para pela pelas pelo"
    " pelos por qual quais quando quanto quantos que quem são se sem ser seu seus só sobre sua suas também tem ter um"
    " uma você preciso posso devo fica custa faz dia"
)
_ENGLISH = _words(
    "a about after all also am an and any are as at be been before but by can could did do does each for from had has"
    " have he her his how i if in into is it its long many may me more most much must my no not of on one only or other"
    " our out over she should so than that the their them then there these they this to under up was we were what when"
    " where which who why will with would you your cost day"
)
# Words of both languages say nothing.
_SHARED = _PORTUGUESE & _ENGLISH
_SAMPLE = 4000


def detect(text: str) -> Language | None:
    """The language most of the common words belong to; None if they do not tell."""
    words = [word.lower() for word in _WORD.findall(text[:_SAMPLE])]
    portuguese = sum(word in _PORTUGUESE for word in words if word not in _SHARED)
    english = sum(word in _ENGLISH for word in words if word not in _SHARED)
    portuguese += sum(char in "ãõçáéíóúâêô" for char in text[:_SAMPLE].lower()) // 2
    if portuguese == english:
        return None
    return "pt" if portuguese > english else "en"
