"""The zones whose machines are the owner's, in the house or elsewhere: nothing that runs there is a host's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.zones import address_class

if TYPE_CHECKING:
    from policies.pack import Pack
    from policies.zones import Network, Zone

_OWN = frozenset({"loopback", "private"})


def own_zones(pack: Pack) -> frozenset[str]:
    """Zones of private addresses alone, and those all of whose deployments run on machines of break_even.yaml.

    A cluster in a network of the owner's own is among them, although it is not in the house (`Zone.is_home`).
    """
    return frozenset(name for name, zone in pack.zones.items() if _is_private(zone) or _is_owned(name, pack))


def own_deployments(pack: Pack) -> frozenset[str]:
    """Those in such zones, and those on machines of break_even.yaml wherever they are."""
    zones = own_zones(pack)
    return frozenset(spec.name for spec in pack.deployments if spec.zone in zones or spec.owned is not None)


def _is_private(zone: Zone) -> bool:
    return zone.addresses.classes <= _OWN and all(_is_within(network) for network in zone.addresses.networks)


def _is_within(network: Network) -> bool:
    return {address_class(network[0]), address_class(network[-1])} <= _OWN


def _is_owned(name: str, pack: Pack) -> bool:
    owned = [spec.owned is not None for spec in pack.deployments if spec.zone == name]
    return bool(owned) and all(owned)
