"""Rank the models of one table in each of its tests and metrics, and compute mean ranks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from stp.render.figures.reading import Scores


@dataclass(frozen=True)
class Ranking:
    """Ranks of models: 1 is the best, ties get their mean rank.

    Attributes:
        models: titles of the models, ordered by mean rank, then as in the manifest.
        places: case (name of the test) and column (name of the metric) of each ranking.
        ranks: rank of each model in each of `places`, float64 (models, places); NaN where a model
            has no value.
        means: mean rank of each model, float64 (models,), averaged over the columns of a case, then
            over cases, so that all cases have equal weight; NaN for a model without any rank.
        left_out: columns that cannot be ranked, with reasons.
    """

    models: list[str]
    places: list[tuple[str, str]]
    ranks: np.ndarray
    means: np.ndarray
    left_out: list[str]

    @property
    def lacking(self) -> list[str]:
        """Models without a rank in some of `places`, so that their mean rank covers fewer."""
        missing = np.isnan(self.ranks).any(axis=1)
        return [model for model, lacks in zip(self.models, missing, strict=True) if lacks]

    @property
    def notes(self) -> list[str]:
        """Notes to print below a figure of mean ranks."""
        names = ", ".join(self.lacking)
        text = f"* {names}: values are missing; the mean rank is over the others"
        return [*([text] if self.lacking else []), *self.left_out]

    def blocks(self, block_of: Callable[[str], str]) -> tuple[list[str], np.ndarray]:
        """Average the ranks within blocks: groups of tests, such as all tests on one dataset.

        Args:
            block_of: function that returns the name of the block, given the name of a test.

        Returns:
            names of the blocks, and mean ranks, float64 (models, blocks); NaN where a model has no
            rank in a block.
        """
        of_case = [block_of(case) for case, _ in self.places]
        names = list(dict.fromkeys(of_case))
        columns = [
            _mean(self.ranks[:, [b == name for b in of_case]]) for name in names
        ]  # each (models,)
        return names, np.stack(columns, axis=1) if columns else np.empty((len(self.models), 0))


def rank(scores: Scores) -> Ranking:
    """Rank the models of a table in every column, separately for each test (such as a dataset).

    A column is left out, with a reason, if no model has a value, or if neither higher nor lower
    values are better.
    """
    models = list(scores.styles)
    places: list[tuple[str, str]] = []
    ranks: list[np.ndarray] = []
    left_out: dict[str, list[str]] = {}
    for case, lines in scores.cases.items():
        for column in scores.columns(case):
            direction = scores.direction(case, column)
            losses = np.full(len(models), np.nan)
            reasons = [] if direction.is_known else ["neither higher nor lower is better"]
            for line in lines:
                entry = line.row.entries[column]
                if entry.value is None:
                    reasons.append(entry.reason)
                elif direction.is_known:
                    losses[models.index(line.model)] = direction.loss(entry.value)
            if np.isnan(losses).all():
                tested = lines[0].cells[0].key.tested_on
                titles = left_out.setdefault(f"{column} left out: {reasons[0]}", [])
                titles.append(scores.plan.names.datasets.get(tested, tested))
                continue
            places.append((case, column))
            # NaN stays NaN, and is ignored in other ranks.
            ranks.append(stats.rankdata(losses, nan_policy="omit"))
    table = np.stack(ranks, axis=1) if ranks else np.empty((len(models), 0))
    cases = list(dict.fromkeys(case for case, _ in places))
    by_case = [_mean(table[:, [c == case for c, _ in places]]) for case in cases]
    means = _mean(np.stack(by_case, axis=1)) if by_case else np.full(len(models), np.nan)
    order = np.argsort(means, kind="stable")  # NaN goes last
    return Ranking(
        [models[i] for i in order],
        places,
        table[order],
        means[order],
        [_append_datasets(text, titles, len(scores.cases)) for text, titles in left_out.items()],
    )


def _mean(ranks: np.ndarray) -> np.ndarray:
    """Mean over the last axis, ignoring NaN; NaN where all values are NaN."""
    has_rank = ~np.isnan(ranks)
    counts = has_rank.sum(axis=-1)
    sums = np.where(has_rank, ranks, 0.0).sum(axis=-1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _append_datasets(text: str, datasets: Sequence[str], cases: int) -> str:
    """Append the datasets without a column to a text, unless all cases lack the column."""
    if len(datasets) == cases:
        return text
    names = list(dict.fromkeys(datasets))
    return f"{text} ({', '.join(names) if len(names) <= 3 else f'{len(names)} datasets'})"
