"""Decides a request's label: the join of all that it carries, with what raised it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from policies import detectors
from policies.labels import PUBLIC, Label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from policies.load import Pack

log = structlog.get_logger()

_SCANNED_CHARACTERS = 8_000_000
"""A request with more text than this counts as unscannable: the scan would hold the machine for seconds."""
_SHORTEST_IDENTIFIER = 6
"""`a@b.co`: nothing shorter is found by any detector."""
_INLINE_CHARACTERS = 65_536
"""Up to here scanning takes less than handing the work to a thread."""


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that a request's label comes from, told without content."""

    name: str
    label: Label

    def __str__(self) -> str:
        return f"{self.name}: {self.label}"


@dataclass(frozen=True, slots=True)
class Content:
    """What a request carries: every decoded string with its place, and the bodies they stand in.

    There are two where a request was translated: what the client wrote, and what may be sent in its place.
    """

    texts: Sequence[tuple[str, str]]
    bodies: Sequence[Mapping[str, Any]]
    was_given: Callable[[str], bool] = lambda _text: False
    """True of a text that this house gave out in an ordinary answer: a model's sealed thoughts, on their way back."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A request's label with its sources and the kinds of identifiers that were found."""

    label: Label
    sources: tuple[Source, ...]
    findings: frozenset[str]

    def raised_by(self) -> tuple[str, ...]:
        """The sources that reach the label's level or add to its compartments, as text."""
        return tuple(
            str(source)
            for source in self.sources
            if source.label.level == self.label.level or source.label.compartments
        )


async def label_of(pack: Pack, content: Content, given: Sequence[Source]) -> Labelled:
    """Join what is known of the request (`given`) with what its text and its other parts show."""
    sources = [*given, *dict.fromkeys(part for body in content.bodies for part in _unscannable(pack, body))]
    size = sum(len(text) for _, text in content.texts)
    if size > _SCANNED_CHARACTERS:
        sources.append(Source("too large to scan", pack.unscannable))
        return _joined(sources, frozenset())
    try:
        if size > _INLINE_CHARACTERS:
            found, encoded = await asyncio.to_thread(_scan, content, pack.detectors)
        else:
            found, encoded = _scan(content, pack.detectors)
    except Exception as failure:  # whatever stops a detector, the careful side is taken
        log.error("detectors_failed", failure=failure)
        sources.append(Source("detectors failed", pack.unscannable))
        return _joined(sources, frozenset())
    if encoded:
        sources.append(Source("unscannable encoded data", pack.unscannable))
    sources.extend(Source(f"{kind} in {place}", label) for kind, (place, label) in found.items())
    return _joined(sources, frozenset(found))


def _joined(sources: Iterable[Source], findings: frozenset[str]) -> Labelled:
    kept = tuple(sources)
    label = PUBLIC
    for source in kept:
        label |= source.label
    return Labelled(label, kept, findings)


def _scan(content: Content, raises: Mapping[str, Label]) -> tuple[dict[str, tuple[str, Label]], bool]:
    """The kinds that were found, each with its first place and the label it raises to; and whether a text is none."""
    found: dict[str, tuple[str, Label]] = {}
    encoded = False
    seen: set[str] = set()
    for place, text in content.texts:
        if len(text) < _SHORTEST_IDENTIFIER or text in seen:
            continue
        seen.add(text)
        encoded = encoded or (_is_encoded(text) and not content.was_given(text))
        for kind in detectors.find(text).kinds - found.keys():
            found[kind] = (place, raises.get(kind, PUBLIC))
    return found, encoded


def _unscannable(pack: Pack, body: Mapping[str, Any]) -> Iterable[Source]:
    """What holds no text to scan: pictures, sound, files and what refers to them, and whatever is not known."""
    for name in sorted(_REFERENCES & body.keys()):
        if body[name]:
            yield Source(f"unscannable {name}", pack.unscannable)
    for name in _SAID:
        said = body.get(name)
        for index, message in enumerate(said if isinstance(said, list) else ()):
            if isinstance(message, dict) and not _is_text(message):
                yield Source(f"unscannable part in {name}[{index}]", pack.unscannable)


