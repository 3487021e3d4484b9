"""One YAML (or JSON) file of a pack as plain values that remember their lines.

Every scalar stays the text that people wrote, so that no price passes through a float and the country `NO` is not
the word "no"; the schemas give texts their types.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from policies.problems import PackError, Problem

Value = None | str | list["Value"] | dict[str, "Value"]
Path = tuple[str | int, ...]

MAX_BYTES = 512 * 1024
# Aliases may repeat an anchor; written out, a pack of this many values is no longer something people edit.
MAX_VALUES = 20_000
MAX_DEPTH = 32

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


def read_source(file: str, data: bytes) -> Source:
    """Read a file's bytes; PackError with the line if they are no single, plain YAML document."""
    if len(data) > MAX_BYTES:
        raise PackError([Problem(file, None, "", f"is larger than {MAX_BYTES // 1024} KiB")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PackError([Problem(file, line, "", "is not UTF-8 text")]) from None
    try:
        root = _Reader(file).read(_without_json_tabs(text))
    except yaml.MarkedYAMLError as error:
        raise PackError([_syntax_problem(file, error)]) from None
    except yaml.YAMLError:
        raise PackError([Problem(file, None, "", "holds a character that YAML does not allow")]) from None
    writer = _Writer(file)
    tree = None if root is None else writer.value(root, ())
    return Source(file, tree, writer.lines)


@dataclass(frozen=True)
class Source:
    """The values of one file with the line of each path."""

    file: str
    tree: Value
    lines: dict[Path, int]

    def line(self, path: Path) -> int | None:
        """The line of the innermost part of the path that was written."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def problem(self, path: Path, message: str, suggestion: str | None = None) -> Problem:
        return Problem(self.file, self.line(path), written(path), message, suggestion)


def written(path: Path) -> str:
    """A path as people read it: `rules[2].route.prefer`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass
class _Node:
    line: int
    value: str | None = None
    items: list[_Node] | None = None
    entries: dict[str, tuple[int, _Node]] | None = None


class _Reader:
    """Builds nodes from parser events: no recursion, no tags, no duplicate keys."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._anchors: dict[str, _Node] = {}
        self._open: list[tuple[_Node, str | None, list[tuple[str, int]]]] = []
        self._root: _Node | None = None

    def read(self, text: str) -> _Node | None:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            self._take(event)
        return self._root

    def _take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
            raise self._error(line, "holds a second document; a pack file is one")
        if isinstance(event, yaml.AliasEvent):
            self._alias(event, line)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            self._start(event, line)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            node, anchor, _ = self._open.pop()
            self._close(node, anchor)

    def _alias(self, event: yaml.AliasEvent, line: int) -> None:
        if event.anchor not in self._anchors:
            raise self._error(line, f"'*{event.anchor}' names no anchor that ended before it")
        self._place(self._anchors[event.anchor])

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._no_tag(event.tag, line)
        plain = event.implicit[0] and event.style is None
        value = None if plain and event.value in _NULLS else self._clean(event.value, line)
        self._close(_Node(line, value), event.anchor)

    def _start(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent, line: int) -> None:
        self._no_tag(event.tag, line)
        if len(self._open) >= MAX_DEPTH:
            raise self._error(line, f"is nested more than {MAX_DEPTH} deep")
        node = _Node(line, items=[]) if isinstance(event, yaml.SequenceStartEvent) else _Node(line, entries={})
        self._open.append((node, event.anchor, []))

    def _close(self, node: _Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        self._place(node)

    def _place(self, node: _Node) -> None:
        if not self._open:
            self._root = node
            return
        parent, _, keys = self._open[-1]
        if parent.items is not None:
            parent.items.append(node)
        elif keys:
            self._entries(parent)[keys[0][0]] = (keys[0][1], node)
            keys.clear()
        else:
            keys.append((self._key(parent, node), node.line))

    def _key(self, parent: _Node, node: _Node) -> str:
        if node.value is None:
            raise self._error(node.line, "has a key that is no text")
        if node.value in self._entries(parent):
            raise self._error(node.line, f"the key {node.value!r} is written twice")
        return node.value

    @staticmethod
    def _entries(node: _Node) -> dict[str, tuple[int, _Node]]:
        return node.entries if node.entries is not None else {}

    def _no_tag(self, tag: str | None, line: int) -> None:
        if tag not in (None, "!"):
            raise self._error(line, "tags ('!...') are not read")

    def _clean(self, text: str, line: int) -> str:
        """JSON writes some characters as two escapes; alone, half of such a pair is no text."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise self._error(line, "holds half of a surrogate pair") from None

    def _error(self, line: int, message: str) -> PackError:
        return PackError([Problem(self._file, line, "", message)])


def _without_json_tabs(text: str) -> str:
    """JSON may be indented with tabs, YAML may not; inside JSON strings a tab is always escaped."""
    return text.replace("\t", " ") if text.lstrip()[:1] in ("{", "[") else text


def _syntax_problem(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    return Problem(file, mark.line + 1 if mark else None, "", f"is not valid YAML: {error.problem or error.context}")


class _Writer:
    """Writes nodes out as plain values, aliases included, and keeps the line of each path."""

    def __init__(self, file: str) -> None:
        self.lines: dict[Path, int] = {}
        self._file = file
        self._count = 0

    def value(self, node: _Node, path: Path) -> Value:
        self.lines.setdefault(path, node.line)
        self._limit(node, path)
        if node.items is not None:
            return [self.value(item, (*path, index)) for index, item in enumerate(node.items)]
        if node.entries is not None:
            return {key: self._entry(line, item, (*path, key)) for key, (line, item) in node.entries.items()}
        return node.value

    def _entry(self, line: int, node: _Node, path: Path) -> Value:
        self.lines[path] = line
        return self.value(node, path)

    def _limit(self, node: _Node, path: Path) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise PackError([Problem(self._file, node.line, "", f"holds more than {MAX_VALUES} values")])
        if len(path) > MAX_DEPTH:
            raise PackError([Problem(self._file, node.line, "", f"is nested more than {MAX_DEPTH} deep")])
