"""`soleira up` as people start it: the whole house, on a fresh data directory."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.settings import gateway_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.whole, pytest.mark.timeout(300)]

Up = tuple["subprocess.Popen[str]", str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A running house, with all that it printed until it was ready."""
    data = tmp_path_factory.mktemp("up") / "house"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = gateway_environment({name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ})
    command = [sys.executable, "-P", "-m", "gateway.cli", "up", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
        try:
            yield up, _until_ready(up)
        finally:
            up.kill()


def _until_ready(up: subprocess.Popen[str]) -> str:
    assert up.stdout is not None
    said = ""
    for line in up.stdout:
        said += line
        if line.strip().startswith("-d "):
            return said
    pytest.fail(f"the house ended before it was ready:\n{said}")


def children(pid: int) -> set[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return {int(word) for word in listed.stdout.split()}


def ask_as_printed(said: str) -> dict[str, object]:
    words = shlex.split(said.partition("curl ")[2].replace("\\\n", " "))
    place = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", words[0])
    assert place is not None
    headers = dict(words[index + 1].split(": ", 1) for index, word in enumerate(words) if word == "-H")
    connection = http.client.HTTPConnection("127.0.0.1", int(place[1]), timeout=60)
    connection.request("POST", place[2], words[words.index("-d") + 1].encode(), headers)
    response = connection.getresponse()
    body: dict[str, object] = json.loads(response.read())
    connection.close()
    assert response.status == 200, body
    return body


def test_a_house_stands_answers_as_printed_and_leaves_nothing_behind(house: Up) -> None:
    up, said = house
    started = children(up.pid)

    first = ask_as_printed(said)
    for child in started:
        os.kill(child, signal.SIGKILL)
    time.sleep(1)
    again = children(up.pid)
    up.send_signal(signal.SIGINT)
    status = up.wait(60)

    assert "Admin key, shown this once" in said
    assert "dia 8" in json.dumps(first, ensure_ascii=False)  # when the rent of the sample contract is due
    assert len(started) == len(again) >= 3
    assert not started & again
    assert status == 0
    assert not [pid for pid in started | again if Path(f"/proc/{pid}").exists()]
