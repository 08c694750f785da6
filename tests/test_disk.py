"""Names of files that others have written lead nowhere else."""

import os
import socket

import numpy as np
import pytest
import zarr

from stp.core.disk import require_regular, safe_join
from stp.core.errors import StpError
from stp.data.zarr_codecs import check_codecs
from stp.external.scoring import evaluate
from stp.fetch.raw import _glob
from stp.inspect.guess_tracks import members
from stp.inspect.own_files import members_of
from stp.prepare.own.videos import probe
from stp.score.video_folder import find_clips
from stp.studies.answers import files_of_answers


@pytest.mark.parametrize("name", ["", "/a", "..", "../a", "a/../../b", "a\nb"])
def test_names_that_leave_a_folder_are_refused(tmp_path, name):
    with pytest.raises(StpError, match="archive: "):
        safe_join(tmp_path, name, "archive")


def test_links_are_followed_unless_there_must_be_none(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    for name in ("real", "real/a.txt", "not/there", "alias", "alias/a.txt"):
        assert safe_join(tmp_path, name, "archive") == tmp_path / name
    for name in ("real", "real/a.txt", "not/there"):
        assert safe_join(tmp_path, name, "archive", links=False) == tmp_path / name
    for name in ("alias", "alias/a.txt"):
        with pytest.raises(StpError, match=f"archive: {name} "):
            safe_join(tmp_path, name, "archive", links=False)


def test_only_files_and_folders_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    (tmp_path / "file").touch()
    (tmp_path / "gone").symlink_to("nothing")
    for name in ("file", ".", "gone", "missing"):
        assert require_regular(tmp_path / name) == tmp_path / name
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    for name, kind in {"pipe": "named pipe", "socket": "socket", "/dev/zero": "device"}.items():
        with pytest.raises(StpError, match=rf"{name} is a {kind}"):
            require_regular(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("a.mp4", find_clips),
        ("a.npy", find_clips),
        ("clip/0.png", find_clips),
        ("a.mp4", lambda folder: probe(folder / "a.mp4")),
        ("p.npy", lambda folder: evaluate(folder / "p.npy", folder / "p.npy")),
        ("deep/a.gif", members_of),
        ("deep/0.png", members_of),
        ("a.csv", members),
        ("a.zarr/c/0/0", members_of),
        ("a.mp4", lambda folder: _glob("*.mp4", [folder])),
        ("rater.csv", lambda folder: files_of_answers([folder])),
    ],
)
def test_a_named_pipe_in_a_folder_is_refused_by_its_name(tmp_path, name, read):
    """Its reader would wait for ever."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    with pytest.raises(StpError, match=f"{name} is a named pipe"):
        read(tmp_path)


def test_a_named_pipe_for_a_chunk_of_a_store_is_refused(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(path, data=np.ones((4, 4)), chunks=(2, 2), zarr_format=3)
    check_codecs(path)
    (path / "c/1/0").unlink()
    os.mkfifo(path / "c/1/0")
    with pytest.raises(StpError, match="c/1/0 is a named pipe"):
        check_codecs(path)
