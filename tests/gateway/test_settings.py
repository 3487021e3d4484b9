"""Where the house keeps its files, and what its processes are told."""

from __future__ import annotations

from pathlib import Path

from gateway.settings import Settings, child_environment, gateway_environment, run_dir


def test_options_win_over_the_environment_and_that_over_defaults(tmp_path: Path) -> None:
    environ = {"SOLEIRA_DATA": str(tmp_path / "env"), "SOLEIRA_PACK": str(tmp_path / "env-pack")}

    assert Settings.from_environment(environ={}).data == Path.cwd() / "data"
    assert Settings.from_environment(environ=environ).data == tmp_path / "env"
    assert Settings.from_environment(environ=environ).pack == tmp_path / "env-pack"
    assert Settings.from_environment(tmp_path / "a", tmp_path / "b", environ).data == tmp_path / "a"
    assert Settings.from_environment(tmp_path / "a", tmp_path / "b", environ).pack == tmp_path / "b"


def test_the_pack_is_the_data_directorys_own_unless_another_is_named(tmp_path: Path) -> None:
    assert Settings.from_environment(tmp_path, environ={}).own_pack
    assert not Settings.from_environment(tmp_path, Path("/elsewhere"), {}).own_pack


def test_an_empty_variable_is_as_good_as_none(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={"SOLEIRA_ADMIN_KEY": "", "SOLEIRA_REDIS_URL": ""})

    assert settings.admin_key is None
    assert settings.redis == f"unix://{settings.valkey_socket}"


def test_a_secret_does_not_show_when_settings_are_printed(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        tmp_path, environ={"SOLEIRA_ADMIN_KEY": "sk-hidden", "METRICS_TOKEN": "hidden"}
    )

    assert "hidden" not in repr(settings)


def test_sockets_fit_however_long_the_path_is(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-rather-long-folder-name"] * 6)
    short = Path("/srv/soleira")

    assert run_dir(short) == short / "run"
    assert len(str(run_dir(deep) / "retrieval.sock")) <= 100
    assert run_dir(deep) == run_dir(deep)
    assert run_dir(deep) != run_dir(deep.parent)


ENVIRONMENT = {
    "PATH": "/usr/bin",
    "HTTPS_PROXY": "http://proxy:3128",
    "no_proxy": "*",
    "MOONSHOT_API_KEY": "sk-1",
    "SOLEIRA_ADMIN_KEY": "sk-2",
    "METRICS_TOKEN": "t",
    "SOLEIRA_EMBEDDING_MODEL": "/models/e5",
    "HF_HUB_OFFLINE": "0",
}


def test_no_process_uses_a_proxy_or_fetches_models() -> None:
    for environment in (gateway_environment(ENVIRONMENT), child_environment(ENVIRONMENT)):
        assert not {"HTTPS_PROXY", "no_proxy"} & environment.keys()
        assert environment["HF_HUB_OFFLINE"] == "1"
        assert environment["PATH"] == "/usr/bin"


def test_keys_reach_the_gateway_alone() -> None:
    keys = {"MOONSHOT_API_KEY", "SOLEIRA_ADMIN_KEY", "METRICS_TOKEN"}

    assert keys <= gateway_environment(ENVIRONMENT).keys()
    assert not keys & child_environment(ENVIRONMENT).keys()
    assert child_environment(ENVIRONMENT)["SOLEIRA_EMBEDDING_MODEL"] == "/models/e5"
    assert child_environment(ENVIRONMENT)["TOKENIZERS_PARALLELISM"] == "false"
