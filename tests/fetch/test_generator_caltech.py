"""The generated Caltech videos are Norpix files: parsed here by offsets, without our reader."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stp.fetch.raw import run_generator

OPTIONS = {"sets": [6, 10], "videos": 2, "frames": 12, "height": 24, "width": 32}


@pytest.fixture(scope="module", params=[8, 16])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("caltech", {**OPTIONS, "footer": request.param}, out)
    return out / "caltech"


def parse(content: bytes) -> list[tuple[bytes, bytes]]:
    """Pictures, and what lies between them: cut at the markers that begin and end a JPEG file."""
    found = []
    position = 1024
    while position < len(content):
        (size,) = struct.unpack_from("<I", content, position)
        picture = content[position + 4 : position + size]
        after = content.find(b"\xff\xd8\xff", position + size)
        stop = len(content) if after < 0 else after - 4
        found.append((picture, content[position + size : stop]))
        position = stop
    return found


def test_names(made: Path) -> None:
    names = sorted(path.relative_to(made).as_posix() for path in made.rglob("*.*"))
    assert names == [f"set{s}/V00{v}.seq" for s in ("06", "10") for v in range(2)]


def test_the_header_has_its_numbers_at_the_documented_places(made: Path) -> None:
    content = (made / "set06" / "V000.seq").read_bytes()
    assert struct.unpack_from("<I", content, 0) == (0xFEED,)
    assert content[4:28].decode("utf-16-le").rstrip("\0") == "Norpix seq"
    assert struct.unpack_from("<ii", content, 28) == (3, 1024)
    assert content[36:548] == bytes(512)
    # width, height, bit depth, real bit depth, bytes of an image, 102: JPEG, frames, origin, true
    numbers = struct.unpack_from("<9I", content, 548)
    assert numbers == (32, 24, 24, 8, 32 * 24 * 3, 102, 12, 0, 0)
    assert struct.unpack_from("<d", content, 584) == (30.0,)
    assert content[592:1024] == bytes(432)


def test_frames_are_jpeg_files_with_their_times(made: Path, request: pytest.FixtureRequest) -> None:
    footer = request.node.callspec.params["made"]
    frames = parse((made / "set10" / "V001.seq").read_bytes())
    assert len(frames) == 12
    times = []
    for picture, rest in frames:
        assert picture[:2] == b"\xff\xd8" and picture[-2:] == b"\xff\xd9"
        with Image.open(io.BytesIO(picture)) as opened:
            assert (opened.format, opened.mode, opened.size) == ("JPEG", "RGB", (32, 24))
        assert len(rest) == footer and rest[8:] == bytes(footer - 8)
        seconds, milli, micro = struct.unpack("<IHH", rest[:8])
        assert milli < 1000 and micro < 1000
        times.append(seconds * 10**6 + milli * 1000 + micro)
    assert set(np.diff(times).tolist()) == {33_333, 33_334}


def test_a_video_does_not_depend_on_the_others(made: Path, tmp_path: Path) -> None:
    length = len(parse((made / "set06" / "V000.seq").read_bytes())[0][1])
    options = {**OPTIONS, "sets": [10], "footer": length}
    run_generator("caltech", options, tmp_path / "again")
    again = (tmp_path / "again" / "caltech" / "set10" / "V001.seq").read_bytes()
    assert again == (made / "set10" / "V001.seq").read_bytes()
    assert again != (made / "set10" / "V000.seq").read_bytes()
