"""Answers about pairs: whose count, and who is still to be asked."""

from typing import Literal

from stp.human_study.answers import Answer, Answers
from stp.human_study.pair_key import PairKey


def asked_of(key: PairKey, read: Answers) -> dict[int, list[Answer]]:
    """All answers to each question of a key, by its number, in the order in which they came."""
    found: dict[int, list[Answer]] = {number: [] for number in range(len(key.questions))}
    for answer in sorted(read.answers, key=lambda one: (one.answered_at, one.rater)):
        found[answer.question].append(answer)
    return found


def needs_rater(answers: list[Answer]) -> Literal["second", "third"] | None:
    """Is one more rater to be asked, who is at least the second one, or the third one?"""
    if len(answers) < 2:
        return "second"
    return "third" if len(answers) == 2 and not agree(answers) else None


def agree(answers: list[Answer]) -> bool:
    """Have the first two raters chosen alike? That both found no difference is alike."""
    return answers[0].model == answers[1].model


def counted(answers: list[Answer]) -> list[Answer]:
    """The answers that count: the first two, and the third one only where these disagree."""
    return answers[: 2 if len(answers) < 3 or agree(answers) else 3]
