"""A picture of a search: the course of it, and which parameters mattered."""

from pathlib import Path

import optuna
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from optuna.trial import TrialState

from stp.search.study import Study

ENOUGH = 4
"""Complete trials, below which importances mean nothing."""


def draw(study: Study, title: str, path: Path) -> None:
    """Draw criterion by trial, with the best so far, and importances.

    Args:
        study: with at least one complete trial.
        title: of the picture.
        path: of the PNG file.
    """
    figure = Figure(figsize=(10, 4), layout="constrained")
    course, bars = figure.subplots(1, 2, width_ratios=(3, 2))
    figure.suptitle(f"Search: {title}")
    best = float("inf")
    numbers, bests = [], []
    for state, mark in ((TrialState.COMPLETE, "o"), (TrialState.PRUNED, "x")):
        trials = study.of_state(state)
        values = [trial.user_attrs["best_mse"] for trial in trials]
        course.plot([t.number + 1 for t in trials], values, mark, label=state.name.lower())
    for trial in study.of_state(TrialState.COMPLETE):
        best = min(best, trial.user_attrs["best_mse"])
        numbers.append(trial.number + 1)
        bests.append(best)
    course.step(numbers, bests, where="post", color="black", label="best so far")
    course.set(xlabel="trial", ylabel="criterion (validation)", yscale="log")
    course.xaxis.set_major_locator(MaxNLocator(integer=True))
    course.legend()
    found = importances(study)
    bars.barh(list(found), list(found.values()))
    bars.set(xlabel="importance (fANOVA)", xlim=(0, 1))
    if not found:
        bars.set_yticks([])
        bars.text(0.5, 0.5, "too few trials", ha="center", transform=bars.transAxes)
    figure.savefig(path, format="png", dpi=120)


def importances(study: Study) -> dict[str, float]:
    """Part of the criterion's variance that each parameter explains, least first.

    Hutter et al., ICML 2014 (fANOVA), by Optuna; of complete trials, as pruned ones have not seen
    all epochs.

    Returns:
        nothing where too few trials are complete, or all are equally good.
    """
    complete = study.of_state(TrialState.COMPLETE)
    if len(complete) < ENOUGH or len({trial.value for trial in complete}) == 1:
        return {}
    found = optuna.importance.get_param_importances(
        study.study, evaluator=optuna.importance.FanovaImportanceEvaluator(seed=0)
    )
    return dict(sorted(found.items(), key=lambda item: item[1]))
