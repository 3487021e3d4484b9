"""A stream of events is the same wherever the network cuts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import UpstreamCut
from gateway.wire.sse import MAX_EVENT_BYTES, Event, Events

WILD = (
    ': PROCESSING\n\ndata: {"a": "é 你好 👩‍👩‍👧 \u2028 \u0085"}\n\n: glued\nevent: ping\nid: 7\nretry: 10\n'
    "data:{\ndata: }\n\n\n\ndata\n\ndata: [DONE]\n\n"
).encode()
SOUP = st.lists(
    st.sampled_from([b"data: x", b"data:y", b": c", b"event: e", b"\n", b"\r\n", b"\r", b"data: \xc3\xa9"]), max_size=30
).map(b"".join)


def fed(pieces: list[bytes]) -> tuple[list[Event], bytes]:
    parser = Events()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events, parser.rest()


def data_of(pieces: list[bytes]) -> list[bytes]:
    return [event.data for event in fed(pieces)[0] if event.data is not None]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_and_every_kind_of_line_is_understood(line_end: bytes) -> None:
    whole = WILD.replace(b"\n", line_end)

    assert data_of([whole]) == ['{"a": "é 你好 👩‍👩‍👧 \u2028 \u0085"}'.encode(), b"{\n}", b"", b"[DONE]"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_one_byte_a_packet_equals_the_whole(line_end: bytes) -> None:
    whole = WILD.replace(b"\n", line_end)

    events, rest = fed([whole[i : i + 1] for i in range(len(whole))])

    assert [event.data for event in events if event.data is not None] == data_of([whole])
    assert b"".join(event.raw for event in events) + rest == whole
    assert rest == b""


@given(SOUP, st.data())
def test_any_cut_gives_the_same_events_and_keeps_every_byte(whole: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    events, rest = fed(pieces)

    assert b"".join(event.raw for event in events) + rest == whole
    assert data_of(pieces) == data_of([whole])


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_event_is_handed_out_with_its_last_byte(line_end: bytes) -> None:
    parser = Events()

    assert [event.data for event in parser.feed(b"data: x" + line_end * 2)] == [b"x"]


def test_kinds_are_told_apart() -> None:
    events, _ = fed([b": c\n\ndata: {}\n\ndata:  [DONE] \n\n"])

    assert [event.kind for event in events] == ["other", "data", "done"]


@pytest.mark.parametrize(
    ("tail", "data"),
    [
        (b"data: [DONE]", b"[DONE]"),
        (b"data: [DONE]\n", b"[DONE]"),
        (b'data: {"a": 1}\r\n', b'{"a": 1}'),
        (b'data: {"a": 1', None),
        (b": comment", None),
        (b"", None),
    ],
)
def test_a_tail_counts_only_if_it_is_a_whole_event(tail: bytes, data: bytes | None) -> None:
    parser = Events()
    parser.feed(b"data: {}\n\n" + tail)

    last = parser.end()

    assert (last.data if last else None) == data
    assert parser.rest() == b""


def test_a_byte_order_mark_does_not_hide_the_first_event() -> None:
    assert data_of([b"\xef\xbb\xbfdata: x\n\n"]) == [b"x"]


def test_an_endless_event_is_cut() -> None:
    parser = Events()
    parser.feed(b"data: " + b"x" * (MAX_EVENT_BYTES - 6))

    with pytest.raises(UpstreamCut):
        parser.feed(b"x")
