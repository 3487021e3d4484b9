"""Alerts as people write them: what is taken, and what is refused with its line and the word that was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from policies.alerts import EmailAlert, NtfyAlert, WebhookAlert, is_near
from policies.load import PackError, load_pack
from tests.gateway.ledger.exports.packs import write_pack

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
alerts:
  - webhook: https://hooks.example.org/soleira
    secret: {env: HOOK_SECRET}
    on: [budgets, prices]
  - webhook: {env: HOOK_ADDRESS}
  - email: [ana@example.org, rui@example.org]
    from: soleira@example.org
    smtp: {host: smtp.example.org, user: soleira, password: {file: ~/.smtp}}
    language: pt
  - ntfy: http://nas.lan/house
    token: {env: NTFY_TOKEN}
    estimated_above: 10
    stale_after: 30
"""


def written(folder: Path, alerts: str) -> Path:
    return write_pack(folder / "pack", f"alerts:\n{alerts}")


def test_each_kind_of_alert_is_read(tmp_path: Path) -> None:
    pack = load_pack(write_pack(tmp_path / "pack", GOOD))

    hook, secret_hook, mail, ntfy = pack.budgets.alerts
    assert isinstance(hook, WebhookAlert)
    assert isinstance(secret_hook, WebhookAlert)
    assert isinstance(mail, EmailAlert)
    assert isinstance(ntfy, NtfyAlert)
    assert (hook.on, mail.language, mail.smtp.at, ntfy.estimated_above) == (("budgets", "prices"), "pt", 465, 10)


@pytest.mark.parametrize(("tls", "port"), [("implicit", 465), ("starttls", 587), ("none", 25)])
def test_a_mail_server_has_its_usual_port(tmp_path: Path, tls: str, port: int) -> None:
    entry = f"  - {{email: a@b.org, from: c@d.org, smtp: {{host: nas.lan, tls: {tls}}}}}\n"

    [mail] = load_pack(written(tmp_path, entry)).budgets.alerts

    assert isinstance(mail, EmailAlert)
    assert mail.smtp.at == port


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{hook: https://a.example}", "alerts[0].hook: is unknown; did you mean 'webhook'?"),
        ("{webhook: http://a.example/x}", "alerts[0].webhook: should begin with https://"),
        ("{webhook: 'https://u:p@a.example/'}", "alerts[0].webhook: should be an address without a user"),
        ("{webhook: 'https://a.example/ x'}", "alerts[0].webhook: should be an address such as"),
        ("{webhook: 'https://a.example:port/'}", "alerts[0].webhook: should be an address such as"),
        ("{webhook: ftp://a.example}", "alerts[0].webhook: should be an address such as"),
        ("{webhook: {envv: X}}", "alerts[0].webhook.envv: is unknown; did you mean 'env'?"),
        ("{webhook: https://a.example, on: budget}", "alerts[0].on: 'budget' is unknown; did you mean 'budgets'?"),
        ("{webhook: https://a.example, on: []}", "alerts[0].on: should not be empty"),
        ("{ntfy: https://ntfy.sh}", "alerts[0].ntfy: should be a server and a topic"),
        ("{ntfy: 'https://ntfy.sh/a?x=1'}", "alerts[0].ntfy: should be a server and a topic"),
        ("{email: ana, from: a@b.org, smtp: {host: m.example}}", "alerts[0].email: should be an e-mail address"),
        ("{email: a@b.org, smtp: {host: m.example}}", "alerts[0].from: is missing"),
        ("{email: a@b.org, from: a@b.org}", "alerts[0].smtp: is missing"),
        (
            "{email: a@b.org, from: a@b.org, smtp: {host: m.example, tls: none}}",
            "alerts[0].smtp: tls: none is only for a machine of the house",
        ),
        (
            "{email: a@b.org, from: a@b.org, smtp: {host: nas, tls: none, user: u, password: {env: P}}}",
            "alerts[0].smtp: would send its password in the open",
        ),
        (
            "{email: a@b.org, from: a@b.org, smtp: {host: m.example, user: u}}",
            "alerts[0].smtp: should name both user and password",
        ),
        (
            "{email: a@b.org, from: a@b.org, smtp: {host: 'm.example:25'}}",
            "alerts[0].smtp.host: should be a server's name",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(PackError) as caught:
        load_pack(written(tmp_path, f"  - {entry}\n"))

    assert f"budgets.yaml:2: {message}" in str(caught.value)


def test_a_secret_address_is_repeated_in_no_error(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        load_pack(written(tmp_path, "  - {webhook: http://hooks.example.org/T0KEN}\n"))

    assert "T0KEN" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("nas", True),
        ("nas.lan", True),
        ("box.home.arpa", True),
        ("192.168.1.5", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("fd00::1", True),
        ("8.8.8.8", False),
        ("ntfy.sh", False),
        ("lan.example.org", False),
    ],
)
def test_a_machine_of_the_house_is_known_by_its_form(host: str, near: bool) -> None:
    assert is_near(host) is near
