"""The accelerators and machines that come with Soleira: bytes that drivers report, bandwidth, power, rent."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from gateway.catalog.hardware import Gpu, find_gpu, gpus, oldest, read_hardware
from gateway.catalog.sheets import bytes_of
from policies.load import PackError

HOURS = 730

SHEET = """\
sources:
  sheet: {source: A data sheet, as_of: 2026-01-01}
  index: {source: An index, as_of: 2025-06-01}
gpus:
  card:
    title: A card
    vendor: Somebody
    architecture: new
    label: 80 GB
    bandwidth: 2 TB/s
    said: sheet
    rents:
      index: {per_gpu_hour: 1.50, contract: on demand, said: index}
"""


def problem(sheet: str) -> str:
    with pytest.raises(PackError) as caught:
        read_hardware("hardware.yaml", sheet.encode())
    return str(caught.value)


def every_gpu() -> list[Gpu]:
    return list(gpus().values())


def test_the_accelerators_that_are_asked_for_are_there() -> None:
    wanted = {
        "rtx4090", "rtx5090", "rtx6000-ada", "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x",
        "mi350x", "mi355x", "mi400", "mac-studio-512", "mac-studio-128", "nas",
    }  # fmt: skip

    assert wanted <= set(gpus())
    assert any(gpu.kind == "cpu" for gpu in gpus().values())


def test_bytes_are_those_the_driver_reports_not_those_on_the_box() -> None:
    h100, b200, b300 = find_gpu("h100"), find_gpu("b200"), find_gpu("b300")

    assert h100.usable_bytes == int(Fraction("79.18") * 2**30)
    assert (b200.label_bytes, b200.usable_bytes) == (192 * 10**9, 180 * 10**9)
    assert b300.usable_bytes == int(Fraction("268.2") * 2**30)


def test_where_no_driver_is_known_the_label_counts() -> None:
    mi350x = find_gpu("mi350x")

    assert mi350x.driver_bytes is None
    assert mi350x.usable_bytes == 288 * 10**9


def test_what_is_announced_without_figures_is_said_to_be_unknown() -> None:
    mi400 = find_gpu("MI400")

    assert not mi400.is_known
    assert (mi400.usable_bytes, mi400.bytes_per_second, mi400.rents) == (0, None, ())


def test_a_month_of_8_b300_costs_six_times_as_much_here_as_there() -> None:
    b300 = find_gpu("b300")

    month = {rent.name: rent.per_gpu_hour * 8 * HOURS for rent in b300.rents}

    assert {name: float(usd) for name, usd in month.items()} == {
        "flatkey": 42_865.60,
        "digitalocean-low": 21_900.00,
        "digitalocean-high": 36_500.00,
        "aws-capacity-block": 81_993.60,
        "hyperscaler": 13_665.60,
        "neocloud": 16_398.72,
        "three-years": 20_323.20,
    }


def test_8_h100_at_digitalocean_cost_2392_an_hour() -> None:
    rents = {rent.name: rent.per_gpu_hour for rent in find_gpu("h100").rents}

    assert rents["digitalocean"] * 8 == Fraction("23.92")


def test_an_unknown_accelerator_says_which_was_probably_meant() -> None:
    with pytest.raises(LookupError, match=r"'gb-300' is not in the catalog; did you mean 'gb300'\?"):
        find_gpu("gb-300")


@pytest.mark.parametrize("gpu", [gpu for gpu in every_gpu() if gpu.kind == "unified"], ids=lambda gpu: gpu.name)
def test_of_one_memory_for_both_three_quarters_count_and_not_the_label(gpu: Gpu) -> None:
    assert gpu.usable_bytes == gpu.label_bytes * 3 // 4
    assert "recommendedMaxWorkingSetSize" in gpu.usable_said.source


def test_one_memory_for_both_is_not_in_the_catalog_without_what_the_system_leaves_of_it() -> None:
    assert "keeps a part" in problem(SHEET.replace("    vendor: Somebody", "    kind: unified\n    vendor: Somebody"))


def test_the_source_of_a_single_figure_comes_before_that_of_the_rest() -> None:
    b300 = find_gpu("b300")

    assert "vLLM recipes" in b300.figure("driver_bytes").source
    assert "InferenceX-app" in b300.figure("bytes_per_second").source


@pytest.mark.parametrize("gpu", every_gpu(), ids=lambda gpu: gpu.name)
def test_every_figure_has_a_source_and_a_day(gpu: Gpu) -> None:
    told = [gpu.said, *gpu.figures.values(), *(rent.said for rent in gpu.rents)]

    assert all(said.source and date(2020, 1, 1) <= said.as_of <= date(2026, 12, 31) for said in told)
    assert set(gpu.figures) <= set(Gpu.__dataclass_fields__)


@pytest.mark.parametrize("gpu", every_gpu(), ids=lambda gpu: gpu.name)
def test_figures_are_of_a_size_that_such_machines_have(gpu: Gpu) -> None:
    assert gpu.is_known == (gpu.usable_bytes > 0)
    least = 0.7 if gpu.kind == "unified" else 0.85
    assert least < gpu.usable_bytes / gpu.label_bytes < 1.1 if gpu.label_bytes else not gpu.is_known
    assert gpu.bytes_per_second is None or 10**11 < gpu.bytes_per_second < 10**13


def test_the_oldest_figure_of_an_accelerator_is_told() -> None:
    card = read_hardware("hardware.yaml", SHEET.encode()).find("card")

    assert oldest(card) == date(2025, 6, 1)


@pytest.mark.parametrize(
    ("written", "size"),
    [("288 GB", 288 * 10**9), ("268.2GiB", 287_977_557_196), ("1.5 tb", 1_500_000_000_000), ("512 MiB", 2**29)],
)
def test_sizes_are_read_as_people_write_them(written: str, size: int) -> None:
    assert bytes_of(written) == size


@pytest.mark.parametrize("written", ["288", "GB", "-1 GB", "1 GBit", "1e3 GB", ""])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"such as 288 GB or 268\.2 GiB"):
        bytes_of(written)


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        ("label: 80 GB", "label: 80", "hardware.yaml:9: gpus.card.label: should be a size with its unit"),
        ("2 TB/s", "2 TB", "hardware.yaml:10: gpus.card.bandwidth: should be bytes of a second, such as 3.35 TB/s"),
        ("bandwidth", "bandwith", "is unknown; did you mean 'bandwidth'?"),
        ("    label: 80 GB\n", "", "should have a label, or say `is_known: false`"),
        ("1.50", "-1.50", "should be a number such as 4.25"),
        ("said: index", "said: idnex", "'idnex' is no key of `sources`; did you mean 'index'?"),
        ("said: sheet", "said: sheet\n    usd: {from: 2, to: 1}", "from the lower price to the higher one"),
        ("said: sheet", "said: sheet\n    figures: {kw: sheet}", "hardware.yaml:12: gpus.card.figures.kw"),
    ],
)
def test_a_sheet_that_is_wrong_says_where_and_why(written: str, instead: str, says: str) -> None:
    assert says in problem(SHEET.replace(written, instead))
