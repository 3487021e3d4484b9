"""The command line, with a running house and without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from gateway.cli import app, checks
from gateway.cli.spend import usd
from gateway.errors import GatewayError
from gateway.settings import HOME_PACK, ROOT, Settings, gateway_environment
from gateway.supervisor import lock, parts, prepare
from gateway.supervisor.address import Address
from policies.problems import PackError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

    from gateway.supervisor.children import ChildSpec


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "house"


def soleira(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read(*arguments: object) -> Any:
    """What a command prints for programs."""
    result = soleira(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def process(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own, as people see it."""
    command = [sys.executable, "-P", "-m", "gateway.cli", *map(str, arguments)]
    environment = {**gateway_environment(), **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


@contextmanager
def running(settings: Settings, spec: ChildSpec) -> Iterator[None]:
    """Keep one part of a house running, under its lock, as `up` does."""
    assert spec.socket is not None
    prepare.directories(settings)
    with lock.hold(settings.lock), spec.log.open("wb") as log:
        prepare.files(settings)
        with subprocess.Popen(spec.command, env=dict(spec.environment), stdout=log, stderr=log) as part:
            try:
                deadline = time.monotonic() + 30
                while not listening(spec.socket):
                    assert part.poll() is None, spec.log.read_text()
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
                yield
            finally:
                part.terminate()


@pytest.fixture
def gateway(data: Path) -> Iterator[None]:
    """A running gateway without the rest of the house."""
    settings = Settings.from_environment(data, environ={"SOLEIRA_ADMIN_KEY": "sk-test"})
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with running(settings, parts.gateway(settings, Address("127.0.0.1", port))):
        yield


def test_a_key_is_made_listed_and_revoked_without_a_house(data: Path) -> None:
    keys_are_made_listed_and_revoked(data)


@pytest.mark.usefixtures("gateway")
def test_a_key_is_made_listed_and_revoked_beside_a_house(data: Path) -> None:
    keys_are_made_listed_and_revoked(data)


def keys_are_made_listed_and_revoked(data: Path) -> None:
    options = ("--groups", "adults,family", "--label", "private+health", "--collections", "papers", "--data", data)
    allowed = ("--person", "Ana", "--budget-usd", "5/month", "--requests", "60/minute", "--concurrency", "4")

    made = read("keys", "create", "ana", *options, *allowed)
    listed = read("keys", "list", "--data", data)
    revoked = read("keys", "revoke", "ana", "--data", data)
    again = soleira("keys", "revoke", "ana", "--data", data)

    assert made.pop("key").startswith("sk-soleira-")
    asked = {
        "groups": ["adults", "family"],
        "clearance": "private",
        "label": "private+health",
        "collections": ["papers"],
        "person": "Ana",
        "role": "caller",
        "budget_usd": "5/month",
        "budget_tokens": None,
        "requests": "60/minute",
        "tokens": None,
        "concurrency": 4,
    }
    assert made == {"name": "ana", **asked}
    assert [(key["name"], key["groups"], key["label"]) for key in listed] == [
        ("ana", ["adults", "family"], "private+health")
    ]
    assert (listed[0]["budget_usd"], listed[0]["concurrency"]) == ("5/month", 4)
    assert "key" not in listed[0]
    assert "digest" not in listed[0]
    assert revoked == {"name": "ana", "state": "revoked"}
    assert again.exit_code == 1
    assert read("keys", "list", "--data", data)[0]["revoked_at"] is not None


def test_a_key_with_a_budget_that_cannot_be_read_is_not_made(data: Path) -> None:
    refused = soleira("keys", "create", "ana", "--budget-usd", "5/moon", "--data", data)
    rate = soleira("keys", "create", "ana", "--requests", "60/minuet", "--data", data)

    assert "'moon' is no time of a budget: use hour, day, week or month" in str(refused.exception)
    assert "did you mean 'minute'?" in str(rate.exception)
    assert read("keys", "list", "--data", data) == []


@pytest.mark.usefixtures("gateway")
def test_what_a_command_writes_alone_and_beside_a_house_is_one_ledger(data: Path) -> None:
    made = read("keys", "create", "beside", "--data", data)
    refused = soleira("keys", "create", "beside", "--data", data)

    assert made["name"] == "beside"
    assert isinstance(refused.exception, GatewayError)
    assert "there is a key named 'beside' already" in str(refused.exception)
    assert read("spend", "--data", data)["total_nano_usd"] == 0


def test_spend_without_a_house_begins_with_the_exact_total(data: Path) -> None:
    shown = read("spend", "--data", data)

    assert next(iter(shown)) == "total_nano_usd"
    assert shown["total_nano_usd"] == 0
    assert soleira("spend", "--data", data).stdout.startswith("US$ 0.00 in 0 attempts")


@pytest.mark.parametrize(
    ("nano_usd", "shown"),
    [
        (0, "US$ 0.00"),
        (1, "US$ 0.000000001"),
        (1_500_000_000, "US$ 1.50"),
        (12_345_678_901_234_567_890, "US$ 12345678901.23456789"),
    ],
)
def test_money_is_shown_exactly(nano_usd: int, shown: str) -> None:
    assert usd(nano_usd) == shown


@pytest.mark.parametrize("options", [("--clearance", "hush"), ("--label", "private+Health!")])
def test_a_label_that_is_none_is_wrong_usage(options: tuple[str, str], data: Path) -> None:
    result = soleira("keys", "create", "ana", *options, "--data", data)

    assert result.exit_code == 2
    assert options[1].split("+")[-1] in result.stderr
    assert not data.exists()


def test_an_error_is_one_line_that_says_what_to_do(data: Path) -> None:
    settings = Settings.from_environment(data, environ={})
    prepare.directories(settings)

    with lock.hold(settings.lock):
        second = process("up", "--data", data)

    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr == (
        f"soleira: {data} is in use by process {os.getpid()}: stop that one first (Ctrl-C where it runs), "
        "or choose another directory with --data\n"
    )


def test_up_refuses_a_bad_pack_with_file_and_line_and_starts_nothing(data: Path, tmp_path: Path) -> None:
    pack = broken_pack(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    refused = process("up", "--data", data, "--pack", pack, "--port", port)

    assert refused.returncode == 1
    assert re.match(r"soleira: rules\.yaml:\d+: .*did you mean 'device'\?\n", refused.stderr), refused.stderr
    assert not list((data / "logs").iterdir())


def broken_pack(tmp_path: Path) -> Path:
    pack = tmp_path / "pack"
    shutil.copytree(HOME_PACK, pack)
    rules = pack / "rules.yaml"
    rules.write_text(rules.read_text() + "  - {name: wrong, route: {zones: [devise]}}\n")
    return pack


def test_policy_check_names_the_mistake_and_its_line(tmp_path: Path) -> None:
    pack = broken_pack(tmp_path)
    line = len((pack / "rules.yaml").read_text().splitlines())

    good = soleira("policy", "check", "--pack", HOME_PACK)
    bad = soleira("policy", "check", "--pack", pack)
    told = soleira("policy", "check", "--pack", pack, "--json")

    assert good.exit_code == 0
    assert "is a valid pack, version " in good.stdout
    assert read("policy", "check", "--pack", HOME_PACK)["valid"] is True
    assert told.exit_code == 1
    assert [(p["file"], p["line"]) for p in json.loads(told.stdout)["problems"]] == [("rules.yaml", line)]
    assert isinstance(bad.exception, PackError)
    assert f"rules.yaml:{line}: " in str(bad.exception)


def test_policy_test_fails_when_one_test_does(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(HOME_PACK, pack)
    tests = pack / "rules_test.yaml"
    tests.write_text(tests.read_text() + "\n- {name: impossible, given: {label: secret}, expect: {zones: [hosted]}}\n")

    good = soleira("policy", "test", "--pack", HOME_PACK)
    bad = soleira("policy", "test", "--pack", pack)

    assert good.exit_code == 0
    assert "0 failed" in good.stdout
    assert all(outcome["passed"] for outcome in read("policy", "test", "--pack", HOME_PACK))
    assert bad.exit_code == 1
    assert "FAILED  impossible" in bad.stdout
    assert "1 failed" in bad.stdout


def test_policy_explain_says_why_before_there_is_a_house(data: Path) -> None:
    text = soleira("policy", "explain", "--label", "private+health", "--data", data)
    explained = read("policy", "explain", "--label", "private+health", "--data", data)

    assert text.exit_code == 0
    assert "device" in text.stdout
    assert "hosted" not in explained["decision"]["zones"]
    assert not data.exists()


def test_check_runs_every_kind_of_check_and_the_tests_of_every_pack() -> None:
    ran = [" ".join(step.command[1:]) for step in checks.steps()]

    assert "-P -m ruff format --check ." in ran
    assert "-P -m ruff check ." in ran
    assert "-P -m mypy" in ran
    assert any(step.startswith("-P -m pytest -q") for step in ran)
    assert any(step.command[0].endswith("lint-imports") for step in checks.steps())
    assert f"-P -m gateway.cli policy test --pack {HOME_PACK}" in ran


@pytest.mark.parametrize("arguments", [("keys",), ("keys", "create", "--help"), ("spend", "--help")])
def test_help_is_plain_text_at_every_level(arguments: tuple[str, ...]) -> None:
    helped = process(*arguments)

    assert (helped.stdout + helped.stderr).startswith(f"Usage: soleira {arguments[0]}")


def test_check_also_tests_the_pack_of_the_house_that_is_named() -> None:
    ran = [" ".join(step.command[1:]) for step in checks.steps(("--pack=/p",))]

    assert "-P -m gateway.cli policy test --pack=/p" in ran


def test_an_installed_copy_says_that_tests_need_a_checkout(tmp_path: Path) -> None:
    for package in ("gateway", "policies"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))

    for command in ("test", "check"):
        ran = process(command, PYTHONPATH=str(tmp_path))

        assert ran.returncode == 1
        assert "run ./soleira in a checkout" in ran.stderr


def test_a_command_imports_nothing_that_only_others_need() -> None:
    shown = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "gateway.cli", "policy", "check", "--pack", str(HOME_PACK)],
        env=gateway_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in shown.stderr.splitlines()}

    assert "policies" in loaded
    assert not {"aiohttp", "alembic", "fastapi", "sqlalchemy"} & loaded


