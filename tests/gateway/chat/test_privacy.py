"""No byte leaves for a zone below its label, whatever is asked and however it fails."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp
import openai
import pytest

from gateway.api.app import create_app
from gateway.db import decisions
from gateway.db.keys import KeySpec, create
from policies.labels import PUBLIC, Label, Level, Sensitivity
from tests.gateway.chat.conftest import asking, post
from tests.gateway.house import ADMIN_KEY, RULES, deployment, house, passage, served
from tests.wire.sink import recording_sink
from tests.wire.upstream import answer, completion, delta, fake_upstream, finish
from tests.wire.upstream import stream as streaming

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.house import House

RENT = passage("O aluguel vence no dia 10 de cada mês.")


async def test_a_private_passage_never_leaves_for_a_hosted_model_asked_by_name(tmp_path: Path, stream: bool) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)], passages=[RENT]) as home:
        refused = await post(home, asking("gpt@papers", stream=stream))

        assert (refused.status, refused.code) == (403, "label_exceeds_clearance")
        assert "family papers" in refused.headers["soleira-rule"]
        assert "auto" in refused.json["error"]["message"]
        assert "approval" in refused.json["error"]["message"]
        assert hosted.connections == 0


async def test_a_private_passage_asked_of_auto_is_answered_in_the_house(tmp_path: Path, stream: bool) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)], passages=[RENT]) as home:
        given = await post(home, asking("auto@papers", stream=stream))

        assert given.status == 200
        assert "dia 10" in given.text
        assert given.headers["soleira-zone"] == "device"
        assert given.headers["soleira-label"] == "private"
        assert [(cited["file"], cited["line"], cited["chunk"]) for cited in given.citations] == [
            ("contrato.md", 12, RENT.chunk)
        ]
        assert hosted.connections == 0


CPF = "O CPF da Ana é 529.982.247-25."
HIDDEN: list[tuple[str, dict[str, Any]]] = [
    ("message", {"messages": [{"role": "user", "content": CPF}]}),
    ("earlier message", {"messages": [{"role": "user", "content": CPF}, {"role": "user", "content": "oi"}]}),
    ("text part", {"messages": [{"role": "user", "content": [{"type": "text", "text": CPF}]}]}),
    ("name", {"messages": [{"role": "user", "content": "oi", "name": CPF}]}),
    (
        "tool arguments",
        {
            "messages": [
                {"role": "user", "content": "oi"},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": "1",
                            "type": "function",
                            "function": {"name": "f", "arguments": '{"cpf": "529.982.247-25"}'},
                        }
                    ],
                },
            ]
        },
    ),
    ("escaped tool arguments", {"metadata": {"inner": '{"cpf": "\\u0035\\u0032\\u0039.982.247-25 CPF"}'}}),
    (
        "tool result",
        {"messages": [{"role": "tool", "tool_call_id": "1", "content": CPF}, {"role": "user", "content": "oi"}]},
    ),
    ("tool definition", {"tools": [{"type": "function", "function": {"name": "f", "description": CPF}}]}),
    ("unknown field", {"x_vendor": {"deep": [{"note": CPF}]}}),
    ("key of an object", {"metadata": {CPF: "x"}}),
    ("full-width digits", {"messages": [{"role": "user", "content": "CPF ５２９.９８２.２４７-２５"}]}),
    (
        "picture",
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}
            ]
        },
    ),
    (
        "key inside an address",
        {"messages": [{"role": "user", "content": "git clone https://oauth2:glpat-aB3dE5fG7hI9jK1lM3nO@host.example"}]},
    ),
    ("CPF as an address", {"messages": [{"role": "user", "content": "a chave é 529.982.247-25@gmail.com"}]}),
    ("number", {"metadata": {"n": 52998224725}}),
    ("JSON behind words", {"messages": [{"role": "user", "content": 'Result: {"a":"nome\\n529.982.247-25"}'}]}),
    ("percent-encoded", {"metadata": {"url": "https://x.example/?cpf=529%2E982%2E247%2D25"}}),
    (
        "over two parts",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "CPF 529.982."}, {"type": "text", "text": "247-25"}],
                }
            ]
        },
    ),
    ("picture within text", {"messages": [{"role": "user", "content": "![](data:image/png;base64,iVBORw0KGgo=)"}]}),
    (
        "picture beside text",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x", "image_url": {"url": "https://x.example/a.png"}}],
                }
            ]
        },
    ),
    ("pictures of a message", {"messages": [{"role": "user", "content": "x", "images": ["iVBORw0KGgo="]}]}),
    ("attached files", {"file_ids": ["file-1"]}),
    ("long base64", {"messages": [{"role": "user", "content": "x" + "aB3d" * 120}]}),
    ("unknown part", {"messages": [{"role": "user", "content": [{"type": "hologram", "data": "AA"}]}]}),
]


@pytest.mark.parametrize("extra", [extra for _, extra in HIDDEN], ids=[name for name, _ in HIDDEN])
async def test_an_identifier_is_seen_wherever_it_stands(tmp_path: Path, extra: dict[str, Any], stream: bool) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        refused = await post(home, {**asking("gpt", "oi", stream=stream), **extra})

        assert (refused.status, refused.code) == (403, "label_exceeds_clearance")
        assert hosted.connections == 0


async def test_the_same_request_without_the_identifier_goes_out(tmp_path: Path, stream: bool) -> None:
    scripts = streaming(finish()) if stream else answer(completion())
    async with fake_upstream(scripts) as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        given = await post(home, asking("gpt", "oi", stream=stream))

        assert given.status == 200
        assert given.headers["soleira-label"] == "internal"
        assert hosted.connections == 1


async def test_the_header_raises_and_never_lowers(tmp_path: Path) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)], passages=[RENT]) as home:
        raised = await post(home, asking("gpt", "oi"), headers={"soleira-label": "private+health"})
        kept = await post(home, asking("gpt@papers"), headers={"soleira-label": "public"})
        wrong = await post(home, asking("gpt", "oi"), headers={"soleira-label": "confidential"})
        twice = await post(
            home, asking("gpt", "oi"), headers=[("soleira-label", "public"), ("soleira-label", "secret")]
        )

        assert (raised.code, raised.headers["soleira-label"]) == ("label_exceeds_clearance", "private+health")
        assert (kept.code, kept.headers["soleira-label"]) == ("label_exceeds_clearance", "private")
        assert (wrong.status, wrong.code) == (400, "invalid_request")
        assert twice.headers["soleira-label"] == "secret"
        assert hosted.connections == 0


async def test_the_default_label_of_a_key_binds_its_requests(tmp_path: Path) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        key = await create(home.runtime.engine, KeySpec("doctor", default_label=Label.of(Level.PRIVATE, "health")))

        refused = await post(home, asking("gpt", "oi"), key=key)

        assert (refused.code, refused.headers["soleira-label"]) == ("label_exceeds_clearance", "private+health")
        assert hosted.connections == 0


async def test_a_fallback_never_goes_where_the_label_may_not(tmp_path: Path, stream: bool) -> None:
    near = deployment("near", "http://127.0.0.1:9/v1", model="chat", zone="device")
    async with recording_sink() as hosted:
        async with house(tmp_path, [near, deployment("far", hosted.url, model="chat")], passages=[RENT]) as home:
            failed = await post(home, asking("chat@papers", stream=stream))

            assert (failed.status, failed.code) == (502, "upstream_unavailable")
            assert hosted.connections == 0


async def test_a_foreign_collection_is_as_if_it_were_not_there(tmp_path: Path, stream: bool) -> None:
    async with house(tmp_path, passages=[RENT]) as home:
        key = await create(home.runtime.engine, KeySpec("guest", collections=("recipes",)))

        foreign = await post(home, asking("auto@papers", stream=stream), key=key)
        missing = await post(home, asking("auto@nowhere", stream=stream), key=key)

        assert (foreign.status, foreign.code) == (404, "collection_not_found") == (missing.status, missing.code)
        assert foreign.body.replace(b"papers", b"") == missing.body.replace(b"nowhere", b"")
        assert home.retriever.scopes == []


async def test_a_search_is_held_to_the_clearance_of_the_key(tmp_path: Path) -> None:
    async with house(tmp_path, passages=[RENT]) as home:
        clearance = Sensitivity(Level.INTERNAL, frozenset({"work"}))
        key = await create(home.runtime.engine, KeySpec("guest", clearance=clearance, collections=("papers",)))

        await post(home, asking("auto@papers"), key=key)

        assert [(scope.collections, scope.clearance) for scope in home.retriever.scopes] == [(("papers",), clearance)]


async def test_a_decision_on_record_holds_no_content(tmp_path: Path, stream: bool) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        secret = {"metadata": {"salamandra": "CPF 529.982.247-25"}, "salamandra_azul": ["a@b.co"]}
        refused = await post(home, {**asking("gpt", "a salamandra azul", stream=stream), **secret})
        unknown = await post(home, asking("salamandra-azul", stream=stream))
        nowhere = await post(home, asking("auto@salamandra-azul", stream=stream))

        recorded = await decisions.recent(home.runtime.engine)

        assert unknown.code == "model_not_found"
        assert {record.code for record in recorded} == {refused.code, unknown.code, nowhere.code}
        assert "salamandra" not in repr(recorded)
        assert "529.982.247" not in repr(recorded)
        assert any("cpf in metadata.?" in reason for record in recorded for reason in record.raised_by)


async def test_a_caller_may_read_the_decision_on_its_own_requests_only(tmp_path: Path) -> None:
    async with house(tmp_path, passages=[RENT]) as home:
        mine = await create(home.runtime.engine, KeySpec("ana", collections=("papers",)))
        other = await create(home.runtime.engine, KeySpec("bia"))
        given = await post(home, asking("auto@papers"), key=mine)
        path = f"/soleira/decisions/{given.headers['soleira-decision']}"

        async with home.client(mine) as owner, home.client(other) as stranger:
            told = await owner.get(path, cast_to=object)
            with pytest.raises(openai.NotFoundError, match="there is no decision"):
                await stranger.get(path, cast_to=object)

        assert isinstance(told, dict)
        assert (told["zone"], told["status"]) == ("device", 200)
        assert told["rule"] == "family papers are answered in the house"


async def test_no_header_of_the_client_reaches_the_deployment(tmp_path: Path) -> None:
    async with fake_upstream(answer(completion())) as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        sent = {"cookie": "a=b", "x-api-key": "sk-other", "x-forwarded-for": "10.0.0.9", "openai-organization": "org"}

        await post(home, asking("gpt", "oi"), headers=sent)

        head = hosted.requests[0].head.lower()
        assert b"sk-" not in head
        assert not [name for name in sent if name.encode() in head]
        assert b"authorization" not in head


async def test_a_private_answer_keeps_its_label_in_the_rest_of_the_conversation(tmp_path: Path, stream: bool) -> None:
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)], passages=[RENT]) as home:
        given = await post(home, asking("auto@papers", stream=stream))
        history = [
            {"role": "user", "content": "something else entirely"},
            {"role": "assistant", "content": f"  {given.text}\n"},
            {"role": "user", "content": "Traduza para o inglês."},
        ]

        refused = await post(home, {"model": "gpt", "messages": history, "stream": stream})

        assert (refused.code, refused.headers["soleira-label"]) == ("label_exceeds_clearance", "private")
        assert hosted.connections == 0


async def test_marks_outlive_the_process_and_hold_for_every_key(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Você é um assistente prestativo e educado."}
    secret = {"role": "user", "content": "o cofre fica atrás do quadro"}
    async with house(tmp_path) as home:
        await post(home, {"model": "auto", "messages": [system, secret]}, headers={"soleira-label": "private+family"})
    async with fake_upstream(answer(completion())) as hosted, house(tmp_path, [deployment("gpt", hosted.url)]) as home:
        key = await create(home.runtime.engine, KeySpec("other"))

        for caller in (ADMIN_KEY, key):
            refused = await post(home, {"model": "gpt", "messages": [system, secret]}, key=caller)
            assert (refused.code, refused.headers["soleira-label"]) == ("label_exceeds_clearance", "private+family")
        harmless = await post(home, {"model": "gpt", "messages": [system, {"role": "user", "content": "oi"}]})

        assert harmless.status == 200
        assert b"cofre" not in (tmp_path / "ledger.db").read_bytes()


SAID = "O aluguel é de R$ 2.450,00 por mês. Ele vence no dia oito [1]. Em caso de atraso a multa é de dez por cento."
RESENT: list[tuple[str, object]] = [
    ("verbatim", SAID),
    ("marked up", SAID.replace("O aluguel", "**O aluguel**").replace(" [1]", "[¹](https://x/1)")),
    ("without citations", SAID.replace(" [1]", "")),
    ("quoted", "> " + SAID.replace(". ", ".\n> ")),
    ("with zero-width spaces", SAID.replace("aluguel", "alu\u200bguel")),
    ("in parts", [{"type": "text", "text": part} for part in SAID.partition("por mês. ")]),
    ("in capitals", SAID.upper()),
    ("within a larger text", f"Crie um título para esta conversa:\n\nUSER: oi\nASSISTANT: {SAID}\n\nTítulo:"),
    ("one sentence of it", "Em caso de atraso a multa é de dez por cento."),
    ("the beginning", SAID[: len(SAID) // 2]),
]


@pytest.mark.parametrize("content", [content for _, content in RESENT], ids=[name for name, _ in RESENT])
async def test_a_private_answer_is_known_again_in_whatever_form_it_comes_back(tmp_path: Path, content: object) -> None:
    near = deployment("near", "", zone="device")
    async with fake_upstream(answer(completion(SAID))) as up, recording_sink() as hosted:
        pair = [{**near, "base_url": up.url}, deployment("gpt", hosted.url)]
        async with house(tmp_path, pair, passages=[RENT]) as home:
            await post(home, asking("near@papers"))

            for role in ("assistant", "user"):
                history = [{"role": role, "content": content}, {"role": "user", "content": "Traduza."}]
                refused = await post(home, {"model": "gpt", "messages": history})
                assert (refused.code, refused.headers["soleira-label"]) == ("label_exceeds_clearance", "private")
            assert hosted.connections == 0


async def test_what_a_reader_got_of_a_stopped_answer_is_known_again(tmp_path: Path) -> None:
    words = SAID.split(" ")
    script = streaming(*(delta(f"{word} ") for word in words), ending="hang", pause=0.01)
    near = deployment("near", "", zone="device")
    async with fake_upstream(script) as up, recording_sink() as hosted:
        pair = [{**near, "base_url": up.url}, deployment("gpt", hosted.url)]
        async with house(tmp_path, pair, passages=[RENT]) as home:
            for read in (1, 4, 9, 15):
                got = await stopped(home, asking("near@papers", stream=True), read)
                history = [{"role": "assistant", "content": got}, {"role": "user", "content": "Continue."}]
                refused = await post(home, {"model": "gpt", "messages": history})
                assert refused.code == "label_exceeds_clearance", got
            assert hosted.connections == 0


async def stopped(home: House, body: object, events: int) -> str:
    """The text of the first events of a stream, whose reader then leaves."""
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    text = ""
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{home.url}/v1/chat/completions", json=body, headers=headers) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                    events -= 1
                if not events:
                    return text
    raise AssertionError("the stream ended before it was stopped")


async def test_a_phrase_that_models_share_does_not_bar_a_hosted_conversation(tmp_path: Path, stream: bool) -> None:
    phrase = "Se precisar de mais alguma coisa, é só me chamar aqui."
    near = deployment("near", "", zone="device")
    script = streaming(delta(phrase), finish()) if stream else answer(completion(phrase))
    async with fake_upstream(answer(completion(phrase))) as up, fake_upstream(script) as hosted:
        pair = [{**near, "base_url": up.url}, deployment("gpt", hosted.url)]
        async with house(tmp_path, pair, passages=[RENT]) as home:
            await post(home, asking("near@papers"))
            first = await post(home, asking("gpt", "oi", stream=stream))
            history = [{"role": "assistant", "content": first.text}, {"role": "user", "content": "obrigado"}]

            second = await post(home, {"model": "gpt", "messages": history, "stream": stream})

            assert (first.status, second.status) == (200, 200)


async def test_a_rule_for_the_night_knows_the_hour(tmp_path: Path) -> None:
    night = {"name": "nothing leaves at night", "when": {"hour": {"from": 22, "to": 6}}, "action": "deny"}
    rules = {**RULES, "rules": [night, *RULES["rules"]]}
    async with fake_upstream(answer(completion())) as hosted:
        async with house(tmp_path, [deployment("gpt", hosted.url)], rules=rules) as home:
            local = datetime.now().astimezone()
            for hour, status in ((23, 403), (5, 403), (12, 200)):
                runtime = replace(home.runtime, now=partial(local.replace, hour=hour))
                async with served(create_app(runtime)) as url:
                    given = await post(replace(home, url=url), asking("gpt", "oi"))
                assert given.status == status, hour


async def test_what_the_house_finds_goes_through_the_detectors_too(tmp_path: Path) -> None:
    public = passage("O CPF do síndico é 529.982.247-25.", label=PUBLIC)
    async with recording_sink() as hosted, house(tmp_path, [deployment("gpt", hosted.url)], passages=[public]) as home:
        refused = await post(home, asking("gpt@papers", "Quem é o síndico?"))

        assert refused.code == "label_exceeds_clearance"
        assert hosted.connections == 0


async def test_what_a_doctor_is_told_is_known_again_under_any_key(tmp_path: Path) -> None:
    near = deployment("near", "", zone="device")
    async with fake_upstream(answer(completion(SAID))) as up, recording_sink() as hosted:
        async with house(tmp_path, [{**near, "base_url": up.url}, deployment("gpt", hosted.url)]) as home:
            doctor = await create(
                home.runtime.engine, KeySpec("doctor", default_label=Label.of(Level.PRIVATE, "health"))
            )
            told = await post(home, asking("near", "oi"), key=doctor)

            refused = await post(home, asking("gpt", f"Resuma: {SAID}"))

            assert told.headers["soleira-label"] == "private+health"
            assert (refused.code, refused.headers["soleira-label"]) == ("label_exceeds_clearance", "private+health")
            assert hosted.connections == 0
