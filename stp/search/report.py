"""What a search leaves for people: the best parameters, a table of the trials, and a picture."""

import textwrap
from collections import Counter
from pathlib import Path

import yaml
from optuna.trial import FrozenTrial, TrialState

from stp.core.disk import beside, write_text, writing
from stp.core.errors import StpError
from stp.page.safe_text import csv_text
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.strict import Json
from stp.search.drawing import draw
from stp.search.space import path_of, with_values, word
from stp.search.study import Study

STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "unfinished",
}
COLUMNS = ("trial", "state", "best_mse", "best_epoch", "epochs", "seconds")


def write(plan: Plan, training: Artefact, study: Study, out: Path) -> Path:
    """Write ``<out>.yaml``, ``<out>_trials.csv`` and ``<out>_history.png``.

    Args:
        plan: of the training.
        training: that was varied.
        study: with at least one trial that came to its end.
        out: the first of these files.

    Raises:
        StpError: no trial came to its end, or the files cannot be written.
    """
    best = study.best
    table, picture = beside_of(out)
    with writing(out):
        write_text(table, _table(study))
        if best is None:
            reasons = [t.user_attrs.get("reason", "") for t in study.of_state(TrialState.FAIL)]
            raise StpError(
                f"none of {len(study.trials)} trials of {training.recipe['model']} on "
                f"{training.dataset} came to its end; the last: {(reasons or ['unfinished'])[-1]}",
                expected="one at least",
                remedy=f"correct the space (see {table}), such as a lower train.lr",
            )
        with beside(picture) as temporary:
            draw(study, f"{training.recipe['model']} on {training.dataset}", temporary)
        write_text(out, _settings(plan, training, study, best))
    return out


def beside_of(out: Path) -> tuple[Path, Path]:
    """The table and the picture that belong to a file of best parameters."""
    return out.with_name(f"{out.stem}_trials.csv"), out.with_name(f"{out.stem}_history.png")


def _settings(plan: Plan, training: Artefact, study: Study, best: FrozenTrial) -> str:
    """The best parameters as they stand under ``models:`` in a scale file."""
    model, dataset = training.recipe["model"], training.dataset
    about = plan.config.datasets[dataset]
    source = about.releases[about.release].source
    counts = Counter(STATES[trial.state] for trial in study.trials)
    ends = ", ".join(f"{counts[name]} {name}" for name in STATES.values() if counts[name])
    notes = best.user_attrs
    comments = [
        f"Best of {len(study.trials)} trials ({ends}) "
        f"of {model} on {dataset}, {study.space.budget.epochs} epochs each: trial "
        f"{best.number + 1}.",
        f"Criterion: {notes['criterion']}: {best.value!r}, after epoch {notes['best_epoch']}. "
        "Test data were not looked at.",
        f"Data: {source} (release {about.release}), scale {plan.config.scale.scale}.",
        f"Space: config/search/{path_of(model).name}; study: {study.folder}.",
        "To use it, put this under models: in a scale file; nothing reads it by itself.",
    ]
    values: Json = with_values({}, study.values(best))
    content = yaml.safe_dump({model: {"datasets": {dataset: values}}}, sort_keys=True)
    lines = [line for comment in comments for line in textwrap.wrap(comment, 94)]
    return "".join(f"  # {line}\n" for line in lines) + textwrap.indent(content, "  ")


def _table(study: Study) -> str:
    """All trials as CSV; parameters by their place in a recipe."""
    keys = sorted(study.space.space)
    lines: list[list[object]] = [[*COLUMNS, *keys, "reason"]]
    for trial in study.trials:
        notes, values = trial.user_attrs, study.values(trial)
        lines.append(
            [
                trial.number + 1,
                STATES[trial.state],
                *(notes.get(column, "") for column in COLUMNS[2:]),
                *(_cell(values.get(key)) for key in keys),
                notes.get("reason", ""),
            ]
        )
    return csv_text(lines)


def _cell(value: object) -> str:
    return value if isinstance(value, str) else word(value)
