"""Profiles in DATA/capacity: what is written is read again, nothing is written over, and bad files say where."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.economics.profiles import Point
from gateway.errors import BadRequest, Unavailable
from gateway.owning import profiles, published
from gateway.owning.profiles import Measured
from gateway.settings import ROOT
from policies.problems import PackError
from policies.source import read_source

if TYPE_CHECKING:
    from pathlib import Path

POINT = Point(1, 512, 128, Fraction(378), Fraction("8.51"), Fraction(21672), Fraction("117.5"))
TODAY = date(2026, 12, 1)
PROFILE = Measured(
    name="our-k3",
    model="kimi-k3",
    quant="native",
    gpu="b300",
    gpus=8,
    engine="vllm 0.27.1",
    points=(POINT, replace(POINT, concurrency=16, decode_tps=Fraction(2067))),
    source="soleira measure our-k3",
    as_of=date(2026, 12, 1),
    quality="measured",
    note="no prefix cache was seen",
    deployment="our-k3",
    cached_tps=Fraction(250_000),
    contexts=(POINT, replace(POINT, prompt_tokens=2048)),
    stopped="it was stopped",
)


def test_a_profile_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = profiles.write(tmp_path, PROFILE)

    assert path == tmp_path / "capacity" / "our-k3-2026-12-01.yaml"
    assert profiles.profiles(tmp_path, TODAY)["our-k3-2026-12-01"] == replace(PROFILE, name="our-k3-2026-12-01")
    assert profiles.profiles(tmp_path, TODAY)["our-k3"].cached_tps == 250_000


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=40)
AMOUNT = st.none() | st.integers(1, 10**12).map(lambda n: Fraction(n, 1_000_000))


@given(TEXT, TEXT, AMOUNT, st.integers(1, 10**6), st.sampled_from(["", "a\nb\t\"c\" \\ # d: 'e'", "- x", "null", "~"]))
def test_whatever_is_written_is_read_again(model: str, gpu: str, rate: Fraction | None, count: int, note: str) -> None:
    point = Point(count, count, count, rate, rate, rate, rate)
    profile = replace(PROFILE, model=model, gpu=gpu, note=note, stopped=gpu)
    profile = replace(profile, points=(point,), contexts=(), cached_tps=rate)
    source = read_source("capacity/x.yaml", profiles.written(profile).encode())

    assert profiles.ProfileFile.model_validate(source.tree).profile("our-k3") == profile


def test_no_profile_takes_the_place_of_another(tmp_path: Path) -> None:
    places = [profiles.write(tmp_path, replace(PROFILE, note=str(number))) for number in range(12)]

    assert [place.name for place in places[:3]] == [
        "our-k3-2026-12-01.yaml",
        "our-k3-2026-12-01-2.yaml",
        "our-k3-2026-12-01-3.yaml",
    ]
    found = profiles.profiles(tmp_path, TODAY)
    assert [found[place.stem].note for place in places] == [str(number) for number in range(12)]
    assert sorted(os.listdir(tmp_path / "capacity")) == sorted(place.name for place in places)


def test_the_newest_of_a_deployment_stands_under_its_name(tmp_path: Path) -> None:
    for number in range(11):
        profiles.write(tmp_path, replace(PROFILE, note=str(number)))
    profiles.write(tmp_path, replace(PROFILE, as_of=date(2026, 11, 30), note="older"))
    profiles.write(tmp_path, replace(PROFILE, deployment="other", note="of another"))
    profiles.write(tmp_path, replace(PROFILE, as_of=date(2026, 12, 2), quality="published", note="of somebody else"))

    found = profiles.profiles(tmp_path, date(2026, 12, 2))
    assert found["our-k3"].note == "10"
    assert found["other"].note == "of another"


def test_a_name_that_is_no_file_name_becomes_one(tmp_path: Path) -> None:
    path = profiles.write(tmp_path, replace(PROFILE, deployment="lab/k3:latest"))

    assert path.name == "lab-k3-latest-2026-12-01.yaml"
    assert profiles.profiles(tmp_path, TODAY)["lab/k3:latest"].model == "kimi-k3"


def test_a_file_system_without_links_loses_nothing(tmp_path: Path) -> None:
    def link(_source: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    places = [profiles.write(tmp_path, replace(PROFILE, note=note), link) for note in ("first", "second")]

    found = profiles.profiles(tmp_path, TODAY)
    assert [(place.name, found[place.stem].note) for place in places] == [
        ("our-k3-2026-12-01.yaml", "first"),
        ("our-k3-2026-12-01-2.yaml", "second"),
    ]
    assert len(os.listdir(tmp_path / "capacity")) == 2


def test_public_curves_stand_beside_the_owners(tmp_path: Path) -> None:
    profiles.write(tmp_path, PROFILE)

    public, found = profiles.profiles(None), profiles.profiles(tmp_path, TODAY)
    assert set(public) == set(published.profiles())
    assert set(found) == {*public, "our-k3", "our-k3-2026-12-01"}
    assert all(profile.source and profile.quality != "measured" for profile in public.values())
    assert {profile.cached_tps for profile in public.values()} == {None}


def test_a_public_curve_keeps_its_rates() -> None:
    curve = profiles.profiles(None)["k3-8xb300-sglang-dspark"]

    assert (curve.model, curve.gpu, curve.gpus, curve.quality, curve.as_of) == (
        "kimi-k3",
        "b300",
        8,
        "derived",
        date(2026, 9, 3),
    )
    [saturated] = [point for point in curve.points if point.concurrency == 64]
    assert float(saturated.prefill_tps or 0) == pytest.approx(21_672, abs=1)
    assert float(saturated.decode_tps or 0) == pytest.approx(5075.1, abs=0.1)


def test_the_owners_curve_wins_over_a_public_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "capacity").mkdir()
    (tmp_path / "capacity" / "k3-8xb300-sglang.yaml").write_text(FILE)

    assert profiles.profiles(tmp_path, TODAY)["k3-8xb300-sglang"].source == "our lab"


FILE = """\
model: kimi-k3
as_of: 2026-12-01
source: our lab
points:
  - {prompt_tokens: 512, output_tokens: 128, decode_tps: 117.5}
