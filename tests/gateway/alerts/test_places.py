"""Places that alerts go to: what arrives, how it is signed and encrypted, and what is never told."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from gateway.alerts.errors import AlertNotTakenError, AlertUnusableError
from gateway.alerts.notices import Notice
from gateway.alerts.places import Message, Place, places_of
from policies.alerts import Alert, AlertEntry
from tests.gateway.alerts.sinks import Certificate, certificate, http_sink, mail_sink

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
NOTICE = Notice(
    "budgets/w/80",
    "budgets",
    "Budget 'all' has spent 80%: US$ 4 of US$ 5, until 2026-12-01 00:00.",
    "O orçamento 'all' gastou 80%: US$ 4 de US$ 5, até 01/12/2026 00:00.",
    {"budget": "all", "percent": 80},
)
MESSAGE = Message("alert_1", (NOTICE,))
ENTRY: TypeAdapter[Alert] = TypeAdapter(AlertEntry)
ENVIRONMENT = {"HOOK_SECRET": "whsec_c2VjcmV0", "PLAIN": "plain", "TOKEN": "tk_1", "PASSWORD": "p4ss"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("tls"))


def place(**environment: str) -> Any:
    """Make a place of an entry as the pack writes it."""

    def of(entry: dict[str, Any]) -> Place:
        return Place(ENTRY.validate_python(entry), 0, {**ENVIRONMENT, **environment})

    return of


def mail_to(port: int, **more: Any) -> dict[str, Any]:
    smtp = {"host": "127.0.0.1", "port": port, "tls": "none", **more}
    return {"email": ["ana@example.org", "rui@example.org"], "from": "soleira@house.example", "smtp": smtp}


@pytest.mark.parametrize(("variable", "key"), [("HOOK_SECRET", b"secret"), ("PLAIN", b"plain")])
async def test_a_webhook_is_signed_over_its_id_its_time_and_its_body(variable: str, key: bytes) -> None:
    async with http_sink() as sink:
        await place()({"webhook": f"{sink.url}/hook", "secret": {"env": variable}}).send(MESSAGE, NOON)

    [posted] = sink.posted
    assert (posted.path, posted.headers["webhook-id"], posted.headers["webhook-timestamp"]) == (
        "/hook",
        "alert_1",
        str(int(NOON.timestamp())),
    )
    signed = hmac.digest(key, b"alert_1." + str(int(NOON.timestamp())).encode() + b"." + posted.body, hashlib.sha256)
    assert posted.headers["webhook-signature"] == f"v1,{base64.b64encode(signed).decode()}"


async def test_a_webhook_says_names_and_sums_for_people_and_programs() -> None:
    async with http_sink() as sink:
        await place()({"webhook": sink.url, "language": "pt"}).send(MESSAGE, NOON)

    said = json.loads(sink.posted[0].body)
    assert said["type"] == "soleira.alert"
    assert said["text"] == NOTICE.pt
    assert said["title"] == "Soleira: O orçamento 'all' gastou 80%"
    assert said["data"] == [{"id": "budgets/w/80", "occasion": "budgets", "budget": "all", "percent": 80}]


async def test_ntfy_gets_its_topic_its_token_and_a_priority() -> None:
    urgent = replace(MESSAGE, notices=(replace(NOTICE, facts={"percent": 100}),))
    async with http_sink() as sink:
        to = place()({"ntfy": f"{sink.url}/house-alerts", "token": {"env": "TOKEN"}})
        await to.send(MESSAGE, NOON)
        await to.send(urgent, NOON)

    usual, high = (json.loads(posted.body) for posted in sink.posted)
    assert sink.posted[0].headers["Authorization"] == "Bearer tk_1"
    assert (sink.posted[0].path, usual["topic"], usual["message"]) == ("/", "house-alerts", NOTICE.en)
    assert (usual["priority"], high["priority"]) == (3, 4)


async def test_an_encrypted_server_with_a_certificate_of_the_house_is_trusted_where_the_pack_says(
    own: Certificate,
) -> None:
    async with http_sink(tls=own.context) as sink:
        await place()({"webhook": f"{sink.url}/x", "ca": str(own.path)}).send(MESSAGE, NOON)
        with pytest.raises(AlertNotTakenError, match=r"127\.0\.0\.1 was not reached"):
            await place()({"webhook": f"{sink.url}/x"}).send(MESSAGE, NOON)

    assert len(sink.posted) == 1


@pytest.mark.parametrize("tls", ["implicit", "starttls"])
async def test_mail_goes_encrypted_with_the_password_only_then(own: Certificate, tls: str) -> None:
    context = {"tls": own.context} if tls == "implicit" else {"starttls": own.context}
    async with mail_sink(**context) as sink:
        entry = mail_to(sink.port, tls=tls, user="soleira", password={"env": "PASSWORD"})
        await place()({**entry, "ca": str(own.path)}).send(MESSAGE, NOON)

    [letter] = sink.letters
    assert sink.logins == ["\0soleira\0p4ss"]
    assert sink.readers == ["ana@example.org", "rui@example.org"]
    assert (letter["Subject"], letter["Auto-Submitted"]) == ("Soleira: Budget 'all' has spent 80%", "auto-generated")
    assert letter.get_content().strip() == NOTICE.en
    assert letter["Message-ID"].endswith("@house.example>")


async def test_a_server_that_cannot_encrypt_gets_neither_password_nor_letter() -> None:
    async with mail_sink() as sink:
        entry = mail_to(sink.port, tls="starttls", user="soleira", password={"env": "PASSWORD"})
        with pytest.raises(AlertNotTakenError):
            await place()(entry).send(MESSAGE, NOON)

    assert (sink.logins, sink.letters) == ([], [])


async def test_this_machines_name_is_told_to_no_mail_server() -> None:
    async with mail_sink() as sink:
        await place()(mail_to(sink.port)).send(MESSAGE, NOON)

    assert sink.greeted_by == ["house.example"]


async def test_portuguese_arrives_whole_by_mail() -> None:
    async with mail_sink() as sink:
        await place()({**mail_to(sink.port), "language": "pt"}).send(MESSAGE, NOON)

    assert sink.letters[0]["Subject"] == "Soleira: O orçamento 'all' gastou 80%"
    assert sink.letters[0].get_content().strip() == NOTICE.pt


async def test_a_reader_who_is_refused_does_not_keep_it_from_the_others() -> None:
    async with mail_sink(refuses=("ana@example.org",)) as sink:
        await place()(mail_to(sink.port)).send(MESSAGE, NOON)

    assert len(sink.letters) == 1


async def test_a_letter_that_nobody_gets_was_not_taken() -> None:
    async with mail_sink(refuses=("ana@example.org", "rui@example.org")) as sink:
        with pytest.raises(AlertNotTakenError, match="answered 550") as caught:
            await place()(mail_to(sink.port)).send(MESSAGE, NOON)

    assert not caught.value.may_pass


@pytest.mark.parametrize(("status", "may_pass"), [(500, True), (429, True), (404, False), (302, False)])
async def test_what_is_not_taken_says_whether_trying_again_helps(status: int, may_pass: bool) -> None:
    async with http_sink(status) as sink:
        with pytest.raises(AlertNotTakenError, match=f"answered {status}") as caught:
            await place()({"webhook": sink.url}).send(MESSAGE, NOON)

    assert caught.value.may_pass is may_pass
    assert len(sink.posted) == 1  # a redirect is not followed


async def test_the_secret_part_of_an_address_is_in_no_error() -> None:
    for entry in ({"webhook": "http://127.0.0.1:9/T0KEN"}, {"ntfy": "http://127.0.0.1:9/T0KEN"}):
        with pytest.raises(AlertNotTakenError) as caught:
            await place()(entry).send(MESSAGE, NOON)

        assert "T0KEN" not in f"{caught.value!r} {caught.value} {caught.value.__cause__!r}"
        assert "T0KEN" not in place()(entry).name


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"webhook": {"env": "NOWHERE"}}, "alerts[0] (webhook) needs its webhook in the environment variable NOWHERE"),
        ({"webhook": "http://127.0.0.1:9", "secret": {"file": "/no/such"}}, "needs its secret in the file /no/such"),
        ({"webhook": {"env": "PLAIN"}}, "what the environment variable PLAIN holds should be an address"),
        ({"ntfy": {"env": "URL"}}, "what the environment variable URL holds should be a server and a topic"),
        ({"webhook": "http://127.0.0.1:9", "ca": "/no/such.crt"}, "there is no file /no/such.crt"),
    ],
)
async def test_what_is_missing_here_is_said_by_name(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(AlertUnusableError) as caught:
        await place(URL="https://ntfy.example/")(entry).send(MESSAGE, NOON)

    assert message in str(caught.value)


async def test_an_address_may_be_a_secret_of_the_environment() -> None:
    async with http_sink() as sink:
        await place(HOOK=f"{sink.url}/T0KEN")({"webhook": {"env": "HOOK"}}).send(MESSAGE, NOON)

    assert sink.posted[0].path == "/T0KEN"


def test_a_place_is_known_by_where_it_is_and_not_by_its_number(tmp_path: Path) -> None:
    hook = ENTRY.validate_python({"webhook": "https://a.example/1"})
    ntfy = ENTRY.validate_python({"ntfy": "https://ntfy.example/topic"})

    before, after = places_of((hook, ntfy), {}), places_of((ntfy, hook), {})

    assert [each.id for each in before] == [each.id for each in reversed(after)]
    assert [each.name for each in before] == ["alerts[0] (webhook)", "alerts[1] (ntfy)"]


def test_several_notices_are_one_message() -> None:
    assert Message("m", (NOTICE, NOTICE)).title("pt") == "Soleira: 2 avisos"
    assert Message("m", (NOTICE, NOTICE)).text("en").count("\n") == 1
