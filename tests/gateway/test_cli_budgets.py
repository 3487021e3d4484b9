"""`soleira budgets` says what is spent, held and allowed, alone and beside a running house."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from gateway.catalog.load import load
from gateway.cli import app
from gateway.db import keys
from gateway.db.engine import open_engine
from gateway.ledger.attempt import attempt
from gateway.ledger.budgets import windows
from gateway.ledger.entries import Account
from gateway.ledger.writer import open_writer
from policies.load import load_pack
from tests.gateway.house import RULES, deployment, make_settings
from tests.gateway.ledger.samples import BOOT, ESTIMATE, a_hold

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.settings import Settings

BUDGETS = {
    "time_zone": "America/Sao_Paulo",
    "budgets": [
        {"name": "us all", "of": "house", "limit": {"usd": 1, "tokens": 9000}, "per": "month"},
        {"name": "each group", "of": {"group": "any"}, "limit": {"usd": 2}, "per": "day", "hard": False},
    ],
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = make_settings(tmp_path, RULES, [deployment("m", "http://127.0.0.1:9/v1")])
    (found.pack / "budgets.yaml").write_text(json.dumps(BUDGETS))
    return found


def soleira(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


async def spend(settings: Settings) -> None:
    """One call that is over and one under way, both of ana's."""
    now, pack = datetime.now(UTC), load_pack(settings.pack)
    called = next(found for found in load(pack, {}, None, None).deployments if found.name == "m")
    account = Account("ana", groups=frozenset({"adults"}))
    held = windows(pack, (), account, called, now)
    over, under_way = (
        replace(a_hold(f"att-{number}", called), account=account, windows=held, started_at=now) for number in "12"
    )
    async with open_writer(settings.ledger_path, BOOT) as writer:
        async with attempt(writer, over) as record:
            record.usage = ESTIMATE
        await writer.hold(under_way)


async def create(settings: Settings) -> None:
    engine = open_engine(settings.ledger_url)
    await keys.create(engine, keys.KeySpec("rui", allowance=keys.Allowance(budget_tokens="5000/week")))
    await engine.dispose()


def test_budgets_show_what_is_spent_held_and_allowed(settings: Settings) -> None:
    asyncio.run(spend(settings))
    asyncio.run(create(settings))

    shown = soleira("budgets", "--data", settings.data).stdout.splitlines()
    listed = json.loads(soleira("budgets", "--json", "--data", settings.data).stdout)

    assert shown[0].startswith(
        "us all: house, 33% of this month; US$ 0.0105 spent and 0.0105 held of 1; "
        "1500 tokens used and 1500 held of 9000; until "
    )
    assert shown[0].endswith("00:00 America/Sao_Paulo")
    assert shown[1].startswith(
        "each group: group adults, 1% of this day; US$ 0.0105 spent and 0.0105 held of 2; until "
    )
    assert shown[1].endswith(", only warns")
    assert shown[2].startswith("rui: tokens of its own: key rui, 0% of this week; 0 tokens used and 0 held of 5000")
    assert [(each["of"], each["subject"], each["spent_nano_usd"], each["limit_tokens"]) for each in listed] == [
        ("house", "house", 10_500_000, 9000),
        ("group", "adults", 10_500_000, None),
        ("key", "rui", 0, 5000),
    ]


def test_without_a_budget_it_says_how_to_set_one(settings: Settings) -> None:
    (settings.pack / "budgets.yaml").unlink()

    assert "budgets.yaml sets them" in soleira("budgets", "--data", settings.data).stdout