"""


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (FILE, "", "capacity/lab.yaml: is empty: write a profile, or remove it"),
        ("2026-12-01", "9999-01-01", "capacity/lab.yaml:2: as_of: is a day that is yet to come"),
        ("model:", "modell:", "capacity/lab.yaml:1: modell: is unknown; did you mean 'model'?"),
        ("2026-12-01", "yesterday", "capacity/lab.yaml:2: as_of: should be a valid date"),
        ("117.5", "-1", "capacity/lab.yaml:5: points[0].decode_tps: should be an amount such as 0.30"),
        ("117.5", "0", "capacity/lab.yaml:5: points[0].decode_tps: should be more than 0; leave it out"),
        ("source: our lab\n", "", "capacity/lab.yaml:1: source: is missing"),
        ("source:", "quality: guessed\nsource:", "capacity/lab.yaml:3: quality: 'guessed' is unknown: use measured"),
        (
            "  - {",
            "  - {concurrency: 2, prompt_tokens: 512, output_tokens: 128}\n  - {",
            "points should rise in concurrency",
        ),
        ("points:\n  - {prompt_tokens: 512, output_tokens: 128, decode_tps: 117.5}", "points: []", "has no points"),
        ("model: kimi-k3", "model: [", "capacity/lab.yaml:3: is not valid YAML"),
    ],
)
def test_a_bad_file_says_where_and_what(tmp_path: Path, before: str, after: str, problem: str) -> None:
    (tmp_path / "capacity").mkdir()
    (tmp_path / "capacity" / "lab.yaml").write_text(FILE.replace(before, after))

    with pytest.raises(PackError) as refused:
        profiles.profiles(tmp_path, TODAY)
    assert problem in str(refused.value)


def test_all_bad_files_are_told_of_at_once(tmp_path: Path) -> None:
    (tmp_path / "capacity").mkdir()
    for name in ("a", "b"):
        (tmp_path / "capacity" / f"{name}.yaml").write_text(FILE.replace("source: our lab\n", ""))

    with pytest.raises(PackError) as refused:
        profiles.profiles(tmp_path, TODAY)
    assert [problem.file for problem in refused.value.problems] == ["capacity/a.yaml", "capacity/b.yaml"]


def test_what_somebody_else_measured_stands_beside_it_under_its_files_name(tmp_path: Path) -> None:
    (tmp_path / "capacity").mkdir()
    (tmp_path / "capacity" / "lab.yaml").write_text(FILE.replace("source:", "quality: published\nsource:"))

    found = profiles.profiles(tmp_path, TODAY)["lab"]
    assert (found.model, found.quality, found.gpu, found.points[0].decode_tps) == (
        "kimi-k3",
        "published",
        "unknown",
        Fraction(235, 2),
    )


def test_the_file_in_the_documentation_is_one() -> None:
    [_, shown] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "measure.md").read_text(), re.DOTALL)
    found = profiles.ProfileFile.model_validate(read_source("docs", shown.encode()).tree).profile("our-k3")

    assert (found.gpus, len(found.points), len(found.contexts)) == (8, 2, 1)
    assert found.cached_tps == 250_000


def test_what_somebody_stopped_takes_the_place_of_no_whole_curve(tmp_path: Path) -> None:
    profiles.write(tmp_path, replace(PROFILE, as_of=date(2026, 11, 1), stopped="it was stopped", note="a beginning"))
    assert profiles.profiles(tmp_path, TODAY)["our-k3"].note == "a beginning"  # better than none

    profiles.write(tmp_path, replace(PROFILE, as_of=date(2026, 11, 2), stopped="", note="whole"))
    profiles.write(tmp_path, replace(PROFILE, stopped="it was stopped", note="stopped after it"))
    silent = replace(POINT, prefill_tps=None)
    profiles.write(tmp_path, replace(PROFILE, stopped="", points=(silent,), note="tells no rate of reading"))

    found = profiles.profiles(tmp_path, TODAY)
    assert found["our-k3"].note == "whole"
    assert found["our-k3-2026-12-01"].note == "stopped after it"


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "capacity"
    folder.mkdir()
    os.mkfifo(folder / "pipe.yaml")
    (folder / "endless.yaml").symlink_to("/dev/zero")
    (folder / "gone.yaml").symlink_to("/nowhere/at/all")
    (folder / "folder.yaml").mkdir()
    with (folder / "huge.yaml").open("wb") as huge:
        huge.truncate(1 << 40)

    with pytest.raises(PackError) as refused:
        profiles.profiles(tmp_path, TODAY)
    assert [str(problem) for problem in refused.value.problems] == [
        "capacity/endless.yaml: cannot be read: is no file",
        "capacity/folder.yaml: cannot be read: is no file",
        "capacity/gone.yaml: cannot be read: No such file or directory",
        "capacity/huge.yaml: is larger than 512 KiB",
        "capacity/pipe.yaml: cannot be read: is no file",
    ]


def test_no_file_is_written_that_would_keep_the_others_from_being_read(tmp_path: Path) -> None:
    profiles.write(tmp_path, PROFILE)
    for bad in (replace(PROFILE, gpu="two\nlines"), replace(PROFILE, gpus=10**6), replace(PROFILE, points=())):
        with pytest.raises(PackError):
            profiles.write(tmp_path, bad)
    long = profiles.write(tmp_path, replace(PROFILE, note="n" * 3000, stopped="s" * 3000))

    assert sorted(os.listdir(tmp_path / "capacity")) == ["our-k3-2026-12-01-2.yaml", "our-k3-2026-12-01.yaml"]
    assert profiles.profiles(tmp_path, TODAY)[long.stem].note == "n" * 2000


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_asked(tmp_path: Path) -> None:
    profiles.make_room(tmp_path / "new")
    assert os.listdir(tmp_path / "new" / "capacity") == []

    (tmp_path / "capacity").write_text("in its place")
    with pytest.raises(Unavailable, match=r"capacity cannot be written \(File exists\): nothing was measured"):
        profiles.make_room(tmp_path)


@pytest.mark.parametrize("names", [{"gpu": "b\n300"}, {"gpu": ""}, {"quant": "q" * 121}, {"gpus": 100_001}])
def test_names_that_no_file_may_hold_are_refused_before(names: dict[str, object]) -> None:
    with pytest.raises(BadRequest) as refused:
        profiles.check_names(**{"gpu": "b300", "quant": "native", "gpus": 8, **names})  # type: ignore[arg-type]  # wrong
    assert str(refused.value).startswith(f"{next(iter(names))}: ")


def test_what_an_engine_says_of_itself_fits_in_a_line() -> None:
    assert profiles.line("vllm 0.27\x1b[31m\nrc" + "x" * 300) == "vllm 0.27 [31m rc" + "x" * 103
