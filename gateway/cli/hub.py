"""The process behind `soleira models pull`: the one part of Soleira that fetches something, when it is told to."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from httpx2 import HTTPError
from huggingface_hub import HfApi, constants, get_token, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import http_get

from gateway.cli.hub_files import HubFile, HubModel, meant, models_of
from gateway.settings import Settings
from policies import gguf
from policies.load import PackError, load_pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SPARE_BYTES = 1024**3
"""What stays free on the disk: the house writes its ledger there as well."""
_USUAL_CONTEXT = 8192
_ASK_SECONDS = 20.0
_CHUNK = 4 * 1024 * 1024
_INTERRUPTED = 130
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*\Z")
_NO_NAME = re.compile(r"[^a-z0-9._-]+")
_PART = re.compile(r"-\d{5}-of-\d{5}\Z")


class PullError(Exception):
    """Why nothing was fetched, and what to do."""


@dataclass(frozen=True, slots=True)
class Repository:
    """What a hub has under one name, at one commit."""

    name: str
    commit: str
    models: list[HubModel]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A model that lies on the disk, whole."""

    path: Path
    files: tuple[HubFile, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch, list or say why not; the exit status of the command."""
    given = _arguments(arguments)
    try:
        _run(given, Settings.from_environment(given.data, given.pack))
    except PullError as error:
        typer.echo(f"soleira: {error}", err=True)
        return 1
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("\nStopped; the same command goes on where this one ended.", err=True)
        return _INTERRUPTED
    return 0


def _run(given: argparse.Namespace, settings: Settings) -> None:
    name, inside = _named(given.repository)
    with _explained(name, settings):
        repository = _look(name, given.revision)
        found = meant(repository.models, given.file or inside)
        if len(found) != 1:
            return _list(repository, found, given)
        fetched = _fetch(repository, found[0], settings, ask=not (given.yes or given.json))
    _tell(repository, fetched, settings, as_json=given.json)


def _named(repository: str) -> tuple[str, str]:
    """The repository, and the file in it if it was named too."""
    owner, _, rest = repository.partition("/")
    name, _, file = rest.partition("/")
    if not owner or not name:
        raise PullError(f"{repository!r} is no repository: write OWNER/NAME")
    return f"{owner}/{name}", file


@contextmanager
def _explained(name: str, settings: Settings) -> Iterator[None]:
    """What the hub or the way to it refuses, in words that say what to do."""
    try:
        yield
    except GatedRepoError:
        raise PullError(
            f"{name} is given only to people who agreed to its terms: do so on its page, then set HF_TOKEN"
        ) from None
    except RepositoryNotFoundError:
        raise PullError(f"{constants.ENDPOINT} has no {name}; a private one needs HF_TOKEN") from None
    except RevisionNotFoundError:
        raise PullError(f"{name} has no such revision") from None
    except HFValidationError:
        raise PullError(f"{name!r} is no name of a repository") from None
    except HfHubHTTPError as error:
        raise PullError(f"{constants.ENDPOINT} answered with status {error.response.status_code}: try again") from None
    except HTTPError:
        raise PullError(
            f"{constants.ENDPOINT} cannot be reached, or stopped answering. The same command goes on later. Without a "
            f"hub, bring the file by other means to {settings.models} and name it in deployments.yaml: "
            "gguf: {path: FILE.gguf}. HF_ENDPOINT names another hub"
        ) from None


def _look(name: str, revision: str) -> Repository:
    info = HfApi().model_info(name, revision=revision, files_metadata=True, timeout=_ASK_SECONDS)
    files = [
        HubFile(found.rfilename, found.size, found.lfs.sha256 if found.lfs else None, found.blob_id)
        for found in info.siblings or ()
        if found.size is not None
    ]
    models = models_of(files)
    if not models:
        raise PullError(f"{name} has no GGUF files: look for a repository whose name ends in -GGUF")
    return Repository(name, info.sha or revision, models)


def _list(repository: Repository, found: Sequence[HubModel], given: argparse.Namespace) -> None:
    """Show what there is to choose from. A wish that nothing or too much fits is a failure."""
    shown = found or repository.models
    if given.json:
        models = [_facts(model) for model in shown]
        typer.echo(json.dumps({"repository": repository.name, "commit": repository.commit, "models": models}, indent=2))
    else:
        for model in shown:
            typer.echo(f"{_kind(model):<14} {_size(model.size):>9}  {model.name}{_divided(model)}")
    wish = given.file or _named(given.repository)[1]
    if wish:
        many = f"{len(found)} files fit" if found else "no file fits"
        raise PullError(f"{many} {wish!r}: choose one of those above with --file")
    if not given.json:
        typer.echo(f"Choose one: soleira models pull {repository.name} --file {_kind(shown[0])}")


def _facts(model: HubModel) -> dict[str, Any]:
    kind = "projector" if model.is_projector else "model"
    files = [file.name for file in model.files]
    return {"file": model.name, "kind": kind, "quantisation": model.quantisation, "size": model.size, "files": files}


def _kind(model: HubModel) -> str:
    return "projector" if model.is_projector else model.quantisation or "-"


def _divided(model: HubModel) -> str:
    return f" (and {len(model.files) - 1} more)" if len(model.files) > 1 else ""


def _size(number: int) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.1f} MB"


def _fetch(repository: Repository, model: HubModel, settings: Settings, *, ask: bool) -> Fetched:
    folder = settings.models / repository.name
    _refuse_beyond_http(model, settings.models)
    _make_room(model, folder, settings)
    question = f"Fetch {model.name}{_divided(model)}, {_size(model.size)}, into {folder}?"
    if ask and not all(_is_there(file, folder) for file in model.files):
        typer.confirm(question, default=True, abort=True)
    for folder_above in (settings.data, settings.models):
        folder_above.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in model.files:
        _fetch_file(repository, file, folder)
    return Fetched(folder / model.name, model.files)


def _refuse_beyond_http(model: HubModel, models: Path) -> None:
    if any(file.size > constants.MAX_HTTP_DOWNLOAD_SIZE for file in model.files):
        raise PullError(
            f"{model.name} is larger than hubs give by HTTP ({_size(constants.MAX_HTTP_DOWNLOAD_SIZE)} a file): choose "
            f"one that is divided, or fetch it with 'hf download' and copy it to {models}"
        )


def _make_room(model: HubModel, folder: Path, settings: Settings) -> None:
    """PullError unless the disk holds what is still missing, and a margin."""
    missing = sum(file.size - _present(file, folder) for file in model.files)
    there = next(parent for parent in (settings.models, *settings.models.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    if missing and free < missing + _SPARE_BYTES:
        raise PullError(
            f"{model.name} needs {_size(missing)} and {_size(_SPARE_BYTES)} to spare, and {_size(free)} are free at "
            f"{there}: make room, choose a smaller quantisation, or another disk with --data"
        )


def _present(file: HubFile, folder: Path) -> int:
    """The bytes that need not be fetched any more."""
    if _is_there(file, folder):
        return file.size
    unfinished = _unfinished(file, folder)
    return min(unfinished.stat().st_size, file.size) if unfinished.exists() else 0


def _is_there(file: HubFile, folder: Path) -> bool:
    target = folder / file.name
    return target.is_file() and target.stat().st_size == file.size


def _unfinished(file: HubFile, folder: Path) -> Path:
    """Named by its content, so that no part of another version is gone on with."""
    return folder / f"{file.name}.{(file.sha256 or file.blob_id or '')[:12]}.part"


def _fetch_file(repository: Repository, file: HubFile, folder: Path) -> None:
    target, part = folder / file.name, _unfinished(file, folder)
    if _is_there(file, folder) and _is_right(target, file):
        return typer.echo(f"{target} is there already.", err=True)
    part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        _receive(repository, file, part)
    except OSError as error:
        if isinstance(error, HTTPError):
            raise
        raise PullError(f"{file.name} could not be fetched whole ({error.strerror or 'its size is wrong'})") from None
    if not _is_right(part, file):
        part.unlink()
        raise PullError(f"{file.name} arrived with another checksum than the hub states, and was thrown away")
    part.replace(target)


def _receive(repository: Repository, file: HubFile, part: Path) -> None:
    """Fetch what is missing; what came before an interruption stays."""
    with part.open("ab") as growing:
        try:
            fcntl.flock(growing, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PullError(f"{file.name} is being fetched by another command") from None
        if growing.tell() > file.size:
            growing.truncate(0)
        http_get(
            hf_hub_url(repository.name, file.name, revision=repository.commit),
            growing,
            resume_size=growing.tell(),
            headers=_headers(),
            expected_size=file.size,
            displayed_filename=file.name,
        )


def _headers() -> dict[str, str]:
    # Compressed on its way, a file could not be gone on with at a byte.
    headers = {"User-Agent": "soleira", "Accept-Encoding": "identity"}
    token = get_token()
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _is_right(path: Path, file: HubFile) -> bool:
    """True if the content has the checksum that the hub states."""
    if file.sha256 is not None:
        return _digest(path, hashlib.sha256()) == file.sha256
    of_git = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)
    return file.blob_id is not None and _digest(path, of_git) == file.blob_id


def _digest(path: Path, digest: hashlib._Hash) -> str:
    with path.open("rb") as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _tell(repository: Repository, fetched: Fetched, settings: Settings, *, as_json: bool) -> None:
    """Say where it lies, and the entry that runs it."""
    try:
        header = gguf.read(fetched.path)
    except gguf.NotWholeError as error:
        raise PullError(f"{fetched.path} is as the hub has it, but {error}") from None
    path = str(fetched.path.relative_to(settings.models))
    entry = None if header.is_projector else _entry(path, header, settings)
    if as_json:
        files = {file.name: {"size": file.size, "sha256": file.sha256} for file in fetched.files}
        facts = {"repository": repository.name, "commit": repository.commit, "path": path, "files": files}
        return typer.echo(json.dumps({**facts, "context": header.context, "entry": entry}, indent=2))
    typer.echo(f"{fetched.path} is there, {_size(sum(file.size for file in fetched.files))}, checksum right.")
    if entry is None:
        return typer.echo(f"It is a projector: write it beside its model, gguf: {{…, mmproj: {_quoted(path)}}}")
    typer.echo(
        f"To run it, add this to {settings.pack / 'deployments.yaml'}, then start 'soleira up' again:\n\n{entry}"
    )


def _entry(path: str, header: gguf.Header, settings: Settings) -> str:
    name = _NO_NAME.sub("-", _PART.sub("", Path(path).stem).lower()).strip("-._") or "own-model"
    context = min(_USUAL_CONTEXT, header.context or _USUAL_CONTEXT)
    return "\n".join(
        [
            f"  - name: {name}",
            f"    model: {name}",
            "    engine: llama_server",
            f"    gguf: {{path: {_quoted(path)}{_projector(path, settings)}, context: {context}}}",
            f"    zone: {_loopback_zone(settings)}",
            "    price: {currency: USD, per_million: {input: 0, output: 0}, source: our own electricity, "
            f"as_of: {datetime.now(UTC).date()}}}",
        ]
    )


def _projector(path: str, settings: Settings) -> str:
    """The one that lies beside the model, if there is one."""
    beside = sorted((settings.models / path).parent.glob("mmproj*.gguf"))
    return f", mmproj: {_quoted(str(beside[0].relative_to(settings.models)))}" if beside else ""


def _quoted(text: str) -> str:
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)


def _loopback_zone(settings: Settings) -> str:
    try:
        return load_pack(settings.pack).loopback_zone.name
    except PackError:
        return "device"


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soleira models pull", add_help=False)
    parser.add_argument("repository")
    parser.add_argument("--file", default="")
    parser.add_argument("--revision", default="main")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
