"""Reads a request: what the gateway needs to know of it, over the spans it leaves as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.chat.formats import CHAT_COMPLETIONS, COMPLETIONS, EMBEDDINGS, MESSAGES, RERANK
from gateway.errors import BadRequest
from gateway.wire import embeddings, rerank, spans
from gateway.wire.schemas import ChatCompletionRequest
from gateway.wire.shapes import Translated
from gateway.wire.usage import PICTURE_TOKENS, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.chat.formats import Format
    from gateway.wire.spans import Body

_TRANSLATED_DEPTH = 80
"""A translation may nest what it was given a little deeper than a client may."""
_SAID = frozenset("documents input instructions messages prompt query system".split())
"""Members that hold the conversation, or what is to be embedded or ranked."""
_UNTRANSLATED = frozenset("annotations citations encrypted_content signature summary".split())
_SHARED = frozenset("functions model output_config response_format text tools".split())
_NO_CHAT = ChatCompletionRequest(model="", messages=[])
_MOST_CHOICES = 128
_MEDIA = re.compile(r"messages\[\d+\]\.content\[\d+\]\.(?:file|image_url|input_audio|\?)(?:\.(?:\w+|\?))?\Z")
"""Where a part of a message holds a picture or a file; elsewhere what looks like one is a text like any other."""
_ADDRESSES = ("data:", "http:", "https:")
"""How a picture's or a file's begins, be it inline or to be fetched."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of any endpoint: `model` without its collections, and the body as the client wrote it."""

    format: Format
    body: Body
    chat: Body | None
    """The same as a chat completion: the body itself where it is one; None where there is no such thing."""
    fields: ChatCompletionRequest
    """What is read of the chat completion; empty where there is none."""
    native_only: str | None
    """What only a deployment can take that has the endpoint itself; None: nothing."""
    texts: tuple[tuple[str, str], ...]
    """Every decoded string with its place."""
    messages: tuple[Mapping[str, Any], ...]
    """What was said, as messages with all their fields."""
    model: str
    collections: tuple[str, ...]
    prompt_tokens: int
    """A bound from above on the tokens of all texts, without a tokenizer; a picture is not counted as text."""
    longest: int | None = None
    """The same for the longest of several inputs, which is what must fit a context; None: all of it must."""
    unreadable: str | None = None
    """What is text that nobody can look into, such as token ids; None: nothing."""
    dropped: tuple[str, ...] = ()
    """What is left out, or does not bind, where the request is translated."""
    count: int = 1
    """Texts that are to be embedded, ranked or completed."""

    @property
    def stream(self) -> bool:
        return bool(self.fields.stream)

    @property
    def wants_usage(self) -> bool:
        """True if the client asked for the usage chunk of a stream."""
        options = self.body.tree.get("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))

    @property
    def max_output(self) -> int | None:
        """The client's limit on output tokens, thinking included; of two the larger, as either may be what is taken."""
        limits = (self.fields.max_completion_tokens, self.fields.max_tokens)
        return max((limit for limit in limits if limit is not None), default=None)

    @property
    def choices(self) -> int:
        """How many answers are made at once, those included that only the best are chosen from."""
        return max(self.fields.n or 1, _best_of(self.body.tree)) * (1 if self.chat is None else self.count)

    @property
    def question(self) -> str:
        """The text of the last message of the user; empty if there is none."""
        for message in reversed(self.fields.messages):
            if message.role == "user":
                return _text(message.content, "\n")
        return ""

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities that the request asks for."""
        fields = self.fields
        needs = {
            "tools": bool(fields.tools),
            "parallel_tools": bool(fields.tools) and fields.parallel_tool_calls is True,
            "json_schema": (fields.response_format or {}).get("type") == "json_schema",
            "logprobs": bool(fields.logprobs),
            "vision": self._has_part("image_url"),
            "audio": self._has_part("input_audio") or bool(fields.audio) or "audio" in (fields.modalities or ()),
            "video": self._has_part("video_url"),
        }
        return frozenset(name for name, needed in needs.items() if needed)

    def _has_part(self, kind: str) -> bool:
        return any(
            part.get("type") == kind
            for message in self.fields.messages
            if isinstance(message.content, list)
            for part in message.content
        )


def read(raw: bytes, form: Format = CHAT_COMPLETIONS) -> Request:
    """Read the body strictly; BadRequest names what is wrong and where."""
    body = spans.read(raw)
    model, collections = _model_in(body)
    if form in (EMBEDDINGS, RERANK):
        return _read_texts(form, body, model, collections)
    chat, translated = _as_chat(form, body)
    _best_of(body.tree)
    fields, strings = _fields(chat), tuple(chat.strings())
    if not fields.messages and translated.native_only is None:
        raise BadRequest("'messages' is empty: send at least one message", param="messages")
    own = () if chat is body else tuple(body.strings())
    prompts = _prompts(body.tree.get("prompt")) if form is COMPLETIONS else ()
    return Request(
        form,
        body,
        chat=chat,
        fields=fields,
        native_only=translated.native_only,
        # What is split over parts is read as one by the model, so it is scanned as one too.
        texts=(*own, *strings, *_joined(body.tree, "body")),
        messages=(*chat.tree["messages"], *_untranslated(form, body, translated.native_only), _beside(body)),
        model=model,
        collections=collections,
        prompt_tokens=_bound(own if form is COMPLETIONS else strings) + _ids_in(prompts),
        longest=max(map(_tokens_in, prompts)) + _tokens_in(body.tree.get("suffix")) if len(prompts) > 1 else None,
        unreadable="token ids" if form is COMPLETIONS and _has_token_ids(body.tree.get("prompt")) else None,
        dropped=translated.dropped,
        count=max(len(prompts), 1),
    )


def _best_of(tree: Mapping[str, Any]) -> int:
    """How many answers a deployment makes to give the best of them; it bills them all."""
    best_of = tree.get("best_of")
    if best_of is None:
        return 1
    if type(best_of) is not int or not 1 <= best_of <= _MOST_CHOICES:
        raise BadRequest(f"'best_of' must be a whole number from 1 to {_MOST_CHOICES}", param="best_of")
    return best_of


def _as_chat(form: Format, body: Body) -> tuple[Body, Translated]:
    """The request as a chat completion: the body itself where it is one."""
    if form.to_chat is None:
        return body, Translated(body.tree)
    translated = form.to_chat(body.tree)
    return spans.read(msgspec.json.encode(translated.chat), max_depth=_TRANSLATED_DEPTH), translated


def _read_texts(form: Format, body: Body, model: str, collections: tuple[str, ...]) -> Request:
    """An endpoint that takes texts and answers none."""
    if collections:
        raise BadRequest(f"{form.name} searches no collection: leave out what follows '@'", param="model")
    asked = rerank.read(body.tree) if form is RERANK else _inputs(body)
    said = (asked.query, *asked.texts) if isinstance(asked, rerank.Ranking) else asked.texts
    return Request(
        form,
        body,
        chat=None,
        fields=_NO_CHAT,
        native_only=None,
        texts=tuple(body.strings()),
        messages=(*({"role": "user", "content": text} for text in said), _beside(body)),
        model=model,
        collections=(),
        prompt_tokens=asked.prompt_tokens,
        longest=asked.longest,
        unreadable="token ids" if isinstance(asked, embeddings.Inputs) and not asked.readable else None,
        count=len(asked.texts),
    )


def _inputs(body: Body) -> embeddings.Inputs:
    embeddings.read_format(body.tree)
    embeddings.read_dimensions(body.tree)
    return embeddings.read_input(body.tree)


def _joined(value: object, place: str) -> Iterator[tuple[str, str]]:
    """The texts of parts that stand in one list, as the one text that they are."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _joined(child, name if name in _SAID else place)
    elif isinstance(value, list):
        texts = [part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str)]
        if len(texts) > 1:
            yield place, "".join(texts)
        for child in value:
            yield from _joined(child, place)


