"""What the page says of a decision: the truth about where it went, whoever answered in the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gateway.dashboard.shown import is_home, place, shown
from gateway.dashboard.texts import Texts
from gateway.db.attempts import AttemptRow
from gateway.db.decisions import DecisionRecord
from policies.load import load_pack
from tests.gateway.house import RULES, make_settings

if TYPE_CHECKING:
    from pathlib import Path

    from policies.pack import Pack

AT = datetime(2026, 12, 1, 9, 5, tzinfo=UTC)
EN, PT = Texts("en"), Texts("pt")
ZONES = {
    "device": {"clearance": "secret", "addresses": "loopback"},
    "lan": {"clearance": "secret", "addresses": "private"},
    "both": {"clearance": "secret", "addresses": ["loopback", "private"]},
    "cluster": {"clearance": "private", "addresses": ["10.20.0.0/16"]},
    "hosted": {"clearance": "internal", "addresses": "public"},
    "anywhere": {"clearance": "internal", "addresses": "any"},
}
RECORD = DecisionRecord(
    id="dec_1",
    at=AT,
    request_id="req_1",
    principal="ana",
    asked_model="auto",
    collections=("papers",),
    label="internal",
    raised_by=("typed text: internal",),
    rule="all else",
    action="route",
    zones=("device", "hosted"),
    policy_version="abc",
    stream=True,
    status=200,
    zone="device",
    deployment="quotes",
)
ATTEMPT = AttemptRow(
    id="att_1",
    decision_id="dec_1",
    request_id="req_1",
    ordinal=1,
    principal="ana",
    deployment="quotes",
    model="quotes",
    upstream_model="quotes",
    zone="device",
    owner="boot_1",
    state="settled",
    held_nano_usd=0,
    cost_nano_usd=0,
    currency="USD",
    fresh=0,
    cached=0,
    output=0,
    reasoning=0,
    estimated=False,
    outcome="ok",
    error_code=None,
    started_at=AT,
    first_byte_ms=1,
    total_ms=2,
    settled_at=AT,
    bytes_out=3,
    answered_model=None,
)
HOSTED = replace(ATTEMPT, id="att_2", zone="hosted", deployment="moonshot", cost_nano_usd=1500)


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return load_pack(
        make_settings(tmp_path, {**RULES, "rules": [{"name": "all", "route": {}}], "zones": ZONES}, ()).pack
    )


@pytest.mark.parametrize(
    ("zone", "home", "words"),
    [
        ("device", True, "este equipamento"),
        ("lan", True, "a rede da casa"),
        ("both", True, "a rede da casa"),
        ("cluster", False, "o cluster"),
        ("hosted", False, "um serviço externo"),
        ("anywhere", False, "anywhere"),
        ("gone from the pack", False, "gone from the pack"),
    ],
)
def test_only_the_house_s_own_addresses_are_home(pack: Pack, zone: str, home: bool, words: str) -> None:
    assert is_home(zone, pack) is home
    assert place(zone, pack, PT) == words


def test_an_answer_of_this_machine_did_not_leave_the_house(pack: Pack) -> None:
    told = shown(RECORD, [ATTEMPT], pack, EN)

    assert (told.fate, told.went_to, told.answered_at, told.problem) == ("home", "", "this machine", None)
    assert told.asked == "auto@papers"


def test_what_was_tried_outside_has_left_the_house_though_it_was_answered_at_home(pack: Pack) -> None:
    failed = replace(HOSTED, outcome="failed", error_code="upstream_timeout", estimated=True)

    told = shown(RECORD, [failed, ATTEMPT], pack, EN)

    assert (told.fate, told.went_to) == ("out", "a hosted service (moonshot)")
    assert told.answered_at == "this machine"
    assert (told.nano_usd, told.estimated) == (1500, True)


@pytest.mark.parametrize("code", ["label_exceeds_clearance", "deployment_not_local"])
def test_an_attempt_that_the_guard_stopped_has_not_left(pack: Pack, code: str) -> None:
    stopped = replace(HOSTED, outcome="refused", error_code=code, cost_nano_usd=0)

    assert shown(RECORD, [stopped], pack, EN).fate == "nothing"


def test_a_refusal_sent_nothing_and_says_why(pack: Pack) -> None:
    refused = replace(RECORD, status=403, code="label_exceeds_clearance", zone=None, deployment=None)

    told = shown(refused, [], pack, PT)

    assert (told.fate, told.problem) == ("nothing", "Isto não pode ir para lá")


@pytest.mark.parametrize(("status", "words"), [(499, "interrupted by the reader"), (None, "being answered")])
def test_an_answer_that_did_not_end_is_told_so(pack: Pack, status: int | None, words: str) -> None:
    assert shown(replace(RECORD, status=status), [HOSTED], pack, EN).problem == words


def test_where_it_went_is_not_said_twice(pack: Pack) -> None:
    answered = replace(RECORD, zone="hosted", deployment="moonshot")

    assert shown(answered, [HOSTED, replace(HOSTED, id="att_3")], pack, EN).answered_at is None


def test_reasons_are_told_once_in_the_reader_s_language(pack: Pack) -> None:
    raised = (
        "passage 1 of papers: private",
        "passage 2 of papers: private",
        "cpf in messages[0].content: private",
        "unscannable part in messages[3]: private",
        "messages[0], seen before: private",
        "something new: private",
    )

    told = shown(replace(RECORD, raised_by=raised), [], pack, PT)

    assert told.reasons.split(", ") == [
        "trechos de papers",
        "CPF no texto",
        "uma parte que não pode ser examinada",
        "um texto que já contava assim",
        "something new",
    ]
