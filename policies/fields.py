"""What single values in a pack's files look like, and how they are read."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from ipaddress import ip_network
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from policies.labels import Label, Level, Sensitivity
from policies.zones import Addresses, Network

Action = Literal["route", "redact", "ask", "deny"]
Prefer = Literal["cheapest", "fastest", "steady", "best"]
Engine = Literal[
    "openai", "vllm", "sglang", "tokenspeed", "llama_server", "ollama", "moonshot", "flatkey", "anthropic", "litellm",
    "quotes",
]  # fmt: skip
Capability = Literal[
    "chat", "completions", "responses", "messages", "embeddings", "rerank", "tools", "parallel_tools", "vision",
    "audio", "video", "reasoning", "json_schema", "logprobs",
]  # fmt: skip
DetectorKind = Literal[
    "cpf", "cnpj", "cep", "phone", "email", "card", "iban", "secret_key", "person", "address", "health", "money",
    "rg", "cin", "cnh", "pis", "cns", "titulo", "passport", "council", "pix", "plate", "boleto", "bank_account",
    "nfe", "ip", "birth_date", "coordinates", "dictionary",
]  # fmt: skip
Language = Literal["pt", "en"]
Dialect = Literal["kimi_k3"]
"""A model's own contract, beyond OpenAI's; what it means is in gateway/upstream/dialects."""

ADDRESS_CLASSES = frozenset({"loopback", "private", "public", "any"})

_M = TypeVar("_M", bound=BaseModel)

_AMOUNT = re.compile(r"\d{1,9}(\.\d{1,12})?\Z")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,120}\Z")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+-]{0,119}\Z")
_GGUF = re.compile(r"[^\x00-\x1f\x7f]{1,1000}\.gguf\Z", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def _amount(value: object) -> Decimal:
    """Read a price as it was written: no float, no sign, no exponent."""
    if not _AMOUNT.match(str(value)):
        raise ValueError("should be an amount such as 0.30: digits, at most one point, no sign")
    return Decimal(str(value))


def _name(value: str) -> str:
    if not _NAME.match(value):
        raise ValueError("should be one line of 1 to 120 characters")
    return value


def _model(value: str) -> str:
    if not _MODEL.match(value):
        raise ValueError("should be letters, digits and . _ : / + - only, at most 120 ('@' introduces collections)")
    return value


def _word(value: str) -> str:
    if not _WORD.match(value):
        raise ValueError("should be letters, digits and . _ - only, at most 64")
    return value


def _gguf_path(value: str) -> str:
    if not _GGUF.match(value):
        raise ValueError("should be the path of a .gguf file")
    return value


def _sensitivity(value: object) -> Sensitivity:
    return Sensitivity.parse(_text(value))


def _label(value: object) -> Label:
    return Label(_sensitivity(value))


def _full_label(value: object) -> Label:
    """A label with its redacted side, which only tests of rules write."""
    return Label.parse(_text(value))


def _level(value: object) -> Level:
    return Level.parse(_text(value))


def _addresses(value: object) -> Addresses:
    words = [_text(word) for word in value] if isinstance(value, list) else [_text(value)]
    if not words:
        raise ValueError("should name at least one of loopback, private, public, any or a network")
    networks = tuple(_network(word) for word in words if word not in ADDRESS_CLASSES)
    return Addresses(frozenset(words) & ADDRESS_CLASSES, networks)


def _network(word: str) -> Network:
    try:
        return ip_network(word)
    except ValueError:
        pass
    try:
        meant = ip_network(word, strict=False)
    except ValueError:
        raise ValueError(f"{word!r} is none of loopback, private, public, any, and no network") from None
    raise ValueError(f"{word!r} is an address inside a network; write {str(meant)!r}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("should be text")
    return value


def _parameter(value: object) -> Any:
    """Read a parameter's value as JSON would, for YAML's scalars arrive as text: `1.0`, `true`, `low`, or a map."""
    if isinstance(value, dict):
        return {name: _parameter(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_parameter(inner) for inner in value]
    try:
        return json.loads(_text(value))
    except json.JSONDecodeError:
        return value


def something(model: _M) -> _M:
    if not model.model_fields_set:
        raise ValueError("is empty; leave it out if it should say nothing")
    return model


def listed(value: object) -> object:
    """Let one word stand where a list of words may."""
    return [value] if isinstance(value, str) else value


ParameterValue = Annotated[Any, PlainValidator(_parameter, json_schema_input_type=Any)]
Amount = Annotated[Decimal, PlainValidator(_amount, json_schema_input_type=str)]
SensitivityText = Annotated[Sensitivity, PlainValidator(_sensitivity, json_schema_input_type=str)]
LabelText = Annotated[Label, PlainValidator(_label, json_schema_input_type=str)]
FullLabelText = Annotated[Label, PlainValidator(_full_label, json_schema_input_type=str)]
LevelText = Annotated[Level, PlainValidator(_level, json_schema_input_type=str)]
AddressList = Annotated[Addresses, PlainValidator(_addresses, json_schema_input_type=str | list[str])]
Name = Annotated[str, AfterValidator(_name)]
ModelName = Annotated[str, AfterValidator(_model)]
Word = Annotated[str, AfterValidator(_word)]
GgufPath = Annotated[str, AfterValidator(_gguf_path)]

Names = Annotated[tuple[Name, ...], BeforeValidator(listed), Field(min_length=1)]
ModelNames = Annotated[tuple[ModelName, ...], BeforeValidator(listed), Field(min_length=1)]
Words = Annotated[tuple[Word, ...], BeforeValidator(listed), Field(min_length=1)]
Languages = Annotated[tuple[Language, ...], BeforeValidator(listed), Field(min_length=1)]
Capabilities = Annotated[tuple[Capability, ...], BeforeValidator(listed), Field(min_length=1)]
Kinds = Annotated[tuple[DetectorKind, ...], BeforeValidator(listed), Field(min_length=1)]
Labels = Annotated[tuple[FullLabelText, ...], BeforeValidator(listed), Field(min_length=1)]
Tokens = Annotated[int, Field(ge=0)]
Hour = Annotated[int, Field(ge=0, le=24)]
Seconds = Annotated[float, Field(gt=0, le=86400)]
Grade = Annotated[int, Field(ge=1, le=5)]


class Strict(BaseModel):
    """A map whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SecretSource(Strict):
    """Where a secret is read from; it is never itself written into a pack."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise ValueError("should name either env or file")
        return self
