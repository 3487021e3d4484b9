"""What people type for a span, a grouping or a filter is read as they mean it, or refused with what to write."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.errors import BadRequest
from gateway.ledger.spans import Question, filters, grouping, span
from gateway.ledger.usage import GROUPINGS, Span

SAO_PAULO = ZoneInfo("America/Sao_Paulo")


@pytest.mark.parametrize(
    ("start", "end", "begins", "ends"),
    [
        ("2026-11-01", "2026-11-30", datetime(2026, 11, 1, 3, tzinfo=UTC), datetime(2026, 12, 1, 3, tzinfo=UTC)),
        ("2026-11-01", "2026-11-01", datetime(2026, 11, 1, 3, tzinfo=UTC), datetime(2026, 11, 2, 3, tzinfo=UTC)),
        ("2026-11", "2026-12", datetime(2026, 11, 1, 3, tzinfo=UTC), datetime(2027, 1, 1, 3, tzinfo=UTC)),
        ("2026-11-01T23:00", "2026-11-01", datetime(2026, 11, 2, 2, tzinfo=UTC), datetime(2026, 11, 2, 3, tzinfo=UTC)),
        ("2026-11-01T13:30", "", datetime(2026, 11, 1, 16, 30, tzinfo=UTC), None),
        ("", "2026-11-01T13:30:01.5Z", None, datetime(2026, 11, 1, 13, 30, 1, 500_000, tzinfo=UTC)),
        ("2026-11-01T13:30:00+01:00", "", datetime(2026, 11, 1, 12, 30, tzinfo=UTC), None),
        ("2026-11-01T13:30:00 01:00", "", datetime(2026, 11, 1, 12, 30, tzinfo=UTC), None),  # a plus in a URL
        ("2026-11-01 13:30", "", datetime(2026, 11, 1, 16, 30, tzinfo=UTC), None),
        ("", "", None, None),
    ],
)
def test_a_span_is_read_by_the_owners_calendar(
    start: str, end: str, begins: datetime | None, ends: datetime | None
) -> None:
    assert span(start, end, SAO_PAULO) == Span.open(begins, ends, SAO_PAULO)


@pytest.mark.parametrize(
    "text",
    [
        "yesterday", "2026-13", "2026-02-30", "30/11/2026", "2026-11-01T25:00",
        "9999-12-31", "9999-12", "9999-12-31T23:59", "0001-01-01", "1969-12-31", "0000-01",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadRequest, match=r"is no time: write a day \(2026-11-30\), a month \(2026-11\)") as refused:
        span(text, text, SAO_PAULO)

    assert refused.value.param in ("from", "to")


@pytest.mark.parametrize("start", ["2026-11-30", "2026-11-02", "2026-12", "2026-11-02T00:00:01"])
def test_a_span_that_ends_before_it_starts_is_refused_in_its_own_words(start: str) -> None:
    with pytest.raises(BadRequest, match=rf"ends \(2026-11-01\) before it starts \({start}\)"):
        span(start, "2026-11-01", UTC)


def test_groupings_are_those_of_reports() -> None:
    assert [grouping(name) for name in GROUPINGS] == list(GROUPINGS)
    assert (grouping(""), grouping("principal")) == (None, "key")


def test_an_unknown_grouping_lists_the_known_ones() -> None:
    with pytest.raises(BadRequest) as refused:
        grouping("modle")

    assert str(refused.value) == (
        "'modle' is nothing to group by: use one of key, person, model, zone, collection, deployment, tag, label, "
        "hour, day, week, month; did you mean 'model'?"
    )


def test_filters_are_words() -> None:
    assert filters(["zone=hosted", "zone=lan", "tag="]) == {"zone": ["hosted", "lan"], "tag": [""]}
    for word in ("zone", "colour=red", "=x"):
        with pytest.raises(BadRequest, match="write zone=hosted, or so with key, person"):
            filters([word])


def test_a_question_of_nothing_asks_for_everything() -> None:
    assert Question().span(UTC) == Span.open()
    assert Question().grouping is None
