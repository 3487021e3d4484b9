"""What of a request budgets and limits count for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.ledger.entries import Account
    from policies.budgets import Subject

HOUSE = "house"
"""The name of everybody together."""


def of_attempt(of: Subject, account: Account, deployment: Deployment) -> tuple[str, ...]:
    """The names that a budget counts the attempt for: all of its kind, or the named one if that is among them."""
    if of.kind == "model":
        return _wanted(of, (deployment.model,))
    if of.kind == "zone":
        return _wanted(of, (deployment.zone.name,))
    return of_request(of, account)


def of_request(of: Subject, account: Account) -> tuple[str, ...]:
    """The names that a limit counts a request for, before its model is chosen."""
    return _wanted(of, _names(of, account))


def _wanted(of: Subject, names: tuple[str, ...]) -> tuple[str, ...]:
    return names if of.name is None else tuple(name for name in names if name == of.name)


def _names(of: Subject, account: Account) -> tuple[str, ...]:
    match of.kind:
        case "key":
            return (account.principal,)
        case "person":
            return (account.person or account.principal,)
        case "group":
            return tuple(sorted(account.groups))
        case "collection":
            return tuple(dict.fromkeys(account.collections))
        case "tag":
            return () if account.tag is None else (account.tag,)
        case "house":
            return (HOUSE,)
        case "model" | "zone":
            return ()
