"""A GGUF file says what is in it, and one that is not whole is told from one that is."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import gguf
from tests.gguf import small, weights

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = small()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def test_a_real_file_is_read() -> None:
    assert gguf.read(weights()) == gguf.Header("llama", 8192)


def test_a_part_of_several_says_which_it_is(file: Path) -> None:
    file.write_bytes(small(split_count=3, split_no=1))

    header = gguf.read(file)

    assert (header.part, header.parts, header.context) == (1, 3, 4096)


def test_a_projector_says_that_it_is_one(file: Path) -> None:
    file.write_bytes(small("clip"))

    assert gguf.read(file).is_projector


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_that_is_cut_anywhere_is_not_whole(file: Path, length: int) -> None:
    file.write_bytes(WHOLE[:length])

    with pytest.raises(gguf.NotWholeError, match="is cut short" if length >= 4 else "is no GGUF file"):
        gguf.read(file)


@pytest.mark.parametrize("missing", [1, 1000, 50_000_000])
def test_a_real_download_that_ended_early_is_not_whole(file: Path, missing: int) -> None:
    size = weights().stat().st_size
    with weights().open("rb") as whole:
        file.write_bytes(whole.read(size - missing))

    with pytest.raises(gguf.NotWholeError, match=f"{missing} bytes are missing"):
        gguf.read(file)


@pytest.mark.parametrize("version", [0, 1, 4, 0x03000000])
def test_a_version_that_llama_cpp_does_not_read_is_named(file: Path, version: int) -> None:
    file.write_bytes(small(version=version))

    with pytest.raises(gguf.NotWholeError, match=f"version {version}"):
        gguf.read(file)


@given(place=st.integers(4, len(WHOLE) - 1), value=st.integers(0, 255), rest=st.binary(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_not_whole_and_nothing_else(file: Path, place: int, value: int, rest: bytes) -> None:
    file.write_bytes(WHOLE[:place] + bytes([value]) + WHOLE[place + 1 : len(WHOLE) - len(rest)] + rest)

    with suppress(gguf.NotWholeError):
        assert isinstance(gguf.read(file), gguf.Header)
