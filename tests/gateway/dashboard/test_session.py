"""Sessions, their forms' tokens, and the throttle at the door."""

from __future__ import annotations

import pytest

from gateway.dashboard.session import LIFETIME_SECONDS, Sessions
from gateway.dashboard.throttle import SECONDS, TRIES, Throttle

SECRET = b"s" * 32


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(SECRET, "digest-of-the-key")


def test_a_cookie_brings_its_session_back(sessions: Sessions) -> None:
    session = sessions.start(signed_in=True)

    assert sessions.read(sessions.cookie(session)) == session


@pytest.mark.parametrize("other", [Sessions(SECRET, "digest-of-another-key"), Sessions(b"t" * 32, "digest-of-the-key")])
def test_another_admin_key_or_secret_ends_every_session(sessions: Sessions, other: Sessions) -> None:
    session = sessions.start(signed_in=True)

    assert other.read(sessions.cookie(session)) is None
    assert not other.owns(session, sessions.token(session))


@pytest.mark.parametrize("cookie", [None, "", "nonsense", "WyJhIix0cnVlXQ.a.b"])
def test_a_forged_cookie_is_no_session(sessions: Sessions, cookie: str | None) -> None:
    assert sessions.read(cookie) is None


def test_a_cookie_with_one_letter_changed_is_no_session(sessions: Sessions) -> None:
    cookie = sessions.cookie(sessions.start(signed_in=False))
    changed = ("A" if cookie[0] != "A" else "B") + cookie[1:]

    assert sessions.read(changed) is None


def test_a_session_ends_after_twelve_hours() -> None:
    now = [1000.0]
    sessions = Sessions(SECRET, "digest-of-the-key", lambda: now[0])
    session = sessions.start(signed_in=True)

    now[0] += LIFETIME_SECONDS - 1
    assert sessions.read(sessions.cookie(session)) == session
    now[0] += 1
    assert sessions.read(sessions.cookie(session)) is None


def test_a_session_that_signed_out_does_not_come_back(sessions: Sessions) -> None:
    session, other = sessions.start(signed_in=True), sessions.start(signed_in=True)
    sessions.end(session)

    assert sessions.read(sessions.cookie(session)) is None
    assert sessions.read(sessions.cookie(other)) == other


def test_a_token_belongs_to_one_session(sessions: Sessions) -> None:
    session, other = sessions.start(signed_in=True), sessions.start(signed_in=True)

    assert sessions.owns(session, sessions.token(session))
    assert not sessions.owns(session, sessions.token(other))
    assert not sessions.owns(session, "")
    assert not sessions.owns(session, "é\ud800")


def test_a_host_has_ten_tries_a_minute() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])

    assert [throttle.admits("a") for _ in range(TRIES + 1)] == [True] * TRIES + [False]
    assert throttle.admits("b")

    now[0] = SECONDS
    assert throttle.admits("a")


def test_a_successful_sign_in_clears_its_host() -> None:
    throttle = Throttle(lambda: 0.0)
    for _ in range(TRIES):
        throttle.admits("a")

    throttle.forgive("a")

    assert throttle.admits("a")


def test_the_throttle_forgets_hosts_that_gave_up_rather_than_growing_without_end() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    crowd = [f"host-{number}" for number in range(10_000)]
    assert all(throttle.admits(host) for host in crowd)
    assert not throttle.admits("one too many")

    now[0] = SECONDS + 1

    assert throttle.admits("one too many")
