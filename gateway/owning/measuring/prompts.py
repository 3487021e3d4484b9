"""Prompts of random words, as long as is asked for: nobody's text, and no two of them begin alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_WORDS = tuple(
    """
    amber anchor apple arch autumn basket beacon birch blanket boat bottle bridge brook bucket butter button candle
    canvas carpet castle cedar chalk cherry circle clay cloud clover coast copper cotton cradle crane creek crown
    curtain daisy dawn desert dock door dust eagle earth echo elbow ember engine fabric feather fence fern field flame
    flute forest fountain fox frost garden gate ginger glass glove grain grape grass gravel hammer harbor harvest hazel
    hill honey horn island ivory jacket jasmine jungle kettle kitchen ladder lake lantern leaf lemon light lily linen
    lion marble market meadow melon mill mirror mist moon moss mountain needle nest north oak ocean olive onion orange
    orchard otter oyster paper path pearl pebble pepper pine planet plum pocket pond poppy prairie quartz quill rabbit
    rain raven reed ribbon rice ridge river robin rope rose saddle sail salt sand shadow shell shore silver sky smoke
    snow spark spoon spring star stone storm straw stream summer swan table thread thunder tide timber torch tower
    trail tulip tunnel valley velvet violin wagon walnut water wave wheat wheel whistle willow window winter wolf wood
    """.split()
)
_FIRST_GUESS = 1.5
"""Tokens of such a word, until an answer has told."""
_TAIL = 12
"""Words by which a prompt that is asked again differs at its end."""
_END = "Write on in the same manner, word after word, and do not stop."
_AT_THE_END = len(_END.split())


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text, and how many random words it is made of."""

    text: str
    words: int


class Prompts:
    """Makes prompts, and learns from what comes back how many tokens a word is."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._longest = 0
        self._tokens_a_word = _FIRST_GUESS
        self._words: dict[int, int] = {}
        """Of a prompt by the tokens that were asked for: the same each time, so that what is compared is alike."""

    def fresh(self, tokens: int) -> Prompt:
        """A prompt of about so many tokens that nobody has seen."""
        words = self._words.setdefault(tokens, max(round(tokens / self._tokens_a_word) - _AT_THE_END, 1))
        return self._prompt(self._several(words))

    def again(self, prompt: Prompt) -> Prompt:
        """The same with another end: a prefix cache holds all but that."""
        words = prompt.text.split()[: prompt.words]
        return self._prompt([*words[:-_TAIL], *self._several(min(_TAIL, len(words)))])

    def learn(self, prompt: Prompt, tokens: int) -> None:
        """Take in how many tokens a prompt was; the longest tells best."""
        if tokens > 0 and prompt.words >= self._longest:
            self._longest, self._tokens_a_word = prompt.words, tokens / (prompt.words + _AT_THE_END)

    def repeated(self, tokens: int) -> int:
        """Of a prompt of so many tokens that was asked again, about those that it began with as before."""
        return max(tokens - round(self._tokens_a_word * (_TAIL + _AT_THE_END)), 0)

    def _several(self, count: int) -> list[str]:
        return self._random.choices(_WORDS, k=count)

    def _prompt(self, words: list[str]) -> Prompt:
        return Prompt(f"{' '.join(words)}\n{_END}", len(words))
