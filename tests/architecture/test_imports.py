"""Imports run one way, and what is heavy, dangerous or replaceable is imported in one place."""

from __future__ import annotations

import ast
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
    "aiohttp": ("gateway/upstream/guard.py", "gateway/upstream/clients/http.py", "retrieval/client.py"),
    "alembic": ("migrations/",),
    "litellm": ("gateway/upstream/litellm_child.py",),
    "pypdfium2": ("retrieval/parse/",),
    "qdrant_client": ("retrieval/store/",),
    "qdrant_edge": ("retrieval/store/",),
    "re2": ("policies/detectors/",),
    "sentence_transformers": ("retrieval/embed.py", "retrieval/weights.py"),
    "sqlalchemy": ("gateway/db/", "migrations/", "retrieval/registry/"),
    "sqlite3": ("gateway/db/", "gateway/ledger/writer.py", "migrations/", "retrieval/registry/"),
    "torch": ("retrieval/embed.py", "retrieval/weights.py"),
    "transformers": ("retrieval/embed.py", "retrieval/weights.py"),
    "xllamacpp": ("gateway/upstream/engine_child.py",),
}
"""Where a package may be imported for use; a name in an annotation may be spoken of anywhere."""

NOWHERE = {"httpx", "requests", "urllib3", "urllib.request", "ftplib", "smtplib", "telnetlib"}
"""Other ways to the network than the guard's."""

CONNECTORS = {"ClientSession", "TCPConnector", "UnixConnector"}


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


def misplaced(path: str, source: str) -> list[str]:
    found = {name for name in imported(source) if name in NOWHERE}
    for package, places in PLACES.items():
        used = any(name == package or name.startswith(f"{package}.") for name in imported(source))
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


def test_only_the_guard_makes_sessions_to_upstreams() -> None:
    makers = set()
    for path in sources():
        called = {
            ast.unparse(n.func).split(".")[-1] for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)
        }
        if called & CONNECTORS:
            makers.add(str(path.relative_to(ROOT)))

    # The retrieval client speaks to the house's own socket and cannot name another address.
    assert makers == {"gateway/upstream/guard.py", "retrieval/client.py"}
    assert "TCPConnector" not in (ROOT / "retrieval" / "client.py").read_text()


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
