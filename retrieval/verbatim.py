"""Texts of a caller who knows the model: read to their end or not at all, and with the prompt that they bring along."""

from __future__ import annotations


class Verbatim(str):
    """A text that no embedder shortens: where the model cannot read it to its end, TextTooLong.

    If it begins with one of the model's own prompts (`query: `), it is given no second one.
    """

    __slots__ = ()


class TextTooLong(Exception):
    """The model would read only the beginning of a text; both counts are in its tokens, prompt included."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"{tokens} tokens, and the model reads {limit}")
        self.tokens, self.limit = tokens, limit