def _untranslated(form: Format, body: Body, native_only: str | None) -> Iterator[Mapping[str, Any]]:
    """What of the conversation a chat completion does not carry, and a deployment with the endpoint itself gets."""
    said = body.tree.get("messages" if form is MESSAGES else "input") if form.to_chat is not None else None
    if not isinstance(said, list):
        return
    if native_only is None:
        yield {"kept": list(_kept_by_nobody_else(said))}
        return
    yield from (item for item in said if isinstance(item, dict))


def _kept_by_nobody_else(value: object) -> Iterator[object]:
    """What stands beside words and is left out where they are translated."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from (child,) if name in _UNTRANSLATED else _kept_by_nobody_else(child)
    elif isinstance(value, list):
        for child in value:
            yield from _kept_by_nobody_else(child)


def _beside(body: Body) -> Mapping[str, Any]:
    """What stands beside the conversation, as a message. Not so tools and schemas, which all conversations share."""
    rest = {name: value for name, value in body.tree.items() if name not in _SAID and name not in _SHARED}
    return {"role": "system", "beside": rest}


def _prompts(prompt: object) -> tuple[object, ...]:
    """The prompts of a completion, each of which is answered: texts, or lists of token ids."""
    parts = prompt if isinstance(prompt, list) else []
    prompts = tuple(parts) if any(isinstance(part, str | list) for part in parts) else (prompt,)
    if len(prompts) > embeddings.MOST_INPUTS:
        raise BadRequest(f"'prompt' has {len(prompts)} entries: send at most {embeddings.MOST_INPUTS}", param="prompt")
    return prompts


def _tokens_in(prompt: object) -> int:
    """The tokens of one text, bounded from above, or of a list of their ids."""
    if isinstance(prompt, list):
        return len(prompt)
    return estimate_tokens(len(prompt.encode())) if isinstance(prompt, str) else 0


def _ids_in(prompts: Iterable[object]) -> int:
    return sum(len(prompt) for prompt in prompts if isinstance(prompt, list))


def _has_token_ids(prompt: object) -> bool:
    return isinstance(prompt, list) and not all(isinstance(part, str) for part in prompt)


def _model_in(body: Body) -> tuple[str, tuple[str, ...]]:
    """The model's name and the collections behind its '@'."""
    asked = body.tree.get("model")
    if not isinstance(asked, str) or not asked.strip():
        raise BadRequest("'model' is missing: name one, or 'auto'; GET /v1/models lists them", param="model")
    model, _, names = asked.partition("@")
    collections = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if "@" in asked and not collections:
        raise BadRequest("'model' ends with '@': name a collection, as in 'auto@papers'", param="model")
    return model.strip(), collections


def _fields(chat: Body) -> ChatCompletionRequest:
    try:
        return msgspec.convert(chat.tree, ChatCompletionRequest)
    except msgspec.ValidationError as error:
        raise BadRequest(_without_content(str(error))) from None


def _bound(strings: Iterable[tuple[str, str]]) -> int:
    size = pictures = 0
    for place, text in strings:
        if text.startswith(_ADDRESSES) and _MEDIA.match(place):
            pictures += 1
        else:
            size += len(text.encode())
    return estimate_tokens(size) + pictures * PICTURE_TOKENS


def _text(content: str | list[dict[str, Any]] | None, between: str) -> str:
    if isinstance(content, list):
        texts = (part.get("text") for part in content if part.get("type") == "text")
        return between.join(text for text in texts if isinstance(text, str))
    return content or ""


def _without_content(message: str) -> str:
    """msgspec names types and paths (`Expected `str`, got `int` - at `$.model``), never values."""
    return message.replace("`$", "`body")
