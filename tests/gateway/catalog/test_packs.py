"""A pack is swapped whole or not at all, while the house runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gateway.catalog.load import CatalogError
from gateway.catalog.packs import Folder, Packs
from gateway.errors import NotLocal
from gateway.upstream.guard import Guard
from policies.load import PackError
from tests.fakes import Names
from tests.gateway.house import RULES, deployment, make_settings

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.settings import Settings


async def opened(settings: Settings, environment: dict[str, str] | None = None, names: Names | None = None) -> Packs:
    guard = Guard(names or Names({}))
    return await Packs.open(Folder(settings.pack, environment or {}, None, guard.prove))


def write(settings: Settings, *deployments: dict[str, Any]) -> None:
    (settings.pack / "deployments.yaml").write_text(json.dumps({"deployments": deployments}))


async def test_a_changed_pack_is_put_in_force(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [])
    packs = await opened(settings)
    before = packs.current

    write(settings, deployment("gpt", "http://127.0.0.1:1/v1"))
    await packs.reload()

    assert "gpt" in packs.current.catalog.models()
    assert packs.current.pack.version != before.pack.version
    assert "gpt" not in before.catalog.models()


@pytest.mark.parametrize("content", ["{", "deployments: [{name: x}]", "deployments: nothing", ""])
async def test_a_bad_pack_leaves_the_old_one(tmp_path: Path, content: str) -> None:
    settings = make_settings(tmp_path, RULES, [deployment("gpt", "http://127.0.0.1:1/v1")])
    packs = await opened(settings)
    before = packs.current

    (settings.pack / "deployments.yaml").write_text(content or "[]")
    with pytest.raises(PackError, match=r"deployments\.yaml:1"):
        await packs.reload()

    assert packs.current is before
    assert packs.last_error
    write(settings)
    await packs.reload()
    assert packs.last_error is None


async def test_a_pack_whose_own_tests_fail_is_not_put_in_force(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, RULES, [])
    packs = await opened(settings)
    wrong = [{"name": "papers go out", "given": {"label": "private"}, "expect": {"zones": ["hosted"]}}]

    (settings.pack / "rules_test.yaml").write_text(json.dumps(wrong))

    with pytest.raises(CatalogError, match="papers go out"):
        await packs.reload()


async def test_a_key_comes_from_the_environment_or_a_file_and_its_absence_is_told(tmp_path: Path) -> None:
    keyed = deployment("gpt", "http://127.0.0.1:1/v1", api_key={"env": "GPT_KEY"})
    settings = make_settings(tmp_path, RULES, [keyed])

    with pytest.raises(CatalogError, match="GPT_KEY"):
        await opened(settings)
    packs = await opened(settings, {"GPT_KEY": "sk-canary"})
    (tmp_path / "key").write_text("sk-from-file\n")
    write(settings, deployment("gpt", "http://127.0.0.1:1/v1", api_key={"file": str(tmp_path / "key")}))
    await packs.reload()

    assert packs.current.catalog.deployments[0].api_key == "sk-from-file"
    assert "sk-" not in repr(packs.current.catalog)


async def test_every_key_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    keyed = [deployment(name, "http://127.0.0.1:1/v1", api_key={"env": f"{name.upper()}_KEY"}) for name in ("a", "b")]
    settings = make_settings(tmp_path, RULES, keyed)

    with pytest.raises(CatalogError, match=r"'a' needs .* A_KEY\n.*'b' needs .* B_KEY\n"):
        await opened(settings)


async def test_a_deployment_of_the_house_that_leads_outside_is_refused(tmp_path: Path) -> None:
    near = deployment("near", "http://nas.example:8080/v1", zone="device")
    settings = make_settings(tmp_path, RULES, [near])

    with pytest.raises(NotLocal, match="near"):
        await opened(settings, names=Names({"nas.example": [["93.184.215.14"]]}))
    await opened(settings, names=Names({"nas.example": [["127.0.0.1"]]}))
