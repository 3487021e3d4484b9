"""What `up` says: where typed text may go, how to connect a model, and a command that works as printed."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.settings import HOME_PACK
from gateway.supervisor import banner
from gateway.supervisor.address import Address
from gateway.supervisor.probe import LocalEngine
from policies.labels import SECRET
from policies.load import load_pack

if TYPE_CHECKING:
    from policies.pack import Pack

ADDRESS = Address("127.0.0.1", 4141)

CONNECTED = """
deployments:
  - name: ollama
    model: qwen3
    engine: ollama
    base_url: http://127.0.0.1:11434/v1
    zone: device
    price: {currency: USD, per_million: {input: 0, output: 0}, source: own machine, as_of: 2026-10-24}
  - name: moonshot
    model: kimi-k3
    engine: moonshot
    base_url: https://api.moonshot.ai/v1
    api_key: {env: MOONSHOT_API_KEY}
    zone: hosted
    price: {currency: USD, per_million: {input: 3, output: 15}, source: price page, as_of: 2026-10-24}
"""


@pytest.fixture
def home() -> Pack:
    return load_pack(HOME_PACK)


@pytest.fixture
def connected(tmp_path: Path) -> Pack:
    folder = tmp_path / "pack"
    shutil.copytree(HOME_PACK, folder)
    (folder / "deployments.yaml").write_text(CONNECTED)
    return load_pack(folder)


def test_it_says_where_typed_text_and_documents_may_go(home: Pack) -> None:
    _, typed, document, connections = banner.whereabouts(home)

    assert typed.strip() == (
        "What you type counts as internal: "
        "it may go to this machine, the home network, the cluster and a hosted service."
    )
    # The clearance of the cluster would do; the pack's first rule keeps private papers out of it.
    assert document.strip() == (
        "A document without a label counts as private: it may go to this machine and the home network."
    )
    assert "so nothing leaves it" in connections


def test_a_label_that_no_zone_admits_goes_nowhere(home: Pack) -> None:
    hosted_only = {name: zone for name, zone in home.zones.items() if name == "hosted"}
    strict = replace(home, zones=hosted_only, default_label=SECRET)

    assert "What you type counts as secret: it may go nowhere (" in "\n".join(banner.whereabouts(strict))


def test_it_names_the_places_that_models_are_connected_at(connected: Pack) -> None:
    said = "\n".join(banner.whereabouts(connected))

    assert "Models are connected at this machine and a hosted service." in said
    assert "nothing leaves" not in said


def test_zones_at_the_same_place_are_named_once_whatever_they_are_called(home: Pack) -> None:
    desk = replace(home.zones["device"], name="desk")
    renamed = replace(home, zones={"desk": desk, "lan": home.zones["lan"], "nas": home.zones["lan"]})

    assert "it may go to this machine and the home network." in "\n".join(banner.whereabouts(renamed))


def test_an_engine_found_on_this_machine_is_named_with_what_to_edit(home: Pack) -> None:
    said = "\n".join(banner.connecting(home, Path("/d/pack"), [LocalEngine("Ollama", 11434, ("qwen3:8b", "gemma3"))]))

    assert "Ollama answers on 127.0.0.1:11434 with qwen3:8b and gemma3." in said
    assert "uncomment its entry in /d/pack/deployments.yaml" in said


def test_once_a_model_is_connected_nothing_more_is_advised(connected: Pack) -> None:
    assert banner.connecting(connected, Path("/d/pack"), [LocalEngine("Ollama", 11434, ())]) == []


@pytest.mark.parametrize(("key", "shown"), [("sk-new", "sk-new"), ("$SOLEIRA_ADMIN_KEY", "$SOLEIRA_ADMIN_KEY")])
def test_the_first_question_is_a_whole_command(key: str, shown: str) -> None:
    command = "\n".join(banner.first_question(ADDRESS, key)).partition("curl ")[2]

    words = shlex.split(command.replace("\\\n", " "))
    body = json.loads(words[words.index("-d") + 1])

    assert words[0] == "http://127.0.0.1:4141/v1/chat/completions"
    assert f"Authorization: Bearer {shown}" in words
    assert body["model"] == "auto@samples"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:4141/v1"),
        ("0.0.0.0", "http://127.0.0.1:4141/v1"),
        ("::", "http://[::1]:4141/v1"),
        ("192.168.1.5", "http://192.168.1.5:4141/v1"),
    ],
)
def test_the_base_url_can_be_pasted(host: str, url: str) -> None:
    assert any(line.endswith(url) for line in banner.addresses(Address(host, 4141)))
