"""The wire form of embeddings: texts or token ids in, vectors out as numbers or as base64."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from gateway.errors import BadRequest, UpstreamError
from gateway.wire.lanes import Usage
from gateway.wire.shapes import NamedAtTop
from gateway.wire.usage import count_in, estimate_tokens

Format = Literal["float", "base64"]

MOST_INPUTS = 2048
"""Of one request; OpenAI's own limit, which clients cut their batches for."""
ANSWERED_HERE = frozenset({"encoding_format"})
"""What is not passed on. Every upstream answers in numbers unless told otherwise, some refuse to be told, and `encode`
gives the client the form it asked for."""


class EmbeddingsRequest(Struct):
    """`POST /v1/embeddings`. Unknown fields are allowed and reach the upstream byte for byte."""

    model: str
    input: str | list[str | int | list[int]]
    encoding_format: Format | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is to be embedded: texts, or lists of token ids, never both."""

    texts: tuple[str, ...] = ()
    tokens: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.texts) + len(self.tokens)

    @property
    def readable(self) -> bool:
        """False for token ids: they are text in a vocabulary that is not known here, so nobody can look into them."""
        return not self.tokens

    @property
    def prompt_tokens(self) -> int:
        """A bound from above on the tokens of texts; token ids are counted."""
        return estimate_tokens(sum(len(text.encode()) for text in self.texts)) + sum(map(len, self.tokens))

    @property
    def longest(self) -> int:
        """The same for the longest input alone, which is what must fit a model's context."""
        sizes = [estimate_tokens(len(text.encode())) for text in self.texts] + [len(ids) for ids in self.tokens]
        return max(sizes, default=0)


def read_input(tree: Mapping[str, Any]) -> Inputs:
    """The inputs of a request; BadRequest names what is wrong and where, never what it says."""
    given = tree.get("input")
    if isinstance(given, str):
        return Inputs(texts=(_text(given, "input"),))
    if not isinstance(given, list):
        raise BadRequest("'input' must be a text, a list of texts, or lists of token ids", param="input")
    if given and _is_token(given[0]):
        return Inputs(tokens=(_tokens(given, "input"),))
    return _batch(given)


def read_format(tree: Mapping[str, Any]) -> Format:
    """The form in which the client wants its vectors."""
    match tree.get("encoding_format"):
        case None | "float":
            return "float"
        case "base64":
            return "base64"
        case _:
            raise BadRequest("'encoding_format' must be 'float' or 'base64'", param="encoding_format")


def read_dimensions(tree: Mapping[str, Any]) -> int | None:
    """How many numbers a vector shall have; None: as many as the model gives."""
    dimensions = tree.get("dimensions")
    if dimensions is None:
        return None
    if type(dimensions) is not int or dimensions < 1:
        raise BadRequest("'dimensions' must be a whole number of at least 1", param="dimensions")
    return dimensions


def _batch(given: Sequence[object]) -> Inputs:
    if not given:
        raise BadRequest("'input' is empty: send at least one text", param="input")
    if len(given) > MOST_INPUTS:
        raise BadRequest(f"'input' has {len(given)} entries: send at most {MOST_INPUTS} at once", param="input")
    if isinstance(given[0], str):
        return Inputs(texts=tuple(_text(item, f"input[{index}]") for index, item in enumerate(given)))
    return Inputs(tokens=tuple(_tokens(item, f"input[{index}]") for index, item in enumerate(given)))


def _text(item: object, place: str) -> str:
    if not isinstance(item, str):
        raise BadRequest(f"{place!r} must be a text, as the entries before it are", param=place)
    if not item:
        raise BadRequest(f"{place!r} is empty: send at least one character", param=place)
    return item


def _tokens(item: object, place: str) -> tuple[int, ...]:
    if not isinstance(item, list):
        raise BadRequest(f"{place!r} must be a list of token ids: texts go with texts alone", param=place)
    if not item:
        raise BadRequest(f"{place!r} is empty: send at least one token", param=place)
    if not all(map(_is_token, item)):
        raise BadRequest(f"{place!r} must hold token ids alone, whole numbers from 0", param=place)
    return tuple(item)


