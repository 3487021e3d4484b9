"""Reads a JSON body strictly once and keeps the client's bytes, so that what was inspected is what is sent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import isinf
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

import msgspec

from gateway.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_BOM = b"\xef\xbb\xbf"
_KEY = re.compile(rb'[\s{,]*+("(?:[^"\\]|\\.)*+")\s*+:\s*+')
"""What stands before a member's value, in a body that is known to be JSON."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PROTOCOL_WORDS = frozenset(
    "arguments audio content data description detail enum file file_data file_id filename format function functions "
    "image_url input input_audio instructions items json_schema logit_bias max_completion_tokens max_tokens messages "
    "metadata model name parallel_tool_calls parameters prediction prompt properties reasoning reasoning_content "
    "reasoning_details refusal response_format role safety_identifier schema seed stop stream stream_options strict "
    "system text tool_call_id tool_calls tool_choice tools type url user".split()
)
"""The keys that a place may name: all others could be a person's words."""
_OPENS_JSON = ("{", "[", '"')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_SHORTEST_NUMBER = 1_000_000
"""A CEP without its leading zero has seven digits; no identifier that is looked for has fewer."""
_RAW_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Span:
    """Where a top-level member stands in the body: its key from `key`, its value from `start` to `end`."""

    key: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON object: the bytes as the client wrote them, and the one tree that they mean."""

    raw: bytes
    tree: dict[str, Any]
    spans: Mapping[str, Span]

    @property
    def members(self) -> dict[str, bytes]:
        """The top-level values as the client wrote them."""
        return {key: self.raw[span.start : span.end] for key, span in self.spans.items()}

    def items(self, key: str) -> list[bytes]:
        """The elements of an array member as the client wrote them; none if there is no such member."""
        span = self.spans.get(key)
        if span is None:
            return []
        if not isinstance(self.tree[key], list):
            raise BadRequest(f"{key!r} must be an array", param=key)
        return [bytes(item) for item in _RAW_ITEMS.decode(self.raw[span.start : span.end])]

    def strings(self) -> Iterator[tuple[str, str]]:
        """Every decoded string with its place: values and keys, and what strings that hold JSON hold in turn.

        A place names protocol words only; a key that looks like data is shown as `?`.
        """
        return _strings("", self.tree)

    def splice(self, changes: Mapping[str, bytes], drop: Collection[str] = ()) -> bytes:
        """Return the body with top-level members replaced, added or left out, and all else byte for byte as it was."""
        head, tail = self._ends()
        parts: list[bytes] = []
        previous = len(head)
        for key, span in self.spans.items():
            comma, previous = self.raw[previous : span.key], span.end
            if key not in drop:
                value = changes.get(key, self.raw[span.start : span.end])
                parts += [comma if parts else b"", self.raw[span.key : span.start], value]
        for key, value in changes.items():
            if key not in self.spans and key not in drop:
                parts += [b"," if parts else b"", msgspec.json.encode(key), b":", value]
        return b"".join([head, *parts, tail])

    def _ends(self) -> tuple[bytes, bytes]:
        """What stands before the first member and after the last."""
        spans = list(self.spans.values())
        if not spans:
            opened = self.raw.index(b"{") + 1
            return self.raw[:opened], self.raw[opened:]
        return self.raw[: spans[0].key], self.raw[spans[-1].end :]


def read(body: bytes, *, max_depth: int = 64) -> Body:
    """Read a JSON object; BadRequest where two parsers could read two things, or one could be made to fall over.

    That is: invalid UTF-8, a byte order mark, duplicate keys at any depth, NaN, Infinity or `1e999`, lone surrogates, a
    nesting deeper than `max_depth`. Messages name a position or a key, never a value.
    """
    tree = _parse(_text(body))
    if not isinstance(tree, dict):
        raise BadRequest("the body must be a JSON object")
    if _is_deeper(tree, max_depth):
        raise BadRequest(f"the body is nested deeper than {max_depth} levels")
    if _SURROGATE.search(body):
        _check_surrogates(tree)
    return Body(body, tree, _spans(body))


def _text(body: bytes) -> str:
    if body.startswith(_BOM):
        raise BadRequest("the body begins with a byte order mark: send plain UTF-8")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not valid UTF-8 at byte {error.start}") from None


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise BadRequest(
            f"the body is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None
    except ValueError:  # an integer longer than the interpreter converts
        raise BadRequest("the body holds a number with too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse keys that another parser takes for the same: Go's, behind several engines, does not look at case."""
    members = dict(pairs)
    if len({key.casefold() for key in members}) == len(pairs):
        return members
    seen: set[str] = set()
    for key, _ in pairs:
        if key.casefold() in seen:
            raise BadRequest(f"the key {_shown(key)!r} appears twice in one object, upper or lower case aside")
        seen.add(key.casefold())
    raise AssertionError("fewer keys than pairs have a duplicate")


def _refuse_constant(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON: use a number, a string or null")


def _finite(digits: str) -> float:
    """Refuse what one reader takes for infinity, another for nothing, and a third for an error: `1e999`."""
    number = float(digits)
    if isinf(number):
        raise BadRequest("the body holds a number that is too large")
    return number


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    if levels == 0:
        return True
    return any(_is_deeper(child, levels - 1) for child in (value.values() if isinstance(value, dict) else value))


def _check_surrogates(tree: dict[str, Any]) -> None:
    for place, text in _strings("", tree):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise BadRequest(f"{place or 'the body'} holds half of a surrogate pair") from None


def _spans(body: bytes) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    position = 0
    for key, value in _RAW_MEMBERS.decode(body).items():
        before = _KEY.match(body, position)
        if before is None:
            raise BadRequest("the body is not a JSON object")
        position = before.end() + len(memoryview(value))
        spans[key] = Span(before.start(1), before.end(), position)
    return spans


def _strings(place: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
        yield from _inner_strings(place, value)
    elif isinstance(value, int | float) and abs(value) >= _SHORTEST_NUMBER:
        yield place, str(value)  # an identifier may stand as a number
    elif isinstance(value, dict):
        for key, child in value.items():
            yield place, key
            yield from _strings(_within(place, key), child)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _strings(f"{place}[{index}]", child)


def _inner_strings(place: str, text: str) -> Iterator[tuple[str, str]]:
    """The strings of a text that is itself JSON, as the arguments of a tool call are, duplicates included.

    Scanning the text alone is not enough: `\\u0031` or a `\\n` before a digit hides what it says. JSON within other
    text, or one value a line, is read with its escapes undone, and what is percent-encoded decoded.
    """
    if "\\" in text:
        yield place, _ESCAPE.sub(_unescaped, text)
    if _PERCENT.search(text):
        yield place, unquote(text)
    if not text.lstrip().startswith(_OPENS_JSON):
        return
    try:
        inner = json.loads(text, object_pairs_hook=_every_pair)
    except (ValueError, RecursionError):
        return
    for _, string in _strings("", inner):
        yield place, string


def _unescaped(escape: re.Match[str]) -> str:
    code = escape.group(1)
    return chr(int(code, 16)) if code else " "


def _every_pair(pairs: list[tuple[str, Any]]) -> list[Any]:
    return [part for pair in pairs for part in pair]


def _within(place: str, key: str) -> str:
    return f"{place}.{_shown(key)}" if place else _shown(key)


def _shown(key: str) -> str:
    return key if key in _PROTOCOL_WORDS else "?"
