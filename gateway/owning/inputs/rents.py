"""What others ask for a scenario's accelerator by the hour: the owner's own list, and then the hardware catalog's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gateway.catalog.hardware import Rent, find_gpu
from gateway.catalog.sheets import Said
from gateway.errors import BadRequest
from policies.problems import closest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateway.owning.inputs.exchange import Exchange
    from policies.scenarios import RentRow


@dataclass(frozen=True, slots=True)
class Offer:
    """One rent in dollars."""

    usd_per_gpu_hour: Fraction
    rent: Rent
    is_own: bool
    """True if the owner's list has it."""


@dataclass(frozen=True, slots=True)
class Rents:
    """All that is known of one accelerator; of two of one name the owner's counts."""

    gpu: str
    own: tuple[Rent, ...]
    listed: tuple[Rent, ...]

    @classmethod
    def of(cls, gpu: str, rows: Iterable[RentRow]) -> Rents:
        """Of an accelerator by its name or alias; one that the catalog does not know has the owner's rents alone."""
        own = tuple(_rent(row) for row in rows if _name(row.gpu) == _name(gpu))
        names = {rent.name for rent in own}
        try:
            known = find_gpu(gpu).rents
        except LookupError:
            known = ()
        return cls(gpu, own, tuple(rent for rent in known if rent.name not in names))

    def find(self, name: str, exchange: Exchange) -> Offer:
        """The rent of that name; BadRequest that says what there is."""
        for rent in (*self.own, *self.listed):
            if rent.name == name:
                return self._offer(rent, exchange)
        names = [rent.name for rent in (*self.own, *self.listed)]
        meant = closest(name, names)
        hint = f"did you mean {meant!r}?" if meant else f"there is {', '.join(names) or 'none'}"
        message = f"hardware.rent_from: no rent of {self.gpu} is called {name!r}: {hint}"
        raise BadRequest(message, param="hardware.rent_from")

    def offers(self, exchange: Exchange) -> list[Offer]:
        """All whose currency has a rate, the cheapest first."""
        known = [
            self._offer(rent, exchange)
            for rent in (*self.own, *self.listed)
            if rent.currency == "USD" or exchange.rate(rent.currency) is not None
        ]
        return sorted(known, key=lambda offer: offer.usd_per_gpu_hour)

    def _offer(self, rent: Rent, exchange: Exchange) -> Offer:
        return Offer(exchange.usd(rent.per_gpu_hour, rent.currency), rent, rent in self.own)


def _rent(row: RentRow) -> Rent:
    contract = row.contract or ""
    return Rent(row.name, Fraction(row.per_gpu_hour), row.currency, contract, Said(row.source, row.as_of))


def _name(gpu: str) -> str:
    try:
        return find_gpu(gpu).name
    except LookupError:
        return gpu
