"""Whether a deployment's base URL can stand in the zone it claims, as far as that shows before names are resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from policies.zones import Address, parse_address

if TYPE_CHECKING:
    from policies.schema import DeploymentEntry
    from policies.zones import Zone

# `kimi-k3:cloud` and `gpt-oss:120b-cloud` of Ollama run at ollama.com, although the address is this machine.
_CLOUD_TAG = re.compile(r":([^:/]*-)?cloud\Z")
_OLLAMA_CLOUD = re.compile(r"[:-]cloud\Z")
# inet_aton reads `127.1`, `0x7f000001` and `2130706433` as addresses; people and checks do not.
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")


@dataclass(frozen=True, slots=True)
class Misplaced:
    """The key that is wrong, and why."""

    key: str
    message: str


def address_problem(entry: DeploymentEntry, zone: Zone) -> Misplaced | None:
    """Why the deployment cannot be in the zone; None if it can."""
    if _runs_elsewhere(entry) and zone.addresses.classes.isdisjoint({"public", "any"}):
        return Misplaced(
            "upstream_model",
            f"{entry.upstream_model!r} runs at ollama.com although the address is local: "
            "move it to a zone for hosted models, with the addresses 'any'",
        )
    if entry.gguf is not None:
        return _own_problem(zone)
    message = _unix_problem(entry.base_url, zone) if entry.base_url.startswith("unix:") else _url(entry.base_url, zone)
    return None if message is None else Misplaced("base_url", message)


def _own_problem(zone: Zone) -> Misplaced | None:
    if "loopback" in zone.addresses.classes:
        return None
    return Misplaced("zone", f"{zone.name!r} is not this machine, on which the house runs a GGUF file")


def _runs_elsewhere(entry: DeploymentEntry) -> bool:
    pattern = _OLLAMA_CLOUD if entry.engine == "ollama" else _CLOUD_TAG
    return pattern.search(entry.upstream_model.lower()) is not None


def _unix_problem(url: str, zone: Zone) -> str | None:
    path, _, prefix = url.removeprefix("unix:").partition(":")
    if not path.startswith("/") or not prefix.startswith("/"):
        return "should be written unix:/path/to.sock:/v1"
    if zone.addresses.classes.isdisjoint({"loopback", "any"}):
        return f"is a socket of this machine, which is not in the zone {zone.name!r}"
    return None


def _url(url: str, zone: Zone) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in ("http", "https") or not host:
        return "should begin with http:// or https:// and a host, or with unix:"
    return _spare_part(parts) or _host_problem(host, zone)


def _spare_part(parts: SplitResult) -> str | None:
    if parts.username is not None or parts.password is not None:
        return "holds a user or key; use `api_key: {env: NAME}`"
    if parts.query or parts.fragment:
        return "should end with the path; leave '?' and '#' out"
    return None


def _host_problem(host: str, zone: Zone) -> str | None:
    addresses = _literal(host)
    if addresses is None:
        return "should write its address as four decimal numbers" if _NUMBER.match(host.split(".")[-1]) else None
    if any(zone.addresses.cover(address) for address in addresses):
        return None
    return f"{host} does not belong to the zone {zone.name!r}, whose addresses are {zone.addresses}"


def _literal(host: str) -> list[Address] | None:
    """The addresses a host stands for without asking a resolver."""
    if host == "localhost" or host.endswith(".localhost"):
        return [parse_address("127.0.0.1"), parse_address("::1")]
    try:
        return [parse_address(host)]
    except ValueError:
        return None
