"""What the tests of the chat path share: a raw HTTP call, and both ways to be answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.gateway.house import ADMIN_KEY

if TYPE_CHECKING:
    from tests.gateway.house import House


Headers = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """What came back, as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.body)
        return answer

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON of a stream's data events, `[DONE]` left out."""
        return [json.loads(line[6:]) for line in self.body.split(b"\n") if line.startswith(b"data: {")]

    @property
    def text(self) -> str:
        """The answer's visible text, whichever way it came."""
        if self.body.startswith(b"{"):
            return str(self.json["choices"][0]["message"]["content"])
        deltas = (choice["delta"].get("content") or "" for event in self.events for choice in event.get("choices", ()))
        return "".join(deltas)

    @property
    def citations(self) -> list[dict[str, Any]]:
        """The file citations, whichever way they came."""
        if self.body.startswith(b"{"):
            found = self.json["choices"][0]["message"].get("annotations", [])
        else:
            choices = (choice for event in self.events for choice in event.get("choices", ()))
            found = [note for choice in choices for note in choice["delta"].get("annotations", ())]
        return [note["file_citation"] for note in found]


@pytest.fixture(params=[False, True], ids=["json", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    """Every behaviour must hold for both."""
    return bool(request.param)


async def post(
    house: House,
    body: object,
    *,
    key: str = ADMIN_KEY,
    headers: Headers = (),
    path: str = "/v1/chat/completions",
) -> Answer:
    """Post to an endpoint: bytes as they are, anything else as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    own = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    sent = [(name, value) for name, value in own.items() if name not in dict(given)] + given
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{house.url}{path}", data=content, headers=sent) as response,
    ):
        return Answer(response.status, response.headers, await response.read())


def asking(model: str, question: str = "Quando vence o aluguel?", **more: object) -> dict[str, Any]:
    """A chat request with one question."""
    return {"model": model, "messages": [{"role": "user", "content": question}], **more}
