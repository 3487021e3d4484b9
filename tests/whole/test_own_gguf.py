"""`soleira up` with a GGUF file below the data directory: it is loaded, and a private question stays with it."""

from __future__ import annotations

import http.client
import json
import shutil
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from gateway.supervisor import parts
from tests.gguf import weights
from tests.running import ADMIN_KEY, RunningHouse, running, write_pack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not parts.engine_runs_here(), reason="llama.cpp's wheel needs AVX2"),
]

PRICE = {"currency": "USD", "per_million": {"input": 0, "output": 0}, "source": "ours", "as_of": "2026-11-01"}
FILE = "somebody/Smol-GGUF/smol.gguf"
OWN = {
    "name": "own",
    "model": "smol",
    "engine": "llama_server",
    "gguf": {"path": FILE, "context": 1024},
    "zone": "device",
    "price": PRICE,
}


def ask(house: RunningHouse, model: str) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(urlsplit(house.url).netloc, timeout=60)
    body = {"model": model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
    headers = {"Authorization": f"Bearer {ADMIN_KEY}", "soleira-label": "private"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    answer: dict[str, Any] = json.loads(response.read())
    connection.close()
    return response.status, answer


def said(house: RunningHouse, words: str) -> bool:
    for _ in range(300):
        if words in (house.data / "said.txt").read_text():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_a_file_of_ones_own_answers_in_the_house(tmp_path: Path) -> None:
    data = tmp_path / "house"
    file = data / "models" / FILE
    file.parent.mkdir(parents=True)
    shutil.copyfile(weights(), file)
    write_pack(data / "pack", [OWN])

    with running(data) as house:
        status, answer = ask(house, "smol")
        shown = json.loads(house.soleira("models", "probe", "own", "--json").stdout)
        entries = [OWN, {**OWN, "name": "later", "model": "later"}]
        (data / "pack" / "deployments.yaml").write_text(json.dumps({"deployments": entries}))
        warned = said(house, "later: its GGUF file is loaded when 'up' starts")
        later, _ = ask(house, "later")

    assert status == 200, answer
    assert answer["choices"][0]["message"]["content"].strip()
    assert [(row["name"], row["up"], row["context"], row["slots"]) for row in shown] == [("own", True, 1024, 1)]
    assert "The demonstration model is left out: own runs on this machine." in (data / "said.txt").read_text()
    assert warned
    assert later in (502, 503)
