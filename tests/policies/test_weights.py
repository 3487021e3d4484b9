"""GGUF files that a pack has the house run: what cannot be is named by file, line and key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from policies.load import PackError, load_pack
from policies.weights import file_of, parts_of
from tests.gguf import small, write_small

if TYPE_CHECKING:
    from pathlib import Path

    from policies.pack import Pack
    from policies.problems import Problem

RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: private, addresses: private}
rules: [{name: all}]
"""
PRICE = "price: {currency: USD, per_million: {input: 0, output: 0}, source: ours, as_of: 2026-11-01}"


class House:
    """A pack with one deployment, and the folder its GGUF files lie in."""

    def __init__(self, folder: Path) -> None:
        self.pack = folder / "pack"
        self.models = folder / "models"
        self.pack.mkdir()
        self.models.mkdir()
        (self.pack / "rules.yaml").write_text(RULES)

    def load(self, gguf: str, *more: str, zone: str = "device", engine: str = "llama_server") -> Pack:
        lines = [f"engine: {engine}", f"zone: {zone}", f"gguf: {gguf}", PRICE, *more]
        entry = "\n    ".join(["  - name: own", "model: own", *lines])
        (self.pack / "deployments.yaml").write_text(f"deployments:\n{entry}\n")
        return load_pack(self.pack, self.models)

    def refused(self, gguf: str, *more: str, zone: str = "device", engine: str = "llama_server") -> Problem:
        with pytest.raises(PackError) as refusal:
            self.load(gguf, *more, zone=zone, engine=engine)
        (problem,) = refusal.value.problems
        return problem


@pytest.fixture
def house(tmp_path: Path) -> House:
    house = House(tmp_path)
    write_small(house.models / "m.gguf")
    return house


def test_a_file_below_the_models_folder_is_taken_with_its_defaults(house: House) -> None:
    (spec,) = house.load("{path: m.gguf, context: 2048}").deployments

    assert spec.base_url == ""
    assert spec.gguf is not None
    assert (spec.gguf.context, spec.gguf.slots, spec.gguf.threads, spec.gguf.gpu_layers) == (2048, 1, None, 0)


def test_a_path_from_the_root_is_taken_as_it_is(house: House, tmp_path: Path) -> None:
    elsewhere = write_small(tmp_path / "elsewhere" / "x.GGUF")

    assert house.load(f"{{path: {elsewhere}, context: 512}}").deployments


@pytest.mark.parametrize(
    ("gguf", "key", "words"),
    [
        ("{path: away.gguf, context: 512}", "path", "away.gguf is not there"),
        ("{path: cut.gguf, context: 512}", "path", "is cut short"),
        ("{path: page.gguf, context: 512}", "path", "is no GGUF file"),
        ("{path: folder.gguf, context: 512}", "path", "cannot be read"),
        ("{path: m.gguf}", "path", "was trained for 4096 tokens"),
        ("{path: mmproj.gguf, context: 512}", "path", "belongs under `mmproj`"),
        ("{path: second.gguf, context: 512}", "path", "part 2 of 2"),
        ("{path: big-00001-of-00002.gguf, context: 512}", "path", "big-00002-of-00002.gguf is not there"),
        ("{path: m.gguf, context: 512, mmproj: m.gguf}", "mmproj", "is no projector"),
        ("{path: m.gguf, context: 512, mmproj: away.gguf}", "mmproj", "is not there"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused_at_its_key(house: House, gguf: str, key: str, words: str) -> None:
    (house.models / "cut.gguf").write_bytes(small()[:-1])
    (house.models / "page.gguf").write_text("<html>not found</html>")
    (house.models / "folder.gguf").mkdir()
    write_small(house.models / "mmproj.gguf", "clip")
    write_small(house.models / "second.gguf", split_count=2, split_no=1)
    write_small(house.models / "big-00001-of-00002.gguf", split_count=2)

    problem = house.refused(gguf)

    assert (problem.file, problem.line, problem.key) == ("deployments.yaml", 6, f"deployments[0].gguf.{key}")
    assert words in problem.message


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ("base_url: http://127.0.0.1:1/v1", "deployments[0]", "either base_url, or gguf"),
        ("context: 4096", "deployments[0].context", "write `gguf: {context: …}`"),
        ("slots: 2", "deployments[0].slots", "write `gguf: {slots: …}`"),
        ("api_key: {env: KEY}", "deployments[0].api_key", "no meaning beside `gguf`"),
        ("capabilities: [vision]", "deployments[0].capabilities", "a projector (mmproj)"),
    ],
)
def test_what_makes_no_sense_beside_a_file_is_refused(house: House, more: str, key: str, words: str) -> None:
    problem = house.refused("{path: m.gguf, context: 512}", more)

    assert problem.key == key
    assert words in problem.message


@pytest.mark.parametrize("path", ["m.bin", '"a\\nb.gguf"', "''"])
def test_a_path_that_is_no_ggufs_is_refused(house: House, path: str) -> None:
    assert house.refused(f"{{path: {path}}}").key == "deployments[0].gguf.path"


def test_a_file_runs_on_this_machine_and_on_llama_cpp(house: House) -> None:
    assert house.refused("{path: m.gguf, context: 512}", zone="lan").key == "deployments[0].zone"
    assert house.refused("{path: m.gguf, context: 512}", engine="ollama").key == "deployments[0].engine"


def test_a_deployment_with_neither_address_nor_file_is_refused(house: House) -> None:
    problem = house.refused("~")

    assert "either base_url, or gguf" in problem.message


def test_without_a_folder_of_models_files_are_not_looked_at(house: House) -> None:
    house.load("{path: m.gguf, context: 512}")
    (house.models / "m.gguf").unlink()

    assert load_pack(house.pack).deployments


def test_files_are_found_below_their_folder_from_the_root_and_from_home(tmp_path: Path) -> None:
    assert file_of("a/b.gguf", tmp_path) == tmp_path / "a" / "b.gguf"
    assert file_of("/srv/b.gguf", tmp_path).as_posix() == "/srv/b.gguf"
    assert file_of("~/b.gguf", tmp_path).is_absolute()
    assert tmp_path not in file_of("~/b.gguf", tmp_path).parents


def test_the_first_of_several_files_names_the_others(tmp_path: Path) -> None:
    names = [part.name for part in parts_of(tmp_path / "k3-00001-of-00003.gguf")]

    assert names == [f"k3-{number:05}-of-00003.gguf" for number in (1, 2, 3)]
    assert parts_of(tmp_path / "k3.gguf") == [tmp_path / "k3.gguf"]
