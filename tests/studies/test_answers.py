"""Files of answers: what is read, and what is refused with file and line."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from raters import crowd, line, of_shares, write
from small_study import MODELS, Paths

from stp.core.errors import StpError
from stp.studies.answer_key import NONE, BestOfKey, key_copy_path, load_key
from stp.studies.answers import read_answers

RATER = f"{1:016x}"

Lines = list[dict[str, str]]


@pytest.fixture(scope="module")
def key(written: Paths) -> BestOfKey:
    return load_key(written.key, BestOfKey)


def lines_of(key: BestOfKey, rater: str = RATER) -> Lines:
    """A rater chooses MCVD everywhere."""
    rng = np.random.default_rng(0)
    return [line(key, asked, "mcvd", rng, rater) for asked in key.questions]


def read(key: BestOfKey, *paths: Path):
    return read_answers(paths, key, Path("key.json"))


def test_answers_are_models_places_and_times(key: BestOfKey, tmp_path: Path) -> None:
    lines = lines_of(key)
    lines[0] |= {"choice": NONE, "seconds": "2.5"}
    for one in lines:
        one |= {"age": "18-24", "gender": "male"}
    path = write(tmp_path / "a.csv", lines)
    found = read(key, path)
    assert [answer.model for answer in found.answers] == [None] + ["mcvd"] * 11
    assert [answer.question for answer in found.answers] == list(range(12))
    assert (found.answers[0].position, found.answers[0].seconds) == (None, 2.5)
    for answer, one in zip(found.answers[1:], lines[1:], strict=True):
        assert one["shown"].split()[answer.position] == one["choice"]
    assert found.raters[RATER].age == "18-24"
    about = key.about.model_copy(update={"cannot_tell": False})
    with pytest.raises(StpError, match="choice 'none'"):
        read(key.model_copy(update={"about": about}), path)


def test_a_folder_holds_files_of_many_raters(key: BestOfKey, tmp_path: Path) -> None:
    folder = crowd(tmp_path / "answers", key, 7, of_shares(dict.fromkeys(MODELS, 0.3)))
    (folder / "notes.txt").write_text("no answers")
    found = read(key, folder)
    assert (len(found.raters), len(found.answers)) == (7, 7 * 12)
    some = sorted(folder.glob("*.csv"))[:3]
    assert len(read(key, *some).raters) == 3
    assert len(read(key, folder, *some).raters) == 7, "a file named twice is one file"


def test_a_rater_may_answer_a_part_and_a_spreadsheet_may_have_saved_it(
    key: BestOfKey, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", lines_of(key)[:4])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(read(key, path).answers) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"study": "0" * 16}, "line 4: study '0000000000000000'"),
        ({"rater": "Alice"}, "line 4: rater 'Alice'"),
        ({"age": "12"}, "line 4: age '12'"),
        ({"gender": "?"}, "line 4: gender '?'"),
        ({"age": "18-24"}, f"line 4: rater {RATER}"),
        ({"position": "0"}, "line 4: position '0'"),
        ({"position": "13"}, "line 4: position '13'"),
        ({"position": "1e1"}, "line 4: position '1e1'"),
        ({"question": "0" * 12}, "line 4: question '000000000000'"),
        ({"choice": "mcvd"}, "line 4: choice 'mcvd'"),
        ({"choice": ""}, "line 4: choice ''"),
        ({"shown": "a b c"}, "line 4: shown 'a b c'"),
        ({"seconds": "nan"}, "line 4: seconds 'nan'"),
        ({"seconds": "-1"}, "line 4: seconds '-1'"),
        ({"seconds": "long"}, "line 4: seconds 'long'"),
        ({"answered_at": "now"}, "line 4: answered_at 'now'"),
    ],
)
def test_a_bad_line_is_named(
    key: BestOfKey, tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    lines = lines_of(key)
    lines[2] |= changes
    path = write(tmp_path / "a.csv", lines)
    with pytest.raises(StpError) as error:
        read(key, path)
    assert f"{path}, {said}" in str(error.value)


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new, 1)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda _: b"", "a.csv"),
        (lambda _: b"\x00\xff\xfe", "a.csv"),
        (replaced(b"rater", b"name"), "study,name,age"),
        (lambda content: content.replace(b",", b";"), "study;rater"),
        (lambda content: content[:-40], "a.csv, line 13"),
        (replaced(b"\n", b'\n"'), "a.csv"),
        (lambda content: content.partition(b"\n")[0], "answers"),
    ],
)
def test_a_malformed_file_is_refused(
    key: BestOfKey, tmp_path: Path, spoil: Callable[[bytes], bytes], said: str
) -> None:
    path = write(tmp_path / "a.csv", lines_of(key))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(StpError) as error:
        read(key, path)
    assert said in str(error.value)


def test_a_rater_counts_once_and_many_problems_are_told_at_once(
    key: BestOfKey, tmp_path: Path
) -> None:
    lines = lines_of(key)
    first = write(tmp_path / "a.csv", [*lines[:5], lines[2]])
    second = write(tmp_path / "b.csv", [one | {"age": "7"} for one in lines])
    third = write(tmp_path / "c.csv", lines[5:6])
    with pytest.raises(StpError) as error:
        read(key, tmp_path)
    said = str(error.value)
    assert re.search(f"{first}, line 7.*{RATER}.*{first}, line 4", said)
    assert f"{second}, line 2" in said and "6 more" in said
    with pytest.raises(StpError, match=f"{third}, line 2.*{RATER}.*{second.name}"):
        write(first, lines_of(key, f"{2:016x}"))
        write(second, lines[:5])
        read(key, tmp_path)


def test_nothing_to_read_is_refused(key: BestOfKey, tmp_path: Path) -> None:
    with pytest.raises(StpError, match="answers"):
        read(key, tmp_path)
    with pytest.raises(StpError, match="nowhere"):
        read(key, tmp_path / "nowhere")


def test_answers_to_an_earlier_questionnaire_are_told_their_key(
    key: BestOfKey, tmp_path: Path
) -> None:
    lines = [one | {"study": "feedfeedfeedfeed"} for one in lines_of(key)]
    path = write(tmp_path / "answers" / "a.csv", lines)
    with pytest.raises(StpError, match="feedfeedfeedfeed"):
        read_answers([path], key, tmp_path / "key.json")
    kept = key_copy_path(tmp_path / "key.json", "feedfeedfeedfeed")
    kept.parent.mkdir()
    kept.write_text("{}")
    with pytest.raises(StpError, match=str(kept)):
        read_answers([path], key, tmp_path / "key.json")
