"""Answers that are kept are given again to the very same request of the very same caller, and to nobody else."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis.asyncio import Redis

from gateway.catalog.load import Catalog
from gateway.catalog.packs import Loaded
from gateway.chat.admit import Admission, Call
from gateway.chat.formats import COMPLETIONS
from gateway.chat.keeping import Keeping, told
from gateway.chat.request import read
from gateway.db.decisions import DecisionRecord
from gateway.ledger.attempt import Attempt
from gateway.ledger.entries import Account, Hold
from gateway.principals import Principal
from gateway.response_cache import LARGEST, Copy, Kept, ResponseCache, is_on_this_machine
from gateway.settings import HOME_PACK
from gateway.wire.lanes import Usage
from policies.labels import Label, Level, Sensitivity
from policies.load import load_pack
from retrieval.client import Anchor, Passage
from tests.fakes import ESTIMATE, deployment
from tests.wire.valkey import valkey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from gateway.catalog.deployments import Deployment
    from gateway.ledger.entries import Outcome
    from policies.load import Pack

SECRET = b"s" * 32
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
BODY = b'{"model": "auto@papers", "messages": [{"role": "user", "content": "Quando vence o aluguel?"}]}'
ANA = Principal("ana", frozenset({"adults"}), collections=frozenset({"papers"}))
PASSAGE = Passage(
    "doc-1", "contrato.md", "papers", "chunk-1", "Vence no dia 5.", Label(Sensitivity(Level.PRIVATE)),
    Anchor(None, 12, "Aluguel"), 0.9, "pt",
)  # fmt: skip
KEPT = Kept(
    body=b'{"choices": [{"message": {"content": "No dia 5."}}]}',
    deployment="our-k3",
    usage=Usage(fresh=100, cached=20, output=9, reasoning=40),
    cost_nano_usd=123_456,
)
OUR_K3 = deployment("http://10.20.0.5:8000/v1", name="our-k3")


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> datetime:
        return self.time


@asynccontextmanager
async def a_cache(folder: Path) -> AsyncIterator[tuple[ResponseCache, Redis, Clock]]:
    clock = Clock()
    async with valkey(folder / "valkey.sock") as store:
        yield ResponseCache(store, SECRET, clock), store, clock


@cache
def pack() -> Pack:
    return load_pack(HOME_PACK)


def admission() -> Admission:
    request = read(BODY)
    record = DecisionRecord(
        "dec_1", NOW, "req_1", "ana", "auto", ("papers",), "private", (), None, "route", (), "v1", False
    )
    return Admission(
        call=Call(ANA, request, "req_1"),
        loaded=Loaded(pack(), Catalog(())),
        record=record,
        label=Label(Sensitivity(Level.PRIVATE)),
        prompt_tokens=100,
        route=(OUR_K3,),
        withheld=(),
        passages=(PASSAGE,),
        language="pt",
    )


def by(principal: Principal) -> Callable[[Admission], Admission]:
    return lambda of: replace(of, call=replace(of.call, principal=principal))


def reading(body: bytes) -> Callable[[Admission], Admission]:
    return lambda of: replace(of, call=replace(of.call, request=read(body)))


def completing(of: Admission) -> Admission:
    return replace(of, call=replace(of.call, request=replace(of.call.request, format=COMPLETIONS)))


OTHERS: dict[str, Callable[[Admission], Admission]] = {
    "another caller": by(replace(ANA, name="bia")),
    "another person with the same key name": by(replace(ANA, person="bia")),
    "other groups": by(replace(ANA, groups=frozenset({"children"}))),
    "other collections": by(replace(ANA, collections=frozenset({"papers", "recipes"}))),
    "another clearance": by(replace(ANA, clearance=Sensitivity(Level.SECRET))),
    "another default label": by(replace(ANA, default_label=Label(Sensitivity(Level.SECRET)))),
    "the owner": by(replace(ANA, is_admin=True)),
    "another label": lambda of: replace(of, label=Label(Sensitivity(Level.PRIVATE, frozenset({"health"})))),
    "another question": reading(BODY.replace(b"aluguel", b"seguro")),
    "another model": reading(BODY.replace(b"auto@", b"quotes@")),
    "another collection": reading(BODY.replace(b"@papers", b"@recipes")),
    "one more member": reading(BODY[:-1] + b', "temperature": 0.2}'),
    "a member of the user's own": reading(BODY[:-1] + b', "user": "x"}'),
    "a stream": reading(BODY[:-1] + b', "stream": true}'),
    "another endpoint": completing,
    "another version of the pack": lambda of: replace(
        of, loaded=replace(of.loaded, pack=replace(of.loaded.pack, version="v2"))
    ),
    "no passages": lambda of: replace(of, passages=()),
    "another text of a passage": lambda of: replace(of, passages=(replace(PASSAGE, text="Vence no dia 6."),)),
    "another label of a passage": lambda of: replace(
        of, passages=(replace(PASSAGE, label=Label(Sensitivity(Level.SECRET))),)
    ),
    "another document": lambda of: replace(of, passages=(replace(PASSAGE, document="doc-2"),)),
    "passages in another order": lambda of: replace(of, passages=(PASSAGE, PASSAGE)),
}


async def test_the_same_request_of_the_same_caller_gets_the_answer_again(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, _, _):
        await cache.put(cache.name(told(admission())), KEPT, 60)

        assert await cache.get(cache.name(told(admission()))) == KEPT


async def test_a_stream_is_kept_byte_for_byte(tmp_path: Path) -> None:
    events = b'data: {"choices": [{"delta": {"content": "\xc3\xa9\\u0000"}}]}\n\ndata: [DONE]\n\n'
    kept = replace(KEPT, body=events, model="k3-0905")
    async with a_cache(tmp_path) as (cache, _, _):
        await cache.put(b"name", kept, 60)

        assert await cache.get(b"name") == kept


@pytest.mark.parametrize("changed", OTHERS.values(), ids=OTHERS.keys())
async def test_whatever_differs_is_another_request(changed: Callable[[Admission], Admission], tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, _, _):
        await cache.put(cache.name(told(admission())), KEPT, 60)

        assert await cache.get(cache.name(told(changed(admission())))) is None


def test_what_changes_no_answer_changes_no_name() -> None:
    cache = ResponseCache(Redis.from_url("unix:///nowhere.sock"), SECRET, Clock())
    again = replace(
        admission(), call=replace(admission().call, request_id="req_2"), passages=(replace(PASSAGE, score=0.8),)
    )

    assert cache.name(told(again)) == cache.name(told(admission()))
    assert cache.name(told(admission())) != ResponseCache(cache._store, b"t" * 32, Clock()).name(told(admission()))


async def test_the_store_learns_no_word_of_a_request(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        await cache.put(cache.name(told(admission())), KEPT, 60)

        (name,) = await store.keys()

        assert isinstance(name, bytes)
        assert name.startswith(b"soleira:answer:")
        assert len(name) == len(b"soleira:answer:") + 64
        assert b"ana" not in name.removeprefix(b"soleira:answer:")
        assert 0 < await store.ttl(name) <= 60


async def test_an_answer_that_somebody_changed_in_the_store_is_none(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        await cache.put(b"one", KEPT, 60)
        sealed = await store.get(b"one")
        assert isinstance(sealed, bytes)

        for forged in (
            sealed.replace(b"dia 5", b"dia 9"), sealed[:-1], sealed + b"x", bytes(32) + sealed[32:], b"", b"x" * 40
        ):  # fmt: skip
            await store.set(b"one", forged)
            assert await cache.get(b"one") is None


async def test_an_answer_moved_to_another_request_is_none(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        await cache.put(b"one", KEPT, 60)

        sealed = await store.get(b"one")
        assert sealed is not None
        await store.set(b"two", sealed)

        assert await cache.get(b"two") is None


async def test_an_answer_of_another_house_is_none(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, clock):
        await ResponseCache(store, b"t" * 32, clock).put(b"one", KEPT, 60)

        assert await cache.get(b"one") is None


async def test_an_answer_runs_out_even_if_the_store_keeps_it(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, clock):
        await cache.put(b"one", KEPT, 60)
        await store.persist(b"one")

        clock.time += timedelta(seconds=59)
        before = await cache.get(b"one")
        clock.time += timedelta(seconds=1)

        assert (before, await cache.get(b"one")) == (KEPT, None)


async def test_an_answer_that_is_too_large_is_not_kept(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        await cache.put(b"one", replace(KEPT, body=b"x" * (LARGEST + 1)), 60)
        await cache.put(b"two", replace(KEPT, body=b"x" * LARGEST), 60)

        assert await store.keys() == [b"two"]


async def test_kept_answers_leave_room_for_what_limits_count(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        used = int((await store.info("memory"))["used_memory"])
        await store.config_set("maxmemory", used + 8 * LARGEST)
        await store.set(b"a count", b"1", ex=3600)

        for number in range(20):
            await cache.put(b"%d" % number, replace(KEPT, body=b"x" * LARGEST), 60)
        kept = [number for number in range(20) if await cache.get(b"%d" % number)]

        assert 0 < len(kept) < 20
        assert kept == list(range(len(kept)))
        assert await store.get(b"a count") == b"1"
        assert (await store.info("stats"))["evicted_keys"] == 0

        await store.delete(b"0", b"1", b"2")
        await cache.put(b"after", KEPT, 60)
        assert await cache.get(b"after")


async def test_without_a_store_every_request_is_a_new_one(tmp_path: Path) -> None:
    async with Redis.from_url(f"unix://{tmp_path}/nowhere.sock") as store:
        cache = ResponseCache(store, SECRET, Clock())

        await cache.put(b"one", KEPT, 60)

        assert await cache.get(b"one") is None


async def test_a_store_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await over.wait()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_unix_server(say_nothing, tmp_path / "s.sock") as server:
        async with Redis.from_url(f"unix://{tmp_path}/s.sock") as store:
            found = await asyncio.wait_for(ResponseCache(store, SECRET, Clock()).get(b"one"), 20)
        over.set()
        server.close()

    assert (found, asked.is_set()) == (None, True)


async def test_nothing_is_kept_on_another_machine() -> None:
    store = Redis.from_url("redis://10.20.0.9:6379")
    cache = ResponseCache(store, SECRET, Clock())

    await cache.put(b"one", KEPT, 60)  # would try to connect, which no test may

    assert await cache.get(b"one") is None
    assert not cache.is_here


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("unix:///run/valkey.sock", True),
        ("redis://localhost:6379/1", True),
        ("redis://127.0.0.1", True),
        ("redis://[::1]:6379", True),
        ("rediss://store.example:6379", False),
        ("redis://192.168.1.20", False),
        ("redis://valkey", False),
    ],
)
def test_which_stores_are_on_this_machine(url: str, here: bool) -> None:
    assert is_on_this_machine(Redis.from_url(url)) is here


def test_a_copy_is_the_whole_answer_or_none() -> None:
    copy, empty, large = Copy(most=10), Copy(), Copy(most=10)
    for part in (b"01234", b"56789"):
        copy.add(part)
        large.add(part)
    large.add(b"x")

    assert (copy.body, empty.body, large.body) == (b"0123456789", None, None)


def caching(of: Admission) -> Admission:
    """The admission under a pack that keeps answers for a minute."""
    pack = of.loaded.pack
    return replace(of, loaded=replace(of.loaded, pack=replace(pack, budgets=replace(pack.budgets, cache_seconds=60))))


def ended(outcome: Outcome = "ok", usage: Usage = KEPT.usage) -> Attempt:
    hold = Hold("att_1", "dec_1", "req_1", 1, Account("ana"), OUR_K3, ESTIMATE, NOW)
    attempt = Attempt(hold)
    attempt.usage, attempt.outcome = usage, outcome
    return attempt


async def given_again(
    cache: ResponseCache, first: Admission, then: Admission, record: Attempt
) -> tuple[Deployment, Kept] | None:
    """What the second request finds after the first was answered."""
    keeping = Keeping(cache, first)
    keeping.see(b'{"choices": ')
    keeping.see(b"[]}")
    await keeping.keep(record)
    return await Keeping(cache, then).found()


async def test_an_answer_is_found_again_with_who_gave_it_and_what_it_cost(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, _, _):
        found = await given_again(cache, caching(admission()), caching(admission()), ended())

    assert found is not None
    assert found[0] == OUR_K3
    assert found[1] == Kept(b'{"choices": []}', "our-k3", KEPT.usage, ended().cost_nano_usd)


async def test_only_what_was_answered_whole_and_counted_is_kept(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        for record in (ended("aborted"), ended("failed"), ended(usage=replace(KEPT.usage, estimated=True))):
            assert await given_again(cache, caching(admission()), caching(admission()), record) is None

        assert await store.keys() == []


async def test_the_answer_of_a_deployment_that_may_not_be_asked_any_more_is_not_given(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, _, _):
        elsewhere = replace(caching(admission()), route=(deployment("http://10.20.0.6/v1", name="other"),))

        assert await given_again(cache, caching(admission()), elsewhere, ended()) is None


async def test_a_client_that_declines_the_cache_is_not_in_it(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        declined = caching(admission())
        declined = replace(declined, call=replace(declined.call, declines_cache=True))

        assert await given_again(cache, declined, declined, ended()) is None
        assert await given_again(cache, caching(admission()), declined, ended()) is None
        assert len(await store.keys()) == 1


async def test_a_pack_keeps_no_answers_unless_it_says_so(tmp_path: Path) -> None:
    async with a_cache(tmp_path) as (cache, store, _):
        assert pack().budgets.cache_seconds is None
        assert await given_again(cache, admission(), admission(), ended()) is None
        assert await store.keys() == []
