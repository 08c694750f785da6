"""Made-up raters with known preferences, who answer as the page would write it down."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from stp.human_study.answers import COLUMNS
from stp.human_study.key import NONE, Asked, Key

Chooser = Callable[[np.random.Generator, Asked], str]


def of_shares(shares: Mapping[str, float]) -> Chooser:
    """Choose a model with the probability of its name; the rest cannot tell."""

    def choose(rng: np.random.Generator, asked: Asked) -> str:
        names = [*shares, NONE]
        odds = [*shares.values(), max(0.0, 1 - sum(shares.values()))]
        return names[rng.choice(len(names), p=np.array(odds) / sum(odds))]

    return choose


def line(
    key: Key, asked: Asked, model: str, rng: np.random.Generator, rater: str, **more: str
) -> dict[str, str]:
    """One answer."""
    ids = {model: i for i, model in asked.choices.items()}
    shown = rng.permutation(list(asked.choices)).tolist()
    return {
        "study": key.study,
        "rater": rater,
        "age": "",
        "gender": "",
        "position": "1",
        "question": asked.id,
        "choice": ids.get(model, NONE),
        "shown": " ".join(shown),
        "seconds": f"{rng.uniform(3, 30):.1f}",
        "answered_at": "2026-01-31T12:00:00.000Z",
        **more,
    }


def write(path: Path, lines: list[dict[str, str]]) -> Path:
    """Write a file of answers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return path


def crowd(
    folder: Path,
    key: Key,
    number: int,
    choose: Chooser,
    *,
    seed: int = 0,
    about: Callable[[int], Mapping[str, str]] = lambda _: {},
) -> Path:
    """Write the files of many raters who answer all questions, in an order of their own."""
    rng = np.random.default_rng(seed)
    for i in range(number):
        rater = f"{i:016x}"
        lines = []
        for position, n in enumerate(rng.permutation(len(key.questions)), start=1):
            asked = key.questions[n]
            given = {"position": str(position), **about(i)}
            lines.append(line(key, asked, choose(rng, asked), rng, rater, **given))
        write(folder / f"answers-{rater}.csv", lines)
    return folder
