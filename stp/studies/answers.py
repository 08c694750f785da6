"""Read files of answers from raters; every field is checked, since raters are strangers."""

import csv
import io
import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from stp.core.disk import require_regular
from stp.core.errors import FileError, StpError
from stp.opinions.raters import identical, identical_text
from stp.studies.answer_key import NONE, Key, key_copy_path

COLUMNS = ("study", "rater", "age", "gender", "position", "question", "choice", "shown", "seconds",
           "answered_at")  # fmt: skip
"""Columns of a file of answers, as the page saves it: one line per answered question."""

MOST_PROBLEMS = 8
"""Maximum number of wrong lines that an error message lists."""

SIMULATED = "simulated-"
"""Prefix of the names of simulated raters: tables mark them, and no finding is judged by them."""


@dataclass(frozen=True)
class Answer:
    """The answer of a rater to one question of a questionnaire.

    Attributes:
        rater: random name of the rater.
        question: index of the question in the key.
        model: name of the chosen model; None for "cannot tell", and for a rating.
        position: position of the chosen prediction on the page, from 0; None if no model was
            chosen.
        seconds: time in seconds for which the question was visible before the choice.
        answered_at: time of the choice.
        rating: rating from 0 to 100; None if a prediction was to be chosen.
    """

    rater: str
    question: int
    model: str | None
    position: int | None
    seconds: float
    answered_at: datetime
    rating: float | None = None


class Rater(NamedTuple):
    """A rater; ``age`` and ``gender`` are empty if the rater did not state them."""

    name: str
    age: str
    gender: str


@dataclass(frozen=True)
class Answers:
    """All answers of a study, and the raters by name."""

    raters: dict[str, Rater]
    answers: list[Answer]

    def identical(self) -> str:
        """A sentence that names raters with identical answers; empty if there are none."""
        by_rater: dict[str, dict[Hashable, Hashable]] = {}
        for answer in self.answers:
            choice = (answer.model, answer.rating)
            by_rater.setdefault(answer.rater, {})[answer.question] = choice
        return identical_text(identical(by_rater))

    def warnings(self) -> list[str]:
        """Warnings for the head of a table: raters are simulated, or gave identical answers."""
        warnings = []
        if any(name.startswith(SIMULATED) for name in self.raters):
            warnings.append("WARNING: raters are SIMULATED by a program; no person answered.")
        return warnings + ([f"WARNING: {text}."] if (text := self.identical()) else [])


class _LineError(Exception):
    """A line of a file of answers is wrong."""


def read_answers(paths: Sequence[Path], key: Key, key_path: Path) -> Answers:
    """Read files of answers.

    Two answers of a rater to one question are refused, since people must decide which one counts;
    so are two files of a rater, unless raters of the study answer several pages.

    Args:
        paths: paths of files, or of folders of ``*.csv`` files.
        key: key of the questionnaire.
        key_path: path of the key, for error messages.

    Raises:
        StpError: there are no answers; or lines are malformed or duplicated, or belong to another
            study or an unknown question. The message names files and lines.
    """
    raters: dict[str, Rater] = {}
    file_of_rater: dict[str, Path] = {}
    answers: list[Answer] = []
    problems: list[str] = []
    studies: set[str] = set()
    numbers = {question.id: number for number, question in enumerate(key.questions)}
    line_of_answer: dict[tuple[str, int], str] = {}
    for path in files_of_answers(paths):
        try:
            columns, lines = read_csv(path)
        except FileError as error:
            problems.append(error.what)
            continue
        if columns != COLUMNS:
            problem = f"columns {','.join(columns)[:80]!r}, not {','.join(COLUMNS)!r}"
            problems.append(f"{path}: {problem}")
            continue
        for number, fields in lines:
            try:
                if fields["study"] != key.study:
                    studies.add(fields["study"])
                    raise _LineError(f"study {fields['study']!r}, not {key.study!r}")
                rater, answer = _parse_answer(fields, key, numbers)
                file = file_of_rater.setdefault(rater.name, path)
                if file != path and not key.in_rounds:
                    raise _LineError(f"rater {rater.name} is in {file} as well")
                if raters.setdefault(rater.name, rater) != rater:
                    raise _LineError(f"rater {rater.name} has another age or gender than above")
                line = f"{path}, line {number}"
                earlier = line_of_answer.setdefault((rater.name, answer.question), line)
                if earlier != line:
                    raise _LineError(f"rater {rater.name} answered this question in {earlier}")
                answers.append(answer)
            except _LineError as error:
                problems.append(f"{path}, line {number}: {error}")
    if problems:
        _refuse(problems, studies, key_path)
    if not answers:
        raise StpError("the files hold no answers", expected="a line for each answered question")
    return Answers(raters, answers)


