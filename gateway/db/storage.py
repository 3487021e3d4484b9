"""Which folders SQLite may be trusted in: its locks and shared memory do not work over a network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "smbfs",
        "fuse.ceph",
        "fuse.curlftpfs",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.goofys",
        "fuse.gvfsd-fuse",
        "fuse.juicefs",
        "fuse.moosefs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
    }
)
_OCTAL = re.compile(r"\\([0-7]{3})")


class NetworkFileSystemError(RuntimeError):
    """A ledger there could be corrupted, so it is not opened."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What is mounted where."""

    point: Path
    kind: str

    @property
    def is_remote(self) -> bool:
        return self.kind in _REMOTE


def refuse_network(path: Path, mounts: Path = _MOUNTS) -> None:
    """Raise NetworkFileSystemError if `path` lies on one; a system that does not tell its mounts is taken as it is."""
    mount = _mount_of(path, mounts)
    if mount is not None and mount.is_remote:
        raise NetworkFileSystemError(
            f"{str(path)!r} is on a network file system ({mount.kind} at {str(mount.point)!r}), "
            "where SQLite loses data: choose a data directory on a local disk (--data DIR)"
        )


def _mount_of(path: Path, mounts: Path) -> Mount | None:
    resolved = path.resolve()
    covering = [mount for mount in _read(mounts) if resolved.is_relative_to(mount.point)]
    # Of mounts over one another at the same point the last one is seen.
    return max(reversed(covering), key=lambda mount: len(mount.point.parts), default=None)


def _read(mounts: Path) -> list[Mount]:
    if not mounts.exists():
        return []
    return [_parse(line) for line in mounts.read_text(errors="surrogateescape").splitlines()]


def _parse(line: str) -> Mount:
    """`36 35 98:0 /root /point options tags - kind source options`, blanks in names as octal (proc(5))."""
    place, _, what = line.partition(" - ")
    point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), place.split(" ")[4])
    return Mount(Path(point), what.split(" ")[0])
