"""A zone's addresses are told by where they really lead."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from policies.zones import Addresses, address_class, parse_address


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("fd00::1", "private"),
        ("100.64.0.1", "private"),
        ("::ffff:192.168.1.1", "private"),
        ("64:ff9b::10.0.0.1", "private"),
        ("2002:0a00:0001::", "private"),
        ("8.8.8.8", "public"),
        ("2606:4700::1", "public"),
        ("::ffff:8.8.8.8", "public"),
        ("64:ff9b::8.8.8.8", "public"),
        ("2002:0808:0808::", "public"),
        ("0.0.0.0", "special"),
        ("::", "special"),
        ("169.254.169.254", "special"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "special"),
        ("198.18.0.1", "special"),
        ("240.0.0.1", "special"),
        ("2001:db8::1", "special"),
        ("fe80::1%eth0", "special"),
        ("224.0.0.1", "special"),
    ],
)
def test_an_address_belongs_to_the_class_of_the_host_it_reaches(address: str, kind: str) -> None:
    covering = {name for name in ("loopback", "private", "public") if covers(address, classes=name)}

    assert covering == {kind} - {"special"}


def covers(address: str, *, classes: str = "", network: str | None = None) -> bool:
    networks = (ip_network(network),) if network else ()
    return Addresses(frozenset(classes.split()), networks).cover(parse_address(address))


def test_any_covers_every_address_but_none() -> None:
    assert covers("8.8.8.8", classes="any")
    assert covers("169.254.1.1", classes="any")
    assert not covers("0.0.0.0", classes="any")


@pytest.mark.parametrize(
    ("address", "inside"),
    [("10.20.3.4", True), ("::ffff:10.20.3.4", True), ("10.21.0.1", False), ("8.8.8.8", False), ("fd00::1", False)],
)
def test_a_network_covers_its_own_addresses_alone(address: str, inside: bool) -> None:
    assert covers(address, network="10.20.0.0/16") is inside


def test_what_is_reserved_is_nobody_s_host() -> None:
    assert address_class(parse_address("240.0.0.1")) in {"private", "special"}
    assert not covers("240.0.0.1", classes="public loopback")
