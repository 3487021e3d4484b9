"""Prepares a request for one deployment: its parameters as the deployment takes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest
from gateway.upstream.dialects import history
from gateway.upstream.dialects.known import rules_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateway.catalog.deployments import Deployment
    from gateway.upstream.dialects.rules import Rules


@dataclass(frozen=True, slots=True)
class Prepared:
    """How the client's body differs from what is sent, in the form that `Body.splice` takes."""

    changes: dict[str, bytes]
    drop: frozenset[str]
    dropped: tuple[str, ...]
    """What the client sent and does not reach the deployment, for the client to be told."""


def prepare(
    deployment: Deployment, tree: Mapping[str, Any], *, salt: str | None, messages: Sequence[bytes] = ()
) -> Prepared:
    """Say what changes for a deployment; most requests to most deployments change nothing.

    `salt` tells callers apart in prefix caches. With the raw `messages` that are to be sent, what must change in them
    is among the changes too.
    """
    rules = rules_of(deployment)
    preparing = _Preparing(tree)
    preparing.leave_out(rules.strip)
    preparing.fix(rules.fixed)
    preparing.rename(rules.rename)
    preparing.name_effort(rules)
    preparing.fill(rules.defaults)
    if deployment.cache_salt and salt is not None:
        preparing.salt(salt)
    preparing.think(messages, rules.thoughts if deployment.keeps_reasoning else None)
    return preparing.done()


def salted(tree: Mapping[str, Any], salt: str) -> str:
    """Keeps the caller's part of a prefix cache its own. A salt of the client's divides that part further."""
    finer = tree.get("cache_salt")
    return f"{salt}.{finer}" if isinstance(finer, str) and finer else salt


class _Preparing:
    """A request on its way to one deployment."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree
        self._changes: dict[str, bytes] = {}
        self._drop: set[str] = set()
        self._dropped: set[str] = set()

    def done(self) -> Prepared:
        return Prepared(self._changes, frozenset(self._drop - self._changes.keys()), tuple(sorted(self._dropped)))

    def leave_out(self, names: Iterable[str]) -> None:
        """Leave out what the client wrote. A null says nothing, so nothing is lost with it."""
        for name in names:
            if name in self._tree:
                self._drop.add(name)
                if self._tree[name] is not None:
                    self._dropped.add(name)

    def fix(self, fixed: Mapping[str, Any]) -> None:
        self.leave_out(name for name, value in fixed.items() if name in self._tree and self._tree[name] != value)

    def rename(self, names: Mapping[str, str]) -> None:
        """Move values to their names here. Where the client used that name as well, what it wrote there stands."""
        for name, here in names.items():
            if name == here or not self._says(name):
                continue
            value = self._tree[name]
            self._drop.add(name)
            if not self._says(here):
                self._put(here, value)
            elif self._tree[here] != value:
                self._dropped.add(name)

    def name_effort(self, rules: Rules) -> None:
        effort = self._tree.get("reasoning_effort") if self._says("reasoning_effort") else None
        if isinstance(effort, str):
            named = rules.effort.get(effort, effort)
            if named != effort:
                self._put("reasoning_effort", named)
        elif effort is None and rules.unthinking is not None and _is_switched_off(self._tree.get("thinking")):
            self._put("reasoning_effort", rules.unthinking)

    def fill(self, defaults: Mapping[str, Any]) -> None:
        for name, value in defaults.items():
            if not self._says(name) and name not in self._changes:
                self._put(name, value)

    def salt(self, salt: str) -> None:
        self._put("cache_salt", salted(self._tree, salt))

    def think(self, messages: Sequence[bytes], names: frozenset[str] | None) -> None:
        fitted = history.fit(messages, names)
        if fitted is not None:
            self._changes["messages"] = b"[" + b",".join(fitted.messages) + b"]"
            self._dropped.update(f"messages.{name}" for name in fitted.dropped)

    def _says(self, name: str) -> bool:
        """True if the client says something under this name that is not left out."""
        return self._tree.get(name) is not None and name not in self._drop

    def _put(self, name: str, value: object) -> None:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError:  # a number beyond what JSON's readers hold, such as 1e999
            raise BadRequest(f"{name!r} holds a number that is too large", param=name) from None
        self._changes[name] = text.encode()


def _is_switched_off(thinking: object) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") == "disabled"