def _is_text(message: Mapping[str, Any]) -> bool:
    if any(message[name] for name in _REFERENCES & message.keys()):
        return False
    if _kind(message.get("type", "message")) not in _ITEMS:
        return False
    return all(_is_text_part(part) for name in _PARTS for part in _parts(message.get(name)))


def _parts(content: object) -> Sequence[object]:
    """The parts of what was said; a plain text has none that would need a look."""
    return content if isinstance(content, list) else () if content is None or isinstance(content, str) else (content,)


def _is_text_part(part: object) -> bool:
    """True if all that a part says are words: its strings are scanned wherever they stand."""
    if not isinstance(part, dict):
        return isinstance(part, str)
    members = _WORDS.get(_kind(part.get("type") or ""))
    if members is None or not part.keys() <= members | _BESIDE:
        return False
    return all(_is_text_part(inner) for inner in _parts(part.get("content")))


def _kind(named: object) -> str:
    """What a part or an item says that it is; what is no word is nothing that is known."""
    return named if isinstance(named, str) else "not a word"


def _is_encoded(text: str) -> bool:
    """A picture or another file written as text."""
    if _DATA_URL.search(text):
        return True
    return bool(_BLOB_LINE.search(text)) and any(len(set(blob[0])) >= _VARIED for blob in _BLOB.finditer(text))


_REFERENCES = frozenset(
    "attachments audio file file_data file_id file_ids files image image_url images input_audio input_file "
    "input_image prompt_embeds video video_url".split()
)
"""Members that carry or name something else than text, in the body or in a message of it."""
_SAID = ("messages", "input", "inputs", "system")
"""Members that hold what was said, in one endpoint or another; `input` may also be plain texts."""
_PARTS = ("content", "output", "outputs", "summary")
"""Members of a message or an item that hold its parts."""
_ITEMS = frozenset(
    """
    apply_patch_call apply_patch_call_output code_interpreter_call custom_tool_call custom_tool_call_output
    file_search_call function_call function_call_output item_reference local_shell_call local_shell_call_output mcp_call
    mcp_list_tools mcp_approval_request mcp_approval_response message reasoning shell_call shell_call_output
    tool_search_call tool_search_output web_search_call
    """.split()
)
"""The types of items whose words are scanned wherever they stand; others are pictures, screens, or not known."""
_BESIDE = frozenset({"type", "annotations", "cache_control", "citations", "logprobs", "id", "status"})
_WORDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "refusal": frozenset({"refusal"}),
    "input_text": frozenset({"text"}),
    "output_text": frozenset({"text"}),
    "summary_text": frozenset({"text"}),
    "logs": frozenset({"logs"}),
    "reasoning_text": frozenset({"text"}),
    "thinking": frozenset({"thinking", "signature"}),
    "tool_use": frozenset({"name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
}
"""The parts that hold words alone, with their members; a tool's input is data whose strings are scanned."""
_DATA_URL = re.compile(r"\bdata:[a-z]+/[\w.+-]+[;,]", re.IGNORECASE)
_BLOB_LINE = re.compile(r"[A-Za-z0-9+/_-]{60}")
_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/_-])"
    r"(?:[A-Za-z0-9+/_-]{400}|(?:[A-Za-z0-9+/_-]{60,399}+={0,2}[ \t>]{0,8}[\r\n]{1,4}[ \t>]{0,8}){5})"
)
"""Longer than any word, path or key: base64 of something, in one piece or in lines, as mails carry it. It is looked for
where a word begins and read without going back, so that no text holds it up."""
_VARIED = 4
"""Fewer different characters than that are a line that is drawn, or filler."""