def _is_token(item: object) -> bool:
    return type(item) is int and item >= 0


def encode(
    payload: Mapping[str, Any], encoding_format: Format, usage: Usage | None = None, inputs: int | None = None
) -> dict[str, Any]:
    """An upstream's answer as the client asked for it, in the order of the inputs, whatever form the vectors came in.

    The payload must be an answer by `EMBEDDINGS`; UpstreamError if it has not one vector for each of the `inputs`,
    which clients match by position. `usage` is said where the upstream said none: the official clients require it.
    """
    if inputs is not None and len(payload["data"]) != inputs:
        raise UpstreamError("the deployment did not answer with one vector for each input")
    data = [_item(item, position, encoding_format) for position, item in enumerate(_ordered(payload["data"]))]
    answer = {**payload, "object": "list", "data": data}
    said = EMBEDDINGS.heard(payload).get("usage") or ({} if usage is None else _counts(usage))
    if said:
        stated = payload.get("usage")
        counts = {name: said[name] for name in ("prompt_tokens", "total_tokens")}
        answer["usage"] = {**(stated if isinstance(stated, Mapping) else {}), **counts}
    return answer


def _ordered(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By index where every item has its own; else as they came."""
    indices = [item.get("index") for item in data]
    if all(map(_is_token, indices)) and set(indices) == set(range(len(data))):
        return sorted(data, key=lambda item: int(item["index"]))
    return data


def _item(item: Mapping[str, Any], position: int, encoding_format: Format) -> dict[str, Any]:
    embedding = item["embedding"]
    if encoding_format == "base64":
        embedding = b64encode(_little_endian(_numbers(embedding))).decode()
    elif isinstance(embedding, str):
        embedding = _numbers(embedding).tolist()
    # llama-server says the format in each item; what is said there must not contradict what stands beside it.
    rest = {name: value for name, value in item.items() if name != "encoding_format"}
    return {**rest, "object": "embedding", "index": position, "embedding": embedding}


def _counts(usage: Usage) -> dict[str, int]:
    return {"prompt_tokens": usage.prompt, "total_tokens": usage.prompt + usage.completion}


class EmbeddingsShape(NamedAtTop):
    """`/embeddings`."""

    path = "/embeddings"

    def is_answer(self, payload: Mapping[str, Any]) -> bool:
        data = payload.get("data")
        return isinstance(data, list) and bool(data) and all(map(_is_embedding, data))

    def error(self, payload: Mapping[str, Any]) -> object | None:
        return None if payload.get("data") else payload.get("error") or None

    def heard(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its usage. Some say the total alone: nothing is written here, so that is the prompt."""
        stated = payload.get("usage")
        if not isinstance(stated, Mapping):
            return {}
        counts = [count_in(stated, name) for name in ("prompt_tokens", "total_tokens")]
        prompt = max((count for count in counts if count is not None), default=None)
        if prompt is None:
            return {}
        return {"usage": {**stated, "prompt_tokens": prompt, "completion_tokens": 0, "total_tokens": prompt}}


EMBEDDINGS = EmbeddingsShape()


def _is_embedding(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    try:
        numbers = _numbers(item.get("embedding"))
    except (ValueError, TypeError, OverflowError):
        return False
    return len(numbers) > 0 and all(map(isfinite, numbers))


def _numbers(embedding: object) -> array[float]:
    """The vector in single precision, as every model computes it; ValueError or TypeError if it is none."""
    if isinstance(embedding, str):
        numbers = array("f")
        numbers.frombytes(b64decode(embedding, validate=True))
        return _swapped(numbers)
    if not isinstance(embedding, list):
        raise TypeError("a vector is a list of numbers, or their bytes in base64")
    return array("f", embedding)


def _little_endian(numbers: array[float]) -> bytes:
    return _swapped(numbers).tobytes()


def _swapped(numbers: array[float]) -> array[float]:
    """Base64 carries numbers with the least byte first; most machines keep them so."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
