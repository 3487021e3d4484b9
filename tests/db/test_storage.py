"""Where a ledger may lie: not on a network file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.db.engine import open_engine
from gateway.db.storage import NetworkFileSystemError, refuse_network

MOUNTS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:25 / /mnt/nas rw,relatime shared:5 - nfs4 nas:/export rw,vers=4.2
31 30 8:2 / /mnt/nas/scratch rw - xfs /dev/sdb1 rw
32 21 0:26 / /mnt/with\040blank rw - cifs //nas/share rw
33 21 0:27 / /mnt/pool rw - fuse.mergerfs a:b rw
34 21 0:28 / /mnt/cloud rw master:3 propagate_from:2 - fuse.rclone remote: rw
35 21 0:29 / /mnt/twice rw - nfs nas:/old rw
36 35 8:3 / /mnt/twice rw - btrfs /dev/sdc1 rw
""".strip()


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/nas/soleira/ledger.db", "nfs4"),
        ("/mnt/nas", "nfs4"),
        ("/mnt/with blank/ledger.db", "cifs"),
        ("/mnt/cloud/deep/below/ledger.db", "fuse.rclone"),
    ],
)
def test_a_ledger_over_the_network_is_refused_with_the_place_and_the_remedy(path: str, kind: str, mounts: Path) -> None:
    with pytest.raises(NetworkFileSystemError, match=kind) as told:
        refuse_network(Path(path), mounts)

    assert "--data" in str(told.value)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ana/data/ledger.db",
        "/mnt/nas/scratch/ledger.db",
        "/mnt/nasty/ledger.db",
        "/mnt/pool/ledger.db",
        "/mnt/twice/ledger.db",
    ],
)
def test_a_ledger_on_a_disk_of_this_machine_is_taken(path: str, mounts: Path) -> None:
    refuse_network(Path(path), mounts)


def test_a_link_is_followed_to_where_the_file_really_is(tmp_path: Path) -> None:
    remote, mounts = tmp_path / "remote", tmp_path / "mountinfo"
    remote.mkdir()
    (tmp_path / "data").symlink_to(remote)
    mounts.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {remote.resolve()} rw - nfs nas:/x rw\n")

    with pytest.raises(NetworkFileSystemError):
        refuse_network(tmp_path / "data" / "ledger.db", mounts)


def test_a_system_that_does_not_tell_its_mounts_is_taken_as_it_is(tmp_path: Path) -> None:
    refuse_network(tmp_path / "ledger.db", tmp_path / "nothing here")


def test_the_folder_of_the_tests_is_taken_by_the_engine(tmp_path: Path) -> None:
    assert open_engine(f"sqlite+aiosqlite:///{tmp_path}/ledger.db").url.database == f"{tmp_path}/ledger.db"
