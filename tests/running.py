"""The whole house as people start it: `soleira up` on a fresh data directory, as a process of its own."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from gateway.settings import ROOT, gateway_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ADMIN_KEY = "sk-test-whole-house"
_START_SECONDS = 150


@dataclass(frozen=True)
class RunningHouse:
    """Where the house answers, and its process."""

    url: str
    data: Path
    up: subprocess.Popen[bytes]

    def child(self, name: str) -> int:
        """The process id of a child, told by its command line."""
        listed = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.up.pid)], capture_output=True, text=True, check=True
        )
        return next(int(line.split()[0]) for line in listed.stdout.splitlines() if name in line)

    def soleira(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the command line beside the house."""
        command = [sys.executable, "-P", "-m", "gateway.cli", *arguments, "--data", str(self.data)]
        return subprocess.run(command, env=gateway_environment(), capture_output=True, text=True, check=False)


@contextmanager
def running(data: Path, **variables: str) -> Iterator[RunningHouse]:
    """Start the house, with these variables, and wait until it has read its samples; stop it as Ctrl-C does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**gateway_environment(), "SOLEIRA_ADMIN_KEY": ADMIN_KEY, **variables}
    command = [sys.executable, "-P", "-m", "gateway.cli", "up", "--data", str(data), "--port", str(port)]
    said = data / "said.txt"
    with said.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as up:
        try:
            _wait_until_ready(up, said)
            yield RunningHouse(f"http://127.0.0.1:{port}", data, up)
        finally:
            up.terminate()
            up.wait(60)


def write_pack(pack: Path, deployments: Sequence[dict[str, Any]]) -> None:
    """The home pack with these deployments; its hosted zone lies on loopback, where a test can reach it."""
    shutil.copytree(ROOT / "policies" / "packs" / "home", pack)
    rules = (pack / "rules.yaml").read_text()
    assert "addresses: public" in rules
    # As a network of its own it is still no part of the house.
    (pack / "rules.yaml").write_text(rules.replace("addresses: public", "addresses: [127.0.0.0/8]"))
    (pack / "deployments.yaml").write_text(json.dumps({"deployments": list(deployments)}))


def _wait_until_ready(up: subprocess.Popen[bytes], said: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while "Ready." not in said.read_text():
        if up.poll() is not None or time.monotonic() > until:
            pytest.fail(f"the house did not get ready:\n{said.read_text()}")
        time.sleep(0.1)
