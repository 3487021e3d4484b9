"""A zone: where deployments run, what may enter, and which addresses prove it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from policies.labels import Label, Level, Sensitivity

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Shared address space (RFC 6598) carries Tailscale; it is routed privately, never a public host.
_SHARED = ip_network("100.64.0.0/10")
# RFC 1918 and RFC 4193: networks of people's own. `is_private` of the standard library means "not global" instead,
# which also holds for Teredo, benchmarking and reserved blocks.
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", str(_SHARED))))
# An IPv6 address that carries an IPv4 one reaches that host: RFC 6052 (NAT64), RFC 3056 (6to4).
_NAT64 = ip_network("64:ff9b::/96")


_AT_HOME = frozenset({"loopback", "private"})


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses a zone vouches for: named classes (`loopback`, `private`, `public`, `any`) and networks."""

    classes: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def cover(self, address: Address) -> bool:
        """True if the address belongs to the zone, told by where it really leads."""
        real = real_address(address)
        if "any" in self.classes:
            return not real.is_unspecified
        if address_class(real) in self.classes:
            return True
        return any(real.version == network.version and real in network for network in self.networks)

    def __str__(self) -> str:
        return ", ".join([*sorted(self.classes), *map(str, self.networks)])


@dataclass(frozen=True, slots=True)
class Zone:
    """A place deployments run at, with the clearance that no rule can raise."""

    name: str
    clearance: Sensitivity
    addresses: Addresses
    accept_redacted: Level | None = None

    def admits(self, label: Label) -> bool:
        """True if a text with this label may enter; a clearance without compartments covers all of them."""
        if not self._covers(label.plain):
            return False
        if label.redacted is None or self._covers(label.redacted):
            return True
        return (
            self.accept_redacted is not None
            and label.redacted.level <= self.accept_redacted
            and self._covers(Sensitivity(self.clearance.level, label.redacted.compartments))
        )

    @property
    def is_home(self) -> bool:
        """True if it admits the house's own addresses alone."""
        return not self.addresses.networks and self.addresses.classes <= _AT_HOME

    def _covers(self, mark: Sensitivity) -> bool:
        if mark.level > self.clearance.level:
            return False
        return not self.clearance.compartments or mark.compartments <= self.clearance.compartments


def real_address(address: Address) -> Address:
    """The IPv4 address inside a mapped, NAT64 or 6to4 IPv6 address; any other address as it is."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def address_class(address: Address) -> str:
    """`loopback`, `private`, `public`, or `special` for what is no host's own address."""
    if address.is_loopback:
        return "loopback"
    if address.is_unspecified or address.is_multicast or address.is_link_local:
        return "special"
    if any(address.version == network.version and address in network for network in _PRIVATE):
        return "private"
    return "public" if address.is_global else "special"


def parse_address(text: str) -> Address:
    """Read an address as `getaddrinfo` writes it, an IPv6 scope (`%eth0`) left out."""
    return ip_address(text.partition("%")[0])
