"""What pydantic found wrong, in the words of the people who write packs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from policies.problems import PackError, Problem, closest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

    from policies.source import Path, Source, Value

_M = TypeVar("_M", bound=BaseModel)

_QUOTED = re.compile(r"'([^']*)'")
# A default that is made of another value is missing when that value is wrong, which is said already.
_CONSEQUENCES = frozenset({"default_factory_not_called"})
_SHAPES = {
    "model_type": "should be a map of keys and values",
    "model_attributes_type": "should be a map of keys and values",
    "dict_type": "should be a map of keys and values",
    "tuple_type": "should be a list",
    "list_type": "should be a list",
    "string_type": "should be text",
    "too_short": "should not be empty",
    "missing": "is missing",
}


def problems_of(source: Source, schema: type[BaseModel], error: ValidationError) -> list[Problem]:
    """One problem for each error, at the line and under the key that people wrote."""
    faults = [details for details in error.errors(include_url=False) if details["type"] not in _CONSEQUENCES]
    return [_problem(source, schema, details) for details in faults]


def checked(source: Source, schema: type[_M], tree: Value) -> _M:
    """The tree as the schema has it; PackError with line and key for all that is wrong with it."""
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        raise PackError(problems_of(source, schema, error)) from None


def _problem(source: Source, schema: type[BaseModel], details: ErrorDetails) -> Problem:
    path = _as_written(source.tree, details["loc"])
    kind = details["type"]
    if kind == "extra_forbidden":
        known = sorted(_known_keys(schema, details["loc"][:-1]))
        return source.problem(path, "is unknown", closest(str(path[-1]), known))
    if kind in ("literal_error", "enum"):
        return _not_among(source, path, details)
    if kind == "value_error":
        return source.problem(path, details["msg"].removeprefix("Value error, "))
    return source.problem(path, _SHAPES.get(kind) or _in_lower_case(details["msg"]))


def _not_among(source: Source, path: Path, details: ErrorDetails) -> Problem:
    """A word outside a closed set: the nearest of the set, or the set itself if none is near."""
    word, known = details["input"], _QUOTED.findall(details["ctx"]["expected"])
    if not isinstance(word, str):
        return source.problem(path, "should be text")
    meant = closest(word, known)
    return source.problem(path, f"{word!r} is unknown" + ("" if meant else f": use {', '.join(known)}"), meant)


def _in_lower_case(message: str) -> str:
    return message.removeprefix("Input ")[:1].lower() + message.removeprefix("Input ")[1:]


def _as_written(tree: Value, location: tuple[str | int, ...]) -> Path:
    """The location without what pydantic adds to it (tags of unions, `[key]`); a missing last key stays."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        below = _below(tree, part)
        if below is not _NOTHING:
            tree = below
            path.append(part)
        elif index == len(location) - 1 and part != "[key]" and isinstance(tree, dict):
            path.append(part)
    return tuple(path)


_NOTHING: Any = object()


def _below(tree: Value, part: str | int) -> Any:
    if isinstance(tree, dict) and isinstance(part, str):
        return tree.get(part, _NOTHING)
    if isinstance(tree, list) and isinstance(part, int) and part < len(tree):
        return tree[part]
    return _NOTHING


def _known_keys(schema: type[BaseModel], location: tuple[str | int, ...]) -> set[str]:
    """The keys that the schemas at a location have: all branches of a union together."""
    models = {schema}
    for part in location:
        models = {below for model in models for below in _models_under(model, part)} or models
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _models_under(model: type[BaseModel], part: str | int) -> Iterator[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if (field.alias or name) == part or name == "root":
            yield from _models_in(field.annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
