"""Free text as the one parameter of a function: a chat has only functions, whose arguments are JSON."""

from __future__ import annotations

import json
import re

PARAMETER = "input"

_HEX = "[0-9a-fA-F]"
_LOW = rf"\\u[dD][c-fC-F]{_HEX}{{2}}"
_HIGH = re.compile(rf"\\u[dD][89abAB]{_HEX}{{2}}")
_ESCAPE_LENGTH = 6
_TOKEN = re.compile(
    rf'[^"\\]+|{_HIGH.pattern}{_LOW}|\\u{_HEX}{{4}}|\\[^u]|\\u(?=.{{0,3}}[^0-9a-fA-F])',
    re.DOTALL,
)
"""A piece of a JSON string that can be said without those behind it."""
_OPENING = re.compile(rf'\s*{{\s*"{PARAMETER}"\s*:\s*"')
_SIMPLE = {"\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t", '\\"': '"', "\\\\": "\\", "\\/": "/"}


def arguments_of(text: str) -> str:
    """The arguments that say the text."""
    return json.dumps({PARAMETER: text}, ensure_ascii=False)


class FreeText:
    """The text within arguments that come piece by piece.

    Arguments of another form are what the model wrote instead of the text: they are the text as they are.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._began = self._ended = False
        self._said: list[str] = []

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self._said)

    def add(self, piece: str) -> str:
        """Take in a piece of the arguments; return what it adds to the text."""
        if self._ended:
            return ""
        self._rest += piece
        if not self._began:
            opening = _OPENING.match(self._rest)
            if opening is None:
                return ""
            self._began, self._rest = True, self._rest[opening.end() :]
        return self._say(self._taken())

    def end(self) -> str:
        """What is still to be said, now that nothing more comes; half a character that was cut is left out."""
        return "" if self._began else self._say(_text_in(self._rest))

    def _taken(self) -> str:
        """Take the characters that are complete off the rest."""
        text, at = [], 0
        while token := _TOKEN.match(self._rest, at):
            if _HIGH.fullmatch(token.group()) and self._may_pair(token.end()):
                break
            text.append(_decoded(token.group()))
            at = token.end()
        self._rest = self._rest[at:]
        self._ended = self._rest.startswith('"')
        return "".join(text)

    def _may_pair(self, at: int) -> bool:
        """True if the other half of a character may still come."""
        return len(self._rest) - at < _ESCAPE_LENGTH and r"\u".startswith(self._rest[at : at + 2])

    def _say(self, text: str) -> str:
        self._said.append(text)
        return text


def _decoded(token: str) -> str:
    """What a piece of a JSON string says; an escape that JSON does not know is said as it is."""
    if not token.startswith(r"\u"):
        return _SIMPLE.get(token, token)
    try:
        units = [int(digits, 16).to_bytes(2, "big") for digits in token.split(r"\u")[1:]]
    except ValueError:
        return token
    return b"".join(units).decode("utf-16-be", "replace")


def _text_in(arguments: str) -> str:
    """The text of arguments that are not written as expected; half characters cannot be sent on."""
    try:
        said = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        said = None
    text = said.get(PARAMETER) if isinstance(said, dict) else said
    found = text if isinstance(text, str) else arguments
    return found.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
