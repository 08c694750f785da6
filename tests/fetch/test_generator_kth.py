"""The generated KTH videos have the official format and names."""

import re
from itertools import pairwise
from pathlib import Path

import av
import pytest

from stp.datasets.kth.generator import sequence_spans
from stp.fetch.raw import run_generator

OPTIONS = {"persons": [2, 13], "scenarios": [3], "frames": 130}
LINE = re.compile(
    r"person\d\d_(boxing|handclapping|handwaving|jogging|running|walking)_d[1-4]"
    r" *\t\t?frames\t\d+-\d+(, \d+-\d+){2,3}"
    r"|person13_handclapping_d3\t\*missing\*"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("kth", OPTIONS, out)
    return out / "kth"


def listed(made: Path) -> dict[str, list[tuple[int, int]]]:
    """Clip name -> sequences as (first, last) frame, counted from 1, both included."""
    spans = {}
    for line in (made / "00sequences.txt").read_text().splitlines():
        name, *_, last = line.split()
        if last != "*missing*":
            numbers = re.findall(r"(\d+)-(\d+)", line)
            spans[name] = [(int(first), int(end)) for first, end in numbers]
    return spans


def test_names_and_sequences_are_in_the_official_style(made: Path) -> None:
    content = (made / "00sequences.txt").read_bytes()
    assert content.endswith(b"\r\n")
    lines = content.decode("ascii").split("\r\n")[:-1]
    assert len(lines) == 2 * 6
    assert lines[0] == "person02_boxing_d3\t\tframes\t1-32, 33-65, 66-97, 98-130"
    assert all(LINE.fullmatch(line) for line in lines)
    assert lines == sorted(lines)
    # the clip that the official data lacks is lacking here, too
    assert "person13_handclapping_d3\t*missing*" in lines
    files = {path.relative_to(made).as_posix() for path in made.rglob("*.avi")}
    assert files == {f"{name.split('_')[1]}/{name}_uncomp.avi" for name in listed(made)}
    assert len(files) == 11


@pytest.mark.sample_bytes
def test_the_official_list_has_the_same_style(raw_mirror: Path) -> None:
    content = (raw_mirror / "kth/00sequences.txt").read_bytes().decode("ascii")
    assert content.endswith("\r\n")
    lines = content.split("\r\n")[:-1]
    assert len(lines) == 25 * 6 * 4
    assert all(LINE.fullmatch(line) for line in lines)
    assert lines[0] == "person01_boxing_d1\t\tframes\t1-95, 96-185, 186-245, 246-360"


@pytest.mark.sample_bytes
def test_a_real_video_has_the_same_properties(made: Path, raw_mirror: Path) -> None:
    def properties(path: Path) -> tuple:
        with av.open(str(path)) as video:
            stream = video.streams.video[0]
            codec = stream.codec_context
            return (
                video.format.name,
                (codec.name, codec.codec_tag, codec.pix_fmt),
                (stream.width, stream.height, stream.average_rate, stream.time_base),
            )

    real = properties(raw_mirror / "kth/boxing/person04_boxing_d1_uncomp.avi")
    assert properties(made / "boxing/person02_boxing_d3_uncomp.avi") == real


def test_videos_are_mpeg4_and_as_long_as_listed(made: Path) -> None:
    for name, spans in listed(made).items():
        with av.open(str(made / name.split("_")[1] / f"{name}_uncomp.avi")) as video:
            stream = video.streams.video[0]
            codec = stream.codec_context
            assert (codec.name, codec.codec_tag, codec.pix_fmt) == ("mpeg4", "DX50", "yuv420p")
            assert (stream.width, stream.height, stream.average_rate) == (160, 120, 25)
            first = next(video.decode(video=0)).to_ndarray()  # planes below each other
            assert (first[120:] == 128).all()  # no colour
            assert 1 + sum(1 for _ in video.decode(video=0)) == 130 == spans[-1][1]
        assert len(spans) == 4
        assert spans[0][0] == 1
        assert all(a <= b < c for (a, b), (c, _) in pairwise(spans))


def test_faster_actions_have_shorter_sequences() -> None:
    # 160 pixels at 2.2, 3.3 and 4.6 pixels per frame
    lengths = [
        [last - first for first, last in sequence_spans(action, 1.0, 400, 4)]
        for action in ("walking", "jogging", "running")
    ]
    assert lengths == [[73] * 4, [48] * 4, [35] * 4]
    # a clip that is too short for whole crossings is filled with shorter ones
    # too short for the whole way, but never without a gap
    assert sequence_spans("walking", 1.0, 80, 4) == [(0, 19), (20, 39), (40, 59), (61, 80)]
    assert sequence_spans("walking", 1.0, 80, 1) == [(0, 80)]


def test_a_clip_does_not_depend_on_the_others(made: Path, tmp_path: Path) -> None:
    alone = {"persons": [13], "actions": ["running"], "scenarios": [3], "frames": 130}
    run_generator("kth", alone, tmp_path / "same")
    name = "running/person13_running_d3_uncomp.avi"
    assert (tmp_path / "same/kth" / name).read_bytes() == (made / name).read_bytes()
