"""Read the answers of raters: files from strangers, so every field is checked."""

import csv
import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stp.core.disk import require_regular
from stp.core.errors import StpError
from stp.opinions.raters import identical, identical_text
from stp.studies.answer_key import NONE, Key, kept_path

COLUMNS = ("study", "rater", "age", "gender", "position", "question", "choice", "shown", "seconds",
           "answered_at")  # fmt: skip
"""Of a file of answers, as the page saves it: one line per answered question."""

SHOWN_PROBLEMS = 8

SIMULATED = "simulated-"
"""What names of raters begin with that are programs: tables say so, and findings judge none."""


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

    def identical(self) -> str:
        """A sentence that names raters with the same answers; empty without such."""
        given: dict[str, dict[Hashable, Hashable]] = {}
        for answer in self.answers:
            given.setdefault(answer.rater, {})[answer.question] = (answer.model, answer.rating)
        return identical_text(identical(given))

    def warnings(self) -> list[str]:
        """What a table has to say of these raters."""
        said = []
        if any(name.startswith(SIMULATED) for name in self.raters):
            said.append("WARNING: raters are SIMULATED by a program. No person has said any of it.")
        return said + ([f"WARNING: {text}."] if (text := self.identical()) else [])


class _LineError(Exception):
    """What is wrong with a line."""


def read_answers(paths: Sequence[Path], key: Key, key_path: Path) -> Answers:
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
    numbers = {asked.id: number for number, asked in enumerate(key.questions)}
    earlier_answers: dict[tuple[str, int], tuple[Path, int]] = {}
    for path in files_of_answers(paths):
        for number, fields in _lines(path, problems):
            try:
                if fields["study"] != key.study:
                    studies.add(fields["study"])
                    raise _LineError(f"study {fields['study']!r}, not {key.study!r}")
                rater, answer = _answer(fields, key, numbers)
                if whose.setdefault(rater.name, path) != path and not key.in_rounds:
                    raise _LineError(f"rater {rater.name} is in {whose[rater.name]} as well")
                if raters.setdefault(rater.name, rater) != rater:
                    raise _LineError(f"rater {rater.name} has another age or gender than above")
                here = path, number
                earlier = earlier_answers.setdefault((rater.name, answer.question), here)
                if earlier != here:
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


def _answer(fields: dict[str, str], key: Key, numbers: dict[str, int]) -> tuple[Rater, Answer]:
    """Check the fields of a line against the key."""
    if not re.fullmatch(rf"({SIMULATED})?[0-9a-f]{{16}}", fields["rater"]):
        raise _LineError(f"rater {fields['rater']!r}, not 16 hexadecimal digits")
    about = key.about
    for column, offered in (("age", about.age_groups), ("gender", about.genders)):
        if fields[column] and fields[column] not in offered:
            raise _LineError(
                f"{column} {fields[column]!r}, not one of {', '.join(offered) or 'none'}"
            )
    if fields["question"] not in numbers:
        raise _LineError(f"unknown question {fields['question']!r}")
    number = numbers[fields["question"]]
    choices = key.questions[number].choices
    shown = fields["shown"].split(" ")
    if sorted(shown) != sorted(choices):
        raise _LineError(
            f"shown {fields['shown']!r}, not the {len(choices)} choices of the question"
        )
    choice, rating = fields["choice"], None
    if about.item == "rating":
        if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", choice) or float(choice) > 100:
            raise _LineError(f"rating {choice!r}, not a number from 0 to 100")
        rating = float(choice)
    elif choice not in choices and not (choice == NONE and about.cannot_tell):
        raise _LineError(f"unknown choice {choice!r}")
    position = fields["position"]
    if not re.fullmatch(r"[0-9]{1,6}", position) or not 1 <= int(position) <= len(numbers):
        raise _LineError(f"position {position!r}, not a number from 1 to {len(numbers)}")
    return Rater(fields["rater"], fields["age"], fields["gender"]), Answer(
        fields["rater"],
        number,
        choices.get(choice),
        shown.index(choice) if choice in choices else None,
        _seconds(fields["seconds"]),
        _moment(fields["answered_at"]),
        rating,
    )


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


def files_of_answers(paths: Sequence[Path]) -> list[Path]:
    """All files, those in folders included, each once.

    Raises:
        StpError: a file is missing or no regular file, or a folder has none.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.csv"))
            if not inside:
                raise StpError(
                    f"{path}: no answers",
                    expected="files that the questionnaire saved, *.csv",
                    remedy="put the files of raters there",
                )
            files |= dict.fromkeys(map(require_regular, inside))
        elif path.is_file():
            files[path] = None
        else:
            raise StpError(f"{path}: no such file or folder", remedy="name files of answers")
    return list(files)


def _lines(path: Path, problems: list[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """Numbers and fields of lines that have all fields; others become problems."""
    try:
        # Spreadsheets put a byte order mark in front.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: {error}")
        return
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        header = next(reader, None)
        if header is None:
            problems.append(f"{path}: empty")
            return
        if tuple(header) != COLUMNS:
            said = ",".join(header)[:80]
            problems.append(f"{path}, line 1: columns {said!r}, not {','.join(COLUMNS)!r}")
            return
        for fields in reader:
            if len(fields) != len(COLUMNS):
                said = f"{len(fields)} fields, not {len(COLUMNS)}"
                problems.append(f"{path}, line {reader.line_num}: {said}")
            else:
                yield reader.line_num, dict(zip(COLUMNS, fields, strict=True))
    except csv.Error as error:
        problems.append(f"{path}, line {reader.line_num}: {error}")


def _refuse(problems: list[str], studies: set[str], key_path: Path) -> None:
    more = len(problems) - SHOWN_PROBLEMS
    lines = [*problems[:SHOWN_PROBLEMS], *([f"... and {more} more"] if more > 0 else [])]
    kept = [kept_path(key_path, study) for study in sorted(studies) if re.fullmatch(r"\w+", study)]
    earlier = [str(path) for path in kept if path.is_file()]
    remedy = "mend these files, or take them away; a rater counts once"
    if earlier:
        remedy = f"answers of an earlier questionnaire are read with its key: {', '.join(earlier)}"
    raise StpError(
        "answers cannot be read:\n" + "\n".join(lines),
        expected=f"files as the questionnaire of {key_path} saves them",
        remedy=remedy,
    )
