"""Read the answers of raters: files from strangers, so every field is checked."""

import csv
import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from stp.core.disk import require_regular
from stp.core.errors import StpError
from stp.human_study.key import NONE, kept_path
from stp.opinions.raters import identical, identical_text

COLUMNS = (
    "study",
    "rater",
    "age",
    "gender",
    "position",
    "question",
    "choice",
    "shown",
    "seconds",
    "answered_at",
)
"""Of a file of answers, as the page saves it: one line per answered question."""

SHOWN_PROBLEMS = 8

SIMULATED = "simulated-"
"""What names of raters begin with that are programs: tables say so, and findings judge none."""


class Question(Protocol):
    """A question of a key; see `stp.human_study.key.Asked`."""

    @property
    def id(self) -> str: ...

    @property
    def choices(self) -> Mapping[str, str]: ...


class Asks(Protocol):
    """What reading answers asks of a key; see `stp.human_study.key.Key`.

    Attributes:
        in_rounds: whether a rater may have several files, with answers to different questions.
        rates: whether a choice is a number from 0 to 100 instead of one of the pictures.
    """

    @property
    def study(self) -> str: ...

    @property
    def cannot_tell(self) -> bool: ...

    @property
    def age_groups(self) -> Collection[str]: ...

    @property
    def genders(self) -> Collection[str]: ...

    @property
    def questions(self) -> Sequence[Question]: ...

    @property
    def in_rounds(self) -> bool: ...

    @property
    def rates(self) -> bool: ...


@dataclass(frozen=True)
class Answer:
    """What a rater chose.

    Attributes:
        rater: random name of the rater.
        question: number of the question in the key.
        model: that was chosen; None if the rater could not tell, or rated.
        place: of the chosen prediction on the page, from 0; None likewise.
        seconds: that the question was looked at before the choice.
        answered_at: when.
        rating: from 0 to 100; None where a picture was to be chosen.
    """

    rater: str
    question: int
    model: str | None
    place: int | None
    seconds: float
    answered_at: datetime
    rating: float | None = None


@dataclass(frozen=True)
class Rater:
    """Who answered; ``age`` and ``gender`` are empty where they were not given."""

    name: str
    age: str
    gender: str


@dataclass(frozen=True)
class Answers:
    """All answers of a study."""

    raters: dict[str, Rater]
    answers: list[Answer]

    def identical(self) -> list[str]:
        """A warning that names raters with the same answers; none without such."""
        given: dict[str, dict[Hashable, Hashable]] = {}
        for one in self.answers:
            given.setdefault(one.rater, {})[one.question] = (one.model, one.rating)
        text = identical_text(identical(given))
        return [f"WARNING: {text}."] if text else []


class _LineError(Exception):
    """What is wrong with a line."""


def read_answers(paths: Sequence[Path], key: Asks, key_path: Path) -> Answers:
    """Read files of answers.

    A rater with two answers to a question is refused, and one with two files as well unless the
    study has rounds: which of them counts is for people to say.

    Args:
        paths: files, or folders of ``*.csv``.
        key: of the questionnaire.
        key_path: its path, for messages.

    Raises:
        StpError: there is no file, or lines are malformed, of another study, unknown or doubled;
            names files and lines.
    """
    raters: dict[str, Rater] = {}
    whose: dict[str, Path] = {}
    answers: list[Answer] = []
    problems: list[str] = []
    studies: set[str] = set()
    reader = _Reader(key)
    earlier_answers: dict[tuple[str, int], tuple[Path, int]] = {}
    for path in _files(paths):
        for number, fields in _lines(path, problems):
            try:
                if fields[0] != key.study:
                    studies.add(fields[0])
                    raise _LineError(f"study {fields[0]!r}, not {key.study!r}")
                rater, answer = reader.read(fields)
                if whose.setdefault(rater.name, path) != path and not key.in_rounds:
                    raise _LineError(f"rater {rater.name} is in {whose[rater.name]} as well")
                if raters.setdefault(rater.name, rater) != rater:
                    raise _LineError(f"rater {rater.name} has another age or gender than above")
                place = path, number
                earlier = earlier_answers.setdefault((rater.name, answer.question), place)
                if earlier != place:
                    where = "" if earlier[0] == path else f"{earlier[0]}, "
                    raise _LineError(
                        f"rater {rater.name} answered this question in {where}line {earlier[1]}"
                    )
                answers.append(answer)
            except _LineError as error:
                problems.append(f"{path}, line {number}: {error}")
    if problems:
        _refuse(problems, studies, key_path)
    if not answers:
        raise StpError(
            "the files hold no answers",
            expected="a line for each answered question",
            remedy="collect answers with the questionnaire",
        )
    return Answers(raters, answers)


