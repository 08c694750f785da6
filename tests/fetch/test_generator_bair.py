"""The generated BAIR archive has the official layout."""

import struct
import tarfile
from pathlib import Path

import google_crc32c
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"train": 3, "test": 1, "per_file": 2, "frames": 4, "size": 16}
OFFICIAL_BYTES = 741_594  # of each record in the recorded fixture


def walk(data: bytes) -> list[tuple[int, bytes]]:
    """(number, content) of the fields of a message that holds nothing but messages and bytes."""
    fields, at = [], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        assert tag & 7 == 2, "length-delimited"
        length = number()
        fields.append((tag >> 3, data[at : at + length]))
        at += length
    return fields


def split_records(content: bytes) -> list[bytes]:
    def masked(data: bytes) -> int:
        crc = google_crc32c.value(data)
        return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF

    found, at = [], 0
    while at < len(content):
        length, crc = struct.unpack_from("<QI", content, at)
        assert crc == masked(content[at : at + 8])
        data = content[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", content, at + 12 + length)[0] == masked(data)
        found.append(data)
        at += 16 + length
    return found


def context(record: bytes) -> dict[str, tuple[int, list[bytes]]]:
    """{key: (kind of list, its values)} of the context of a SequenceExample."""
    ((field, features),) = walk(record)
    assert field == 1
    found = {}
    for one, entry in walk(features):
        assert one == 1
        (_, key), (_, feature) = walk(entry)
        ((kind, values),) = walk(feature)
        found[key.decode()] = (kind, [value for _, value in walk(values)])
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("bair", OPTIONS, out)
    assert [p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()] == [
        "bair/bair_robot_pushing_dataset_v0.tar"
    ]
    return out / "bair" / "bair_robot_pushing_dataset_v0.tar"


def members(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive, "r:") as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}


def test_files_and_records_are_named_and_framed_as_officially(archive: Path) -> None:
    files = members(archive)
    assert {name: len(split_records(content)) for name, content in files.items()} == {
        "softmotion30_44k/test/traj_0_to_1.tfrecords": 1,
        "softmotion30_44k/train/traj_0_to_1.tfrecords": 2,
        "softmotion30_44k/train/traj_2_to_3.tfrecords": 1,
    }


def test_a_record_has_the_official_features(archive: Path) -> None:
    for content in members(archive).values():
        for record in split_records(content):
            found = context(record)
            expected = {
                f"{t}/{key}"
                for t in range(4)
                for key in (
                    "image_main/encoded",
                    "image_aux1/encoded",
                    "action",
                    "endeffector_pos",
                )
            }
            assert set(found) == expected
            assert list(found) != sorted(found)  # as in the fixture, in no order
            for key, (kind, values) in found.items():
                ((size),) = [len(value) for value in values]
                if "image" in key:
                    assert (kind, size) == (1, 16 * 16 * 3)  # raw bytes, no JPEG
                else:
                    assert (kind, size) == (2, 4 * (4 if "action" in key else 3))  # packed floats


def test_official_options_give_official_sizes(tmp_path: Path) -> None:
    run_generator("bair", {"train": 1, "test": 1, "packed": False}, tmp_path / "raw")
    folder = tmp_path / "raw" / "bair" / "softmotion30_44k"
    for name in ("train/traj_0_to_255.tfrecords", "test/traj_0_to_255.tfrecords"):
        (record,) = split_records((folder / name).read_bytes())
        assert len(record) == OFFICIAL_BYTES
        assert len(context(record)) == 120


@pytest.mark.sample_bytes
def test_a_record_is_built_like_one_of_the_fixture(archive: Path, raw_mirror: Path) -> None:
    file = raw_mirror / "bair_format_fixture/softmotion30_44k/test/traj_0_to_255.tfrecords"
    (record,) = split_records(file.read_bytes())
    assert len(record) == OFFICIAL_BYTES
    official = context(record)
    made = context(split_records(next(iter(members(archive).values())))[0])
    assert set(made) == {key for key in official if int(key.split("/")[0]) < 4}
    for key, (kind, values) in made.items():
        assert (kind, len(values)) == (official[key][0], len(official[key][1]))
        if "image" not in key:
            assert len(values[0]) == len(official[key][1][0])
