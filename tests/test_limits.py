"""Bombs are refused by what their headers say, before they are unpacked or read."""

import hashlib
import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from stp.core import limits
from stp.core.errors import StpError
from stp.data.raw_files import RawFiles
from stp.export import checking
from stp.fetch.archive import unpack
from stp.plan import config
from stp.prepare import members
from stp.prepare.own import arrays
from stp.prepare.pictures import decode_picture
from stp.prepare.video import decode_grey


def bomb(path: Path, name: str, size: int = 3_000_000_000) -> Path:
    """A zip file with one small member, whose headers claim another size."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(1000))
    content = bytearray(path.read_bytes())
    content[22:26] = struct.pack("<I", size)  # of the member
    start = content.rindex(b"PK\x01\x02")  # and of the list of members
    content[start + 24 : start + 28] = struct.pack("<I", size)
    path.write_bytes(content)
    return path


def raw_of(path: Path) -> RawFiles:
    content = path.read_bytes()
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    lock = path.with_name("lock.json")
    lock.write_text(json.dumps({"files": {path.name: entry}}))
    return RawFiles(lock, [path.parent])


def test_a_member_of_a_zip_file_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hidden", b"bytes")
    path.write_bytes(path.read_bytes().replace(b"hidden", b"\0idden"))  # a name ends at a zero
    with zipfile.ZipFile(path) as archive, pytest.raises(StpError, match=r"a\.zip"):
        limits.require_zip(path, archive)


@pytest.mark.parametrize(("unit", "named"), [("", "ratio"), ("times", "times")])
def test_what_is_above_a_limit_is_told_with_its_unit(monkeypatch, unit, named) -> None:
    monkeypatch.setenv(limits.VARIABLE, "ratio=2000")
    limits.require("a.zip", 2000, "ratio", unit)
    with pytest.raises(StpError) as refused:
        limits.require("a.zip", 2001, "ratio", unit)
    assert f"2,001 {named}" in refused.value.what and f"2,000 {named}" in refused.value.expected


def test_limits_are_read_from_the_environment(monkeypatch) -> None:
    assert limits.limits() == limits.Limits()
    monkeypatch.setenv(limits.VARIABLE, "ratio=5, pixels=100")
    assert limits.limits() == limits.Limits(ratio=5, pixels=100)
    for wrong in ("size=5", "ratio=-1", "ratio=0", "ratio"):
        monkeypatch.setenv(limits.VARIABLE, wrong)
        with pytest.raises(StpError, match="STP_LIMITS") as caught:
            limits.limits()
        assert "unpacked_gb" in caught.value.expected


@pytest.mark.parametrize("kind", ["unpack", "members", "arrays", "bundle"])
def test_a_zip_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path, kind: str) -> None:
    name = "predictions.npy" if kind == "arrays" else "a.bin"
    path = bomb(tmp_path / ("a.npz" if kind == "arrays" else "a.zip"), name)
    with pytest.raises(StpError, match=r"a\.(zip|npz)") as caught:
        if kind == "unpack":
            unpack(
                path, tmp_path, "", listing=tmp_path / "list",
                wanted=lambda name: True, find=lambda name: None,
            )  # fmt: skip
        elif kind == "members":
            members.find(raw_of(path), r"(\w+)\.bin")
        elif kind == "arrays":
            arrays.contents(path)
        else:
            checking.check(path)
    assert "STP_LIMITS=ratio=" in caught.value.remedy
    assert not (tmp_path / "a.bin").exists()


def test_a_tar_file_with_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(4):
            info = tarfile.TarInfo(f"{number}.bin")
            info.size = 1000
            archive.addfile(info, io.BytesIO(bytes(1000)))
    monkeypatch.setenv(limits.VARIABLE, "members=3")
    with pytest.raises(StpError, match=r"a\.tgz: .*4 "):
        unpack(
            path, tmp_path, "", listing=tmp_path / "list",
            wanted=lambda name: True, find=lambda name: None,
        )  # fmt: skip
    monkeypatch.setenv(limits.VARIABLE, "members=4")
    assert unpack(
        path, tmp_path, "", listing=tmp_path / "list",
        wanted=lambda name: True, find=lambda name: None,
    ) == 4  # fmt: skip


def test_a_member_is_not_larger_than_its_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(2048))
    member = members.Member("a.tar", "x", 512, 7_000_000_000)
    with pytest.raises(StpError, match=r"a\.tar"):
        members.read(raw_of(path), member)


def test_pictures_and_videos_with_too_many_pixels_are_refused(tmp_path: Path, monkeypatch) -> None:
    file = io.BytesIO()
    Image.new("L", (64, 32)).save(file, "PNG")
    film = tmp_path / "a.mp4"
    with av.open(str(film), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((32, 64, 3), np.uint8))
        container.mux([*stream.encode(frame), *stream.encode()])
    assert decode_picture(file.getvalue(), "a.png", "L").shape == (32, 64, 1)
    assert decode_grey(film, "a.mp4").shape[1:] == (32, 64)
    monkeypatch.setenv(limits.VARIABLE, "pixels=2000")
    with pytest.raises(StpError, match=r"a\.png: .*2,048"):
        decode_picture(file.getvalue(), "a.png", "L")
    with pytest.raises(StpError, match=r"a\.mp4: .*2,048"):
        decode_grey(film, "a.mp4")


LAUGHS = "a0: &a0 x\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)
)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        MERGES,
        "a: &a [*a]",
        "a: &a 1\nb: *a\nc: " + "[" * 150 + "]" * 150,
        "[" * 100_000,
        "{a: " * 5_000 + "1" + "}" * 5_000,
        "- " * 5_000 + "1",
    ],
)
def test_yaml_that_stands_for_too_much_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(StpError, match=r"a\.yaml"):
        config.read_yaml(path)


def test_large_yaml_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with path.open("wb") as file:
        file.truncate(11_000_000)
    with pytest.raises(StpError, match=r"a\.yaml .*11 MB"):
        config.read_yaml(path)


def test_few_aliases_mean_what_they_did(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: '*&'}\n")
    assert config.read_yaml(path) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": "*&"}}