class _Reader:
    """Checks the fields of a line against the key."""

    def __init__(self, key: Asks) -> None:
        self.key = key
        self.numbers = {asked.id: number for number, asked in enumerate(key.questions)}

    def read(self, fields: Sequence[str]) -> tuple[Rater, Answer]:
        named = dict(zip(COLUMNS, fields, strict=True))
        if not re.fullmatch(rf"({SIMULATED})?[0-9a-f]{{16}}", named["rater"]):
            raise _LineError(f"rater {named['rater']!r}, not 16 hexadecimal digits")
        for column, known in (("age", self.key.age_groups), ("gender", self.key.genders)):
            if named[column] and named[column] not in known:
                raise _LineError(
                    f"{column} {named[column]!r}, not one of {', '.join(known) or 'none'}"
                )
        if named["question"] not in self.numbers:
            raise _LineError(f"unknown question {named['question']!r}")
        number = self.numbers[named["question"]]
        choices = self.key.questions[number].choices
        shown = named["shown"].split(" ")
        if sorted(shown) != sorted(choices):
            raise _LineError(
                f"shown {named['shown']!r}, not the {len(choices)} choices of the question"
            )
        choice = named["choice"]
        rating = _rating(choice) if self.key.rates else None
        if (
            rating is None
            and choice not in choices
            and not (choice == NONE and self.key.cannot_tell)
        ):
            raise _LineError(f"unknown choice {choice!r}")
        position = named["position"]
        if not re.fullmatch(r"[0-9]{1,6}", position) or not (
            1 <= int(position) <= len(self.numbers)
        ):
            raise _LineError(f"position {position!r}, not a number from 1 to {len(self.numbers)}")
        rater = Rater(named["rater"], named["age"], named["gender"])
        return rater, Answer(
            rater.name,
            number,
            choices.get(choice),
            shown.index(choice) if choice in choices else None,
            _seconds(named["seconds"]),
            _moment(named["answered_at"]),
            rating,
        )


def _rating(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", text) or float(text) > 100:
        raise _LineError(f"rating {text!r}, not a number from 0 to 100")
    return float(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise _LineError(f"seconds {text!r}, not a number from 0 on")
    return seconds


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _LineError(f"answered_at {text!r}, not a time such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _files(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.csv"))
            if not inside:
                raise StpError(
                    f"{path}: no answers",
                    expected="files that the questionnaire saved, *.csv",
                    remedy="put the files of raters there",
                )
            found |= dict.fromkeys(map(require_regular, inside))
        elif path.is_file():
            found[path] = None
        else:
            raise StpError(f"{path}: no such file or folder", remedy="name files of answers")
    return list(found)


def _lines(path: Path, problems: list[str]) -> Iterable[tuple[int, list[str]]]:
    """Lines with as many fields as they should have; others become problems."""
    try:
        # Spreadsheets put a byte order mark in front.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: {error}")
        return
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    header = True
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            problems.append(f"{path}, line {reader.line_num}: {error}")
            return
        if header:
            header = False
            if tuple(fields) != COLUMNS:
                said = ",".join(fields)[:80]
                problems.append(f"{path}, line 1: columns {said!r}, not {','.join(COLUMNS)!r}")
                return
        elif len(fields) != len(COLUMNS):
            problems.append(
                f"{path}, line {reader.line_num}: {len(fields)} fields, not {len(COLUMNS)}"
            )
        else:
            yield reader.line_num, fields
    if header:
        problems.append(f"{path}: empty")


def _refuse(problems: list[str], studies: set[str], key_path: Path) -> None:
    more = len(problems) - SHOWN_PROBLEMS
    lines = [*problems[:SHOWN_PROBLEMS], *([f"... and {more} more"] if more > 0 else [])]
    kept = [kept_path(key_path, study) for study in sorted(studies) if re.fullmatch(r"\w+", study)]
    known = [str(path) for path in kept if path.is_file()]
    if known:
        remedy = f"answers of an earlier questionnaire are read with its key: {', '.join(known)}"
    else:
        remedy = "mend these files, or take them away; a rater counts once"
    raise StpError(
        "answers cannot be read:\n" + "\n".join(lines),
        expected=f"files as the questionnaire of {key_path} saves them",
        remedy=remedy,
    )