def test_the_supervisor_holds_no_library_of_databases_or_pages() -> None:
    loaded = "import sys, gateway.cli.up; print(*sorted({name.split('.')[0] for name in sys.modules}))"

    shown = subprocess.run(
        [sys.executable, "-c", loaded], env=gateway_environment(), capture_output=True, text=True, check=True
    )

    assert not {"alembic", "fastapi", "sqlalchemy", "torch"} & set(shown.stdout.split())


def test_test_hands_its_arguments_to_pytest() -> None:
    ran = process("test", "-q", "tests/gateway/test_settings.py", "-k", "no_such_test_is_there")

    assert "7 deselected" in ran.stdout
    assert ran.returncode == 5  # pytest's own status for "no tests ran"


def test_the_script_and_the_module_are_the_same_program() -> None:
    helped = process("--help")

    assert helped.returncode == 0
    assert 'exec "$venv/bin/python" -P -m gateway.cli "$@"' in (ROOT / "soleira").read_text()
    for command in ("up", "keys", "ingest", "search", "policy", "spend", "test", "check"):
        assert re.search(rf"^  {command}\b", helped.stdout, re.MULTILINE)


@pytest.fixture
def retrieval(data: Path) -> Iterator[None]:
    settings = Settings.from_environment(data, environ={})
    with running(settings, parts.retrieval(settings)):
        yield


