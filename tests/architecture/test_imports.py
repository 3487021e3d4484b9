"""Imports run one way, and what is heavy, dangerous or replaceable is imported in one place."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.settings import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = ("gateway", "retrieval", "policies", "migrations")

PLACES = {
    "aiohttp": (
        "gateway/upstream/guard.py",
        "gateway/upstream/clients/http.py",
        "gateway/alerts/post.py",
        "gateway/ledger/prometheus.py",
        "retrieval/client.py",
    ),
    "asyncpg": ("gateway/db/",),
    "alembic": ("migrations/",),
    "httpx2": ("gateway/cli/hub.py",),
    "huggingface_hub": ("gateway/cli/hub.py",),
    "litellm": ("gateway/upstream/litellm_child.py",),
    "pypdfium2": ("retrieval/parse/",),
    "qdrant_client": ("retrieval/store/",),
    "qdrant_edge": ("retrieval/store/",),
    "re2": ("policies/detectors/",),
    "sentence_transformers": ("retrieval/embed.py",),
    "smtplib": ("gateway/alerts/mail.py",),
    "sqlalchemy": ("gateway/db/", "migrations/", "retrieval/registry/"),
    "sqlite3": ("gateway/db/", "migrations/", "retrieval/registry/"),
    "torch": ("retrieval/embed.py",),
    "transformers": ("retrieval/embed.py",),
    "xllamacpp": ("gateway/upstream/engine_child.py",),
}
"""Where a package may be imported for use; a name in an annotation may be spoken of anywhere."""

NOWHERE = {"httpx", "requests", "urllib3", "urllib.request", "ftplib", "telnetlib"}
"""Other ways to the network than the guard's."""

OUTWARDS = {
    "gateway/upstream/guard.py": "the one place that connects to deployments",
    "gateway/alerts/mail.py": "hands alerts to the mail server that the pack names",
    "gateway/alerts/post.py": "tells the places that the pack's alerts name, over HTTP",
    "gateway/ledger/prometheus.py": "reads the meters of machines from the server that the pack names",
    "gateway/cli/hub.py": "fetches a model file when `soleira models pull` is called",
    "gateway/cli/running.py": "asks a running house over its admin socket",
    "gateway/cli/reach.py": "asks whether a running house answers on its socket",
    "gateway/main.py": "opens the configured Redis or Valkey server",
    "gateway/supervisor/probe.py": "asks servers of this very machine at the start",
    "retrieval/client.py": "speaks to the house's own retrieval process",
}
"""Who may open a connection, and why."""

UNIX_ONLY = ("gateway/cli/running.py", "gateway/cli/reach.py", "retrieval/client.py")

CONNECTORS = frozenset(
    """
    ClientSession TCPConnector UnixConnector
    open_connection open_unix_connection create_connection create_unix_connection create_datagram_endpoint
    sock_connect sock_sendto connect_ex sendto HTTPConnection HTTPSConnection urlopen from_url Redis StrictRedis
    SMTP SMTP_SSL HfApi hf_hub_download snapshot_download http_get
    """.split()
)
"""Calls and classes that lead to a connection, by the last part of their names."""

SOCKETS = frozenset({"socket", "_socket"})


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(source: str) -> set[str]:
    """The modules a source imports when it runs: blocks for the type checker are left out."""
    return {name for node in running(ast.parse(source)) for name in names(node)}


