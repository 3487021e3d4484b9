"""A provider's own file against the ledger: what agrees is silent, what differs is listed with both figures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from gateway.catalog.prices import ExchangeRate, Surcharge
from gateway.errors import BadRequest
from gateway.ledger.exports.provider_files import read, said_columns
from gateway.ledger.exports.reconcile import Question, reconcile
from gateway.wire.lanes import Usage
from tests.gateway.ledger.exports.ledgers import Call, hours, priced, write
from tests.gateway.ledger.samples import K3, NOON

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from gateway.ledger.exports.reconcile import Reconciliation

CALLS = [
    Call(Usage(fresh=100, cached=20, output=7, reasoning=3)),
    Call(Usage(fresh=1, cache_write_5m=5, cache_write_1h=2, output=1), NOON + hours(1), answered_model="k3-0711"),
    Call(Usage(fresh=50, output=5), NOON + hours(24)),
    Call(Usage(fresh=9, output=9), NOON + hours(24), from_cache=True),
    Call(Usage(), NOON + hours(24), outcome="failed"),
    Call(Usage(fresh=9, output=9), on=priced(K3, "another")),
]
OPENAI = b"""\
start_time,start_time_iso,project_id,num_model_requests,model,input_tokens,output_tokens,input_cached_tokens
1793491200,2026-11-01T00:00:00+00:00,p,1,k3-0905,120,10,20
1793491200,2026-11-01T00:00:00+00:00,p,1,k3-0905,8,1,0
1793577600,2026-11-02T00:00:00+00:00,p,1,k3-0905,50,5,0
1793664000,2026-11-03T00:00:00+00:00,,,,,,
"""
_ANTHROPICS = ("no_cache", "cache_write_5m", "cache_write_1h", "cache_read")
ANTHROPIC = f"""\
\ufeffusage_date_utc,model_version,{",".join(f"usage_input_tokens_{kind}" for kind in _ANTHROPICS)},usage_output_tokens
2026-11-01,k3-0905,101,5,2,20,11
2026-11-02,k3-0905,50,0,0,0,5
""".encode()
MOONSHOT = """\
日期;模型;请求次数;prompt_tokens;completion_tokens;金额
2026/11/01;moonshotai/k3-0905;2;128;11;
20261102;k3-0905;1;50;5;
""".encode()
COSTS = b"""start_time_iso\tamount_value\tamount_currency\tline_item
2026-11-01T00:00:00+00:00\t0.000505\tusd\tk3-0905, input
2026-11-01T00:00:00+00:00\t0.0001\tusd\tk3-0905, output
2026-11-02T00:00:00+00:00\t0.000225\tusd\tk3-0905, input
"""
MOONSHOT_K3 = Question("moonshot-k3", UTC)


async def compared(ledger: Path, engine: AsyncEngine, data: bytes, question: Question = MOONSHOT_K3) -> Reconciliation:
    await write(ledger, CALLS)
    return await reconcile(engine, data, question)


@pytest.mark.parametrize("data", [OPENAI, ANTHROPIC, MOONSHOT], ids=["openai", "anthropic", "moonshot"])
async def test_files_of_every_shape_agree_with_the_same_calls(ledger: Path, engine: AsyncEngine, data: bytes) -> None:
    found = await compared(ledger, engine, data)

    assert found.differences == ()
    assert found.compared >= 2 * 3
    assert (found.start, found.end) == (date(2026, 11, 1), date(2026, 11, 2))


async def test_a_difference_names_day_model_figure_and_both_sides(ledger: Path, engine: AsyncEngine) -> None:
    found = await compared(ledger, engine, OPENAI.replace(b",120,10,", b",130,10,"))

    [difference] = found.differences
    assert difference.as_dict() == {
        "day": "2026-11-01",
        "model": "k3-0905",
        "what": "input",
        "theirs": "138",
        "ours": "128",
        "difference": "10",
        "estimated": 0,
    }


async def test_a_day_that_one_side_lacks_is_a_difference(ledger: Path, engine: AsyncEngine) -> None:
    lines = OPENAI.splitlines(keepends=True)

    found = await compared(
        ledger, engine, b"".join(lines[:3]), replace(MOONSHOT_K3, start=date(2026, 11, 1), end=date(2026, 11, 2))
    )

    assert {(each.day.day, each.what, each.theirs, each.ours) for each in found.differences} >= {
        (2, "requests", 0, 1),
        (2, "input", 0, 50),
    }


async def test_costs_agree_within_the_files_own_rounding_and_no_further(ledger: Path, engine: AsyncEngine) -> None:
    whole = [sum(call.nano_usd for call in CALLS[:2]), CALLS[2].nano_usd]
    exact = COSTS.replace(b"0.000505", f"{Decimal(whole[0]).scaleb(-9) - Decimal('0.0001'):f}".encode())

    agreed = await compared(ledger, engine, exact)
    differs = await reconcile(engine, exact.replace(b"0.000225", b"0.000235"), MOONSHOT_K3)

    assert agreed.differences == ()
    assert [(each.what, each.theirs, each.ours) for each in differs.differences] == [
        ("cost", Decimal("0.000235"), Decimal("0.000225"))
    ]
    assert "counts no tokens" in agreed.notes[0]


async def test_taxes_are_not_the_providers_and_another_currency_goes_by_the_rows_rate(
    ledger: Path, engine: AsyncEngine
) -> None:
    reais = replace(
        K3,
        currency="BRL",
        exchange_rate=ExchangeRate(Decimal("5.00"), date(2026, 11, 1)),
        surcharges=(Surcharge("IOF", Decimal("3.5")),),
    )
    await write(ledger, [Call(Usage(fresh=1_000_000), on=priced(reais))])

    found = await reconcile(
        engine, b"date;model;amount\n2026-11-01;k3-0905;R$ 3,00\n", replace(MOONSHOT_K3, currency="BRL")
    )
    other = await reconcile(engine, b"date,model,amount\n2026-11-01,k3-0905,3\n", replace(MOONSHOT_K3, currency="EUR"))

    assert found.differences == ()
    assert "costs were not compared" in other.notes[0]


async def test_the_files_days_may_be_another_zones(ledger: Path, engine: AsyncEngine) -> None:
    late = [Call(Usage(fresh=3), NOON + hours(5))]  # 17:00 UTC: already the second in Shanghai
    await write(ledger, late)

    found = await reconcile(
        engine, b"date,model,prompt_tokens\n2026-11-02,k3-0905,3\n", Question("moonshot-k3", ZoneInfo("Asia/Shanghai"))
    )

    assert found.differences == ()


async def test_columns_may_be_said(ledger: Path, engine: AsyncEngine) -> None:
    data = b'When,What,Tok in,Tok out\n2026-11-02,k3-0905,"50",5\n'

    found = await compared(
        ledger, engine, data, replace(MOONSHOT_K3, said=said_columns("day=When,model=What,input=Tok in,output=Tok out"))
    )

    assert found.differences == ()
    assert found.columns == {"day": "When", "model": "What", "input": "Tok in", "output": "Tok out"}


async def test_a_file_without_models_is_compared_by_day(ledger: Path, engine: AsyncEngine) -> None:
    found = await compared(ledger, engine, b"date,requests\n2026-11-01,2\n2026-11-02,1\n")

    assert found.differences == ()
    assert any("names no model" in note for note in found.notes)


async def test_estimates_are_named_beside_a_difference(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, [Call(Usage(fresh=10, estimated=True))])

    found = await reconcile(engine, b"date,model,input_tokens\n2026-11-01,k3-0905,11\n", MOONSHOT_K3)

    assert [each.estimated for each in found.differences] == [1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,b\n1,2\n", "no column for the day is known in: a, b; name them with --columns"),
        (b"date,model\n2026-11-01,k3\n", "no column for a count or a cost"),
        (b"date,input_tokens\nyesterday,3\n", "line 2: 'yesterday' is no day"),
        (b"date,input_tokens\n2026-11-31,3\n", "line 2: '2026-11-31' is no day"),
        (b"date,input_tokens\n2026-11-01,3.5\n", "line 2: '3.5' is no count of input"),
        (b"date,cost\n2026-11-01,much\n", "line 2: 'much' is no amount of money"),
        (b"date,cost\n2026-11-01,NaN\n", "line 2: 'NaN' is no amount of money"),
        (b"date,cost\n2026-11-01,1e400000\n", "line 2: '1e400000' is no amount of money"),
        (b"date,input_tokens\n9999-12-31,3\n", "line 2: '9999-12-31' is no day"),
        (b"date,input_tokens\n99999999999,3\n", "line 2: '99999999999' is no day"),
        (b"date,cost,currency\n2026-11-01,1,USD\n2026-11-01,1,CNY\n", "amounts in CNY and USD"),
        (b"date,input_tokens\n", "says nothing of any day"),
        (b"\xff\xfe\xff", "is no UTF-8 text"),
        (b"", "no column for the day"),
    ],
)
async def test_what_cannot_be_read_is_said_with_its_line(engine: AsyncEngine, data: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        await reconcile(engine, data, MOONSHOT_K3)


@pytest.mark.parametrize("text", ["day", "colour=Date", "day="])
def test_a_column_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="says no column"):
        said_columns(text)


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadRequest, match="no column 'Day': it has date, input_tokens"):
        read(b"date,input_tokens\n", {"day": "Day"})


async def test_models_of_other_numbers_are_other_models_and_versions_are_not(ledger: Path, engine: AsyncEngine) -> None:
    await write(ledger, [Call(Usage(fresh=1), answered_model=name) for name in ("gpt-4", "gpt-5", "gpt-5-2026-08-07")])

    data = b"date,model,input_tokens\n2026-11-01,gpt-4-0613,1\n2026-11-01,openai/gpt-5,2\n"

    assert (await reconcile(engine, data, MOONSHOT_K3)).differences == ()


def test_input_tokens_beside_cache_reads_are_anthropics_which_leave_those_out() -> None:
    file = read(b"date,input_tokens,cache_read_input_tokens\n2026-11-01,3,4\n", {})

    assert file.columns == {"day": "date", "cached": "cache_read_input_tokens", "uncached": "input_tokens"}


@pytest.mark.parametrize(
    ("text", "count"), [("1,234", 1234), ("1 234", 1234), ("12.0", 12), ("1\u202f234", 1234), ("0", 0)]
)
def test_counts_may_have_signs_between_thousands(text: str, count: int) -> None:
    [line] = read(f'date,input_tokens\n2026-11-01,"{text}"\n'.encode(), {}).lines

    assert line.counts == {"input": count}