@pytest.mark.usefixtures("retrieval")
def test_documents_go_in_are_found_and_go_out(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "aluguel.txt").write_text("O aluguel do apartamento é de R$ 2.100,00 e vence no dia 7 de cada mês.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    where = ("--collection", "papers", "--data", data)

    taken = soleira("ingest", folder, *where)
    again = read("ingest", folder / "aluguel.txt", *where)
    found = read("search", "Quando vence o aluguel?", *where)
    hidden = read("search", "Quando vence o aluguel?", *where, "--clearance", "internal")
    listed = read("docs", "list", "--data", data)
    deleted = read("docs", "delete", found[0]["document"], "--data", data)

    assert taken.exit_code == 1  # one file of two could not be read
    assert "1 file read (1 passage), 0 unchanged, 1 failed" in taken.stdout
    assert "broken.pdf: " in taken.stderr
    assert [status["status"] for status in again] == ["unchanged"]
    assert list(found[0])[:4] == ["document", "chunk", "score", "text"]
    assert "vence no dia 7" in found[0]["text"]
    assert found[0]["label"] == "private"
    assert hidden == []
    assert {(document["file"], document["state"]) for document in listed} == {
        ("aluguel.txt", "live"),
        ("broken.pdf", "failed"),
    }
    assert deleted == {"document": found[0]["document"], "state": "deleted"}
    assert read("search", "Quando vence o aluguel?", *where) == []
    assert soleira("docs", "delete", found[0]["document"], "--data", data).exit_code == 1


def test_a_check_warns_of_keys_that_a_house_would_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    office = HOME_PACK.parent / "office"
    monkeypatch.delenv("MOONSHOT_API_KEY", raising=False)

    missing = soleira("policy", "check", "--pack", office)
    monkeypatch.setenv("MOONSHOT_API_KEY", "made-up")
    there = soleira("policy", "check", "--pack", office)

    assert (missing.exit_code, there.exit_code) == (0, 0)
    assert "MOONSHOT_API_KEY" in missing.output
    assert "MOONSHOT_API_KEY" not in there.output