def _parse_answer(
    fields: dict[str, str], key: Key, numbers: dict[str, int]
) -> tuple[Rater, Answer]:

    def demand(column: str, is_valid: object, expected: str) -> None:
        if not is_valid:
            raise _LineError(f"{column} {fields[column]!r}, not {expected}")

    about = key.about
    is_name = re.fullmatch(rf"({SIMULATED})?[0-9a-f]{{16}}", fields["rater"])
    demand("rater", is_name, "16 hexadecimal digits")
    for column, offered in (("age", about.age_groups), ("gender", about.genders)):
        expected = f"one of {', '.join(offered) or 'none'}"
        demand(column, fields[column] in ("", *offered), expected)
    demand("question", fields["question"] in numbers, "in the key")
    number = numbers[fields["question"]]
    choices = key.questions[number].choices
    visible = fields["shown"].split(" ")
    is_complete = sorted(visible) == sorted(choices)
    demand("shown", is_complete, f"the {len(choices)} choices of the question")
    choice, rating = fields["choice"], None
    if about.item == "rating":
        rating = (
            _parse_number(choice)
            if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", choice)
            else math.nan
        )
        demand("choice", rating <= 100, "a rating from 0 to 100")
    else:
        is_offered = choice in choices or (choice == NONE and about.cannot_tell)
        demand("choice", is_offered, "one of the question")
    position = fields["position"]
    is_position = re.fullmatch(r"[0-9]{1,6}", position) and 1 <= int(position) <= len(numbers)
    demand("position", is_position, f"a number from 1 to {len(numbers)}")
    seconds = _parse_number(fields["seconds"])
    demand("seconds", math.isfinite(seconds) and seconds >= 0, "a number from 0 on")
    time = _time(fields["answered_at"])
    demand("answered_at", time is not None, "a time such as 2026-01-31T12:00:00Z")
    assert time is not None
    return Rater(fields["rater"], fields["age"], fields["gender"]), Answer(
        rater=fields["rater"],
        question=number,
        model=choices.get(choice),
        position=visible.index(choice) if choice in choices else None,
        seconds=seconds,
        answered_at=time,
        rating=rating,
    )


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def files_of_answers(paths: Sequence[Path]) -> list[Path]:
    """List files of answers, including those in folders, without duplicates.

    Raises:
        StpError: a file is missing or not regular, or a folder has no CSV file.
    """
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.csv"))
            if not inside:
                raise FileError(path, "no answers", expected="files that the page saved, *.csv")
            files |= dict.fromkeys(map(require_regular, inside))
        elif path.is_file():
            files[path] = None
        else:
            raise FileError(path, "no such file or folder")
    return list(files)


def read_csv(path: Path) -> tuple[tuple[str, ...], list[tuple[int, dict[str, str]]]]:
    """Read a CSV file in a format that spreadsheets save.

    Returns:
        names of the columns; for each line, its number in the file and its fields by column.

    Raises:
        FileError: the file cannot be read, or a line has more or fewer fields than columns.
    """
    try:
        # Spreadsheets put a byte order mark in front.
        text = path.read_text(encoding="utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        columns = tuple(next(reader, ()))
        lines = [(reader.line_num, fields) for fields in reader if fields]  # without empty lines
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"cannot be read ({error})", expected="CSV in UTF-8") from None
    for number, fields in lines:
        if len(fields) != len(columns):
            problem = f"{len(fields)} fields, not {len(columns)}"
            raise FileError(f"{path}, line {number}", problem)
    return columns, [(number, dict(zip(columns, fields, strict=True))) for number, fields in lines]


def _refuse(problems: list[str], studies: set[str], key_path: Path) -> None:
    more = len(problems) - MOST_PROBLEMS
    lines = [*problems[:MOST_PROBLEMS], *([f"... and {more} more"] if more > 0 else [])]
    copies = [
        key_copy_path(key_path, study) for study in sorted(studies) if re.fullmatch(r"\w+", study)
    ]
    earlier = [str(path) for path in copies if path.is_file()]
    remedy = "fix these files, or remove them; a rater counts once"
    if earlier:
        remedy = f"answers of an earlier questionnaire are read with its key: {', '.join(earlier)}"
    raise StpError(
        "answers cannot be read:\n" + "\n".join(lines),
        expected=f"files as the questionnaire of {key_path} saves them",
        remedy=remedy,
    )
