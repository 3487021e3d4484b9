"""What people read names all there is, and only what there is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from typer.main import get_command

from gateway import errors
from gateway.cli import app
from gateway.settings import ROOT, VARIABLES, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = re.compile(r"https?://|--(?:extra-)?index-url|--find-links|--trusted-host", re.IGNORECASE)


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    documented = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))

    assert set(VARIABLES.values()) == set(Settings.model_fields)
    assert documented == VARIABLES.keys() | {"SOLEIRA_PYTHON"}  # the script's own, which no Python module reads
    assert "${SOLEIRA_PYTHON:-" in (ROOT / "soleira").read_text()


def test_no_module_knows_of_another_variable_of_ours() -> None:
    sources = [
        path
        for package in ("gateway", "retrieval", "policies", "migrations")
        for path in (ROOT / package).rglob("*.py")
    ]
    named = {name for path in sources for name in re.findall(r"\bSOLEIRA_[A-Z0-9_]+", path.read_text())}

    assert named
    assert named <= VARIABLES.keys()


def test_every_error_code_is_documented() -> None:
    documented = set(re.findall(r"^\| `([a-z_]+)`", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE))

    assert documented == {error.code for error in descendants(errors.GatewayError)} | {errors.GatewayError.code}


def descendants(error: type[errors.GatewayError]) -> Iterator[type[errors.GatewayError]]:
    for child in error.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from descendants(child)


def test_every_command_is_documented_and_every_documented_one_exists() -> None:
    documented = re.findall(
        r"^\| `soleira ([a-z-]+(?: [a-z]+)?)[ `]", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE
    )

    assert sorted(documented) == sorted(name for name, _ in walk(get_command(app)))


def test_every_command_explains_itself() -> None:
    silent = [name for name, command in walk(get_command(app)) if not command.help]

    assert silent == []


def test_every_command_takes_the_options_that_are_said_to_be_common() -> None:
    known = {
        name: {text for parameter in command.params for text in parameter.opts}
        for name, command in walk(get_command(app))
    }

    assert {name for name, options in known.items() if not {"--data", "--pack"} <= options} == {"test"}
    assert {name for name, options in known.items() if "--json" not in options} == {
        "up",
        "test",
        "check",
        "export rows",
        "export usage",
    }


def walk(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group and of the groups in it, by what one types."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from walk(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def test_the_lock_of_the_node_clients_names_no_host() -> None:
    lock = json.loads((ROOT / "tests" / "clients" / "node" / "package-lock.json").read_text())

    assert all(package.get("integrity") for name, package in lock["packages"].items() if name)
    assert not HOST.search(json.dumps(lock))


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", "requirements-uv.lock"])
def test_locks_pin_everything_by_hash_and_name_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text()
    requirements = re.split(
        r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))
    )

    assert not HOST.search(text)
    assert requirements
    for requirement in filter(str.strip, requirements):
        assert "==" in requirement, requirement.splitlines()[0]
        assert "--hash=sha256:" in requirement, requirement.splitlines()[0]


def test_compose_starts_what_exists_and_is_reachable_from_this_machine_alone() -> None:
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    (service,) = composed["services"].values()
    (volume,) = service["volumes"]

    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert service["ports"] == ["127.0.0.1:4141:4141"]
    assert volume.split(":")[0] in composed["volumes"]
    assert service["command"][:3] == ["up", "--host", "0.0.0.0"]
    assert service["command"][service["command"].index("--data") + 1] == volume.split(":")[1]


def test_the_dockerfile_copies_only_what_exists() -> None:
    copied = re.findall(r"^COPY (?:--\S+ )*(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)

    assert copied
    for source in " ".join(copied).split():
        assert (ROOT / source).exists(), source


def test_the_pipeline_runs_the_one_check_command() -> None:
    script = (ROOT / ".ci" / "run").read_text().splitlines()

    assert script[-1] == "exec ./soleira check"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_no_page_has_a_place_left_to_fill() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]

    assert [page.name for page in pages if "@@" in page.read_text() or "TODO" in page.read_text()] == []
