"""Translates the content parts of items to those of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.errors import BadRequest
from gateway.wire.responses import members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Part = dict[str, Any]
    Content = str | list[Part]

_NATIVE_PARTS = frozenset(("computer_screenshot", "encrypted_content", "summary_text"))


def content_of(content: object, place: str, beyond: list[str]) -> Content:
    """A content as a message has it: a text, or parts where one text does not say it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{place} must be a string or an array", param=place)
    parts = [
        part
        for index, said in enumerate(members.objects(content, place))
        if (part := _part(said, f"{place}[{index}]", beyond))
    ]
    if not parts:
        return ""
    # Every upstream takes a text; not every one takes parts, least of all from the assistant or a tool.
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _part(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part | None:
    kind = said.get("type")
    translate = _TRANSLATIONS.get(kind) if isinstance(kind, str) else None
    if translate is None:
        beyond.append(members.shown(place, kind, _NATIVE_PARTS))
        return None
    return translate(said, place, beyond)


def _text(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part:
    """A text; annotations and log probabilities say something of an earlier answer, not to the model."""
    part = {"type": "text", "text": members.text(said, "text", place)}
    return part | {key: said[key] for key in _MARKS if said.get(key) is not None}


def _refusal(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part:
    return {"type": "refusal", "refusal": members.text(said, "refusal", place)}


def _image(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part | None:
    if said.get("image_url") is None and said.get("file_id") is not None:
        beyond.append(f"{place}.file_id")
        return None
    image = {"url": members.name(said, "image_url", place)}
    if said.get("detail") is not None:
        image["detail"] = members.text(said, "detail", place)
    return {"type": "image_url", "image_url": image} | {key: said[key] for key in _MARKS if said.get(key) is not None}


def _file(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part | None:
    if said.get("file_url") is not None:
        beyond.append(f"{place}.file_url")
        return None
    file = {key: members.text(said, key, place) for key in _FILE if said.get(key) is not None}
    if not file.keys() & {"file_data", "file_id"}:
        raise BadRequest(f"{place} holds no file: send file_data with a filename", param=place)
    return {"type": "file", "file": file}


def _audio(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part:
    if not isinstance(said.get("input_audio"), dict):
        raise BadRequest(f"{place}.input_audio must be an object", param=f"{place}.input_audio")
    return {"type": "input_audio", "input_audio": said["input_audio"]}


def _video(said: Mapping[str, Any], place: str, beyond: list[str]) -> Part:
    return {"type": "video_url", "video_url": {"url": members.name(said, "video_url", place)}}


_MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Marks on a part that chat completions know too."""

_FILE = ("file_data", "file_id", "filename")

_TRANSLATIONS: dict[str, Callable[[Mapping[str, Any], str, list[str]], Part | None]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
    "input_video": _video,
}