def running(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from running(node)


def names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


WALLED_IN = "gateway/upstream/litellm_child.py"
"""The process that has no network: it hands litellm an HTTP client of its own, whose only way is the exit."""


def misplaced(path: str, source: str) -> list[str]:
    known = imported(source)
    found = {name for name in known if name in NOWHERE and (path, name) != (WALLED_IN, "httpx")}
    for package, places in PLACES.items():
        used = any(name == package or name.startswith(f"{package}.") for name in known)
        if used and not path.startswith(places):
            found.add(package)
    return sorted(found)


def test_import_directions_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_package_is_imported_in_its_one_place() -> None:
    wrong = {
        str(path.relative_to(ROOT)): misplaced(str(path.relative_to(ROOT)), path.read_text()) for path in sources()
    }

    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("gateway/chat/answer.py", "import torch.nn", ["torch"]),
        ("gateway/api/app.py", "def f():\n    from sqlalchemy import select", ["sqlalchemy"]),
        ("gateway/api/app.py", "if TYPE_CHECKING:\n    from sqlalchemy import Row", []),
        ("gateway/routing/plan.py", "import urllib.request", ["urllib.request"]),
        ("gateway/routing/plan.py", "from urllib import request", ["urllib.request"]),
        ("retrieval/store/edge.py", "import qdrant_edge", []),
        ("gateway/upstream/dispatch.py", "from aiohttp import ClientSession", ["aiohttp"]),
    ],
)
def test_a_misplaced_import_is_seen(path: str, source: str, found: list[str]) -> None:
    assert misplaced(path, source) == found


def leads_out(source: str) -> bool:
    """True if the source calls, derives from or imports what opens a connection."""
    spoken = {name.rpartition(".")[2] for node in running(ast.parse(source)) for name in called(node)}
    return bool(spoken & CONNECTORS) or ("connect" in spoken and bool(imported(source) & SOCKETS))


def called(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        # A socket is told where to connect; an engine of SQLAlchemy, also called so, knows.
        return [] if name.endswith(".connect") and not node.args else [name]
    if isinstance(node, ast.ClassDef):
        return [ast.unparse(base) for base in node.bases]
    return names(node)


def test_only_the_guard_connects_to_upstreams() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources() if leads_out(path.read_text())}

    assert found == OUTWARDS.keys()


@pytest.mark.parametrize("path", UNIX_ONLY)
def test_what_speaks_to_the_house_itself_can_name_no_other_address(path: str) -> None:
    source = (ROOT / path).read_text()

    assert "AF_UNIX" in source or "UnixConnector" in source
    assert not re.search(r"AF_INET|TCPConnector|open_connection|create_connection|HTTPSConnection", source)


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasync def f(): await asyncio.open_connection('host', 1)",
        "from asyncio import open_unix_connection",
        "import socket\nsocket.create_connection(('host', 1))",
        "import socket\ns = socket.socket()\ns.connect(('host', 1))",
        "from socket import socket\nsocket().connect_ex(('host', 1))",
        "import http.client\nhttp.client.HTTPSConnection('host')",
        "import http.client\nclass C(http.client.HTTPConnection): pass",
        "from urllib.request import urlopen",
        "import aiohttp\naiohttp.ClientSession()",
        "from redis.asyncio import Redis",
        "from huggingface_hub import hf_hub_download",
        "async def f(loop, s): await loop.sock_connect(s, ('host', 1))",
    ],
)
def test_a_way_out_is_seen(source: str) -> None:
    assert leads_out(source)


@pytest.mark.parametrize(
    "source", ["import sqlite3\nsqlite3.connect('f')", "from urllib.parse import quote", "with engine.connect(): pass"]
)
def test_what_leads_nowhere_is_none(source: str) -> None:
    assert not leads_out(source)


def test_of_retrieval_the_gateway_knows_the_client_alone() -> None:
    known = {
        name
        for path in sorted((ROOT / "gateway").rglob("*.py"))
        for name in imported(path.read_text())
        if name.split(".")[0] == "retrieval"
    }

    assert known
    assert {".".join(name.split(".")[:2]) for name in known} == {"retrieval.client"}


def test_the_retrieval_client_is_light() -> None:
    loaded = "import sys, retrieval.client; print(*sorted({name.split('.')[0] for name in sys.modules}))"

    shown = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "aiohttp" in shown.stdout.split()
    assert not {"torch", "qdrant_edge", "sqlalchemy", "gateway"} & set(shown.stdout.split())


def test_policies_know_nobody_above_them() -> None:
    known = {name.split(".")[0] for path in (ROOT / "policies").rglob("*.py") for name in imported(path.read_text())}

    assert "policies" in known
    assert not known & {"gateway", "retrieval", "migrations"}
