"""`./soleira` itself, in a folder of its own: Python, pip, uv and uname are stand-ins that note what they are asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from gateway.settings import ROOT

if TYPE_CHECKING:
    from pathlib import Path

UNAME = """#!/bin/sh
case $1 in -s) echo "${FAKE_SYSTEM:-Linux}" ;; -m) echo "${FAKE_MACHINE:-x86_64}" ;; esac
"""
NOTED = """#!/bin/sh
echo "NAME $*" >>"$NOTES"
case "$*" in *"${FAKE_FAILURE:-nothing fails}"*) exit 1 ;; esac
"""
PYTHON = """#!/bin/sh
case "$*" in
*version_info*) exit "${FAKE_OLD:-0}" ;;
*libc_ver*) echo "${FAKE_LIBC-glibc}" ;;
*"-m venv "*)
    mkdir -p "$3/bin"
    cp "$STANDINS/python" "$STANDINS/pip" "$3/bin/"
    echo "made $3" >>"$NOTES" ;;
esac
"""


@dataclass(frozen=True)
class Clone:
    """A fresh clone, as far as the script looks at one."""

    root: Path
    tools: Path

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script; what the stand-ins noted is `notes` afterwards."""
        notes = self.root / "notes"
        notes.write_text("")
        given = {"PATH": f"{self.tools}:/usr/bin:/bin", "NOTES": str(notes), "STANDINS": str(self.root / "standins")}
        command = [str(self.root / "soleira"), *arguments]
        return subprocess.run(
            command, env={**given, **environment}, cwd="/", capture_output=True, text=True, check=False, timeout=30
        )

    @property
    def notes(self) -> list[str]:
        return (self.root / "notes").read_text().splitlines()

    def installed(self) -> list[str]:
        """The locks that were installed."""
        return [line.rpartition("/")[2] for line in self.notes if line.startswith("uv pip install")]


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path, tmp_path / "tools")
    shutil.copy(ROOT / "soleira", tmp_path)
    for lock in ("requirements.lock", "requirements-dev.lock", "requirements-uv.lock"):
        (tmp_path / lock).write_text("one==1\n")
    tool(made.tools / "uname", UNAME)
    tool(made.tools / "python3", PYTHON)
    tool(made.tools / "uv", NOTED.replace("NAME", "uv"))
    for name in ("python", "pip"):
        tool(tmp_path / "standins" / name, NOTED.replace("NAME", name))
    return made


def tool(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


def test_the_first_run_prepares_and_hands_its_arguments_over(clone: Clone) -> None:
    ran = clone.run("keys", "create", "a name")

    assert ran.returncode == 0, ran.stderr
    assert clone.notes[0] == f"made {clone.root}/.venv"
    assert clone.installed() == ["requirements.lock"]
    assert clone.notes[-1] == "python -P -m gateway.cli keys create a name"
    assert ran.stdout == ""


def test_a_later_run_prepares_nothing(clone: Clone) -> None:
    clone.run("up")

    ran = clone.run("up")

    assert clone.notes == ["python -P -m gateway.cli up"]
    assert ran.stderr == ""


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_changed_lock_is_installed_into_what_is_there(clone: Clone, lock: str) -> None:
    clone.run("up")
    (clone.root / lock).write_text("one==2\n")

    clone.run("up")

    assert clone.installed() == ["requirements.lock"]
    assert not [line for line in clone.notes if line.startswith("made")]


def test_an_interrupted_preparation_begins_again(clone: Clone) -> None:
    broken = clone.run("up", FAKE_FAILURE="requirements.lock")
    assert broken.returncode != 0
    assert "python -P -m gateway.cli up" not in clone.notes

    ran = clone.run("up")

    assert ran.returncode == 0
    assert clone.installed() == ["requirements.lock"]


def test_an_environment_that_lost_its_python_is_made_again(clone: Clone) -> None:
    clone.run("up")
    (clone.root / ".venv" / "bin" / "python").unlink()

    clone.run("up")

    assert clone.notes[0].startswith("made")
    assert clone.notes[-1] == "python -P -m gateway.cli up"


@pytest.mark.parametrize("command", ["test", "check"])
def test_a_developer_s_environment_is_never_shrunk(clone: Clone, command: str) -> None:
    clone.run("up")
    clone.run(command)
    assert clone.installed() == ["requirements-dev.lock"]

    clone.run("up")
    assert clone.installed() == []

    (clone.root / "requirements.lock").write_text("one==2\n")
    clone.run("up")
    assert clone.installed() == ["requirements-dev.lock"]


def test_pip_takes_over_where_uv_cannot_finish(clone: Clone) -> None:
    tool(clone.tools / "uv", "#!/bin/sh\nexit 1\n")

    ran = clone.run("up")

    assert ran.returncode == 0
    assert "uv could not finish: trying pip" in ran.stderr
    assert f"pip install --no-deps --require-hashes -r {clone.root}/requirements.lock" in clone.notes


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"FAKE_SYSTEM": "Darwin"}, "no wheels for Macs with Intel processors"),
        ({"FAKE_SYSTEM": "FreeBSD", "FAKE_MACHINE": "amd64"}, "no wheels exist for FreeBSD on amd64"),
        ({"FAKE_MACHINE": "armv7l"}, "no wheels exist for Linux on armv7l"),
        ({"FAKE_LIBC": ""}, "this system has no glibc"),
        ({"FAKE_OLD": "1"}, "Python 3.11 or newer is needed"),
        ({"SOLEIRA_PYTHON": "python3.99"}, "'python3.99' was not found"),
    ],
)
def test_a_system_that_cannot_work_is_told_so_before_anything_is_made(
    clone: Clone, environment: dict[str, str], word: str
) -> None:
    ran = clone.run("up", **environment)

    assert ran.returncode == 1
    assert ran.stderr.startswith("soleira: ")
    assert word in ran.stderr
    assert not (clone.root / ".venv").exists()
    assert clone.notes == []


def test_it_runs_from_anywhere_and_by_its_name_alone(clone: Clone) -> None:
    by_name = subprocess.run(
        ["sh", "-c", "soleira up"],
        env={
            "PATH": f"{clone.root}:{clone.tools}:{os.defpath}",
            "NOTES": str(clone.root / "notes"),
            "STANDINS": str(clone.root / "standins"),
        },
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert by_name.returncode == 0, by_name.stderr
    assert (clone.root / ".venv" / "stamp").exists()
