"""Speed against quality: forecast frames per second against mean rank."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.core.receipts import require_receipt
from stp.render.figures.panels import (
    in_words,
    legend,
    legend_height,
    panels,
    plain_ticks,
    point,
)
from stp.render.figures.ranking import rank
from stp.render.figures.reading import Scores

FIGURE = {
    "of_case": False,
    "about": "speed against quality",
    "caption": "Speed of the forecasts against their quality",
}

NOTE = (
    "durations of whole jobs, including start-up, reading and writing; in rings, joined by a line:"
    " models that no other beats in both speed and rank"
)


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw forecast frames per second against mean rank, a panel for each device.

    The speed of a model is the geometric mean over the cases (tests of the dimension) that all
    models of the panel ran with this device, so that models are compared on the same work.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    devices, ranking = speeds(scores), rank(scores)
    notes = [NOTE, *ranking.notes]
    if len(ranking.models) < 2 or not ranking.places or not devices:
        text = "Speed against quality needs at least two ranked models with a duration."
        return in_words(text), notes
    means = dict(zip(ranking.models, ranking.means.tolist(), strict=True))
    below = legend_height(ranking.models)
    figure, all_panels = panels(len(devices), 2.7, columns=2, extra=0.3 + below)
    for axes, (device, speeds_of) in zip(all_panels, devices.items(), strict=True):
        shared = set.intersection(*(set(cases) for cases in speeds_of.values()))
        axes.set_title(f"{device} ({len(shared)} case{'s' if len(shared) != 1 else ''})")
        axes.set_xlabel("forecast frames per second")
        axes.set_ylabel("mean rank")
        points = {
            model: (
                float(np.exp(np.mean([np.log(cases[c]) for c in sorted(shared)]))),
                means[model],
            )
            for model, cases in speeds_of.items()
            if shared and not np.isnan(means[model])
        }
        if not points:
            text = "no case was run\nwith all its models"
            axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
            axes.set_xticks([])
            axes.set_yticks([])
            continue
        _panel(axes, scores, points)
    legend(figure, scores.styles, ranking.models, lines=False)
    return figure, notes


def _panel(axes: Axes, scores: Scores, points: Mapping[str, tuple[float, float]]) -> None:
    best = pareto_front(points)
    axes.plot(
        [points[m][0] for m in best],
        [points[m][1] for m in best],
        color="#999999",
        linewidth=0.9,
        marker="o",
        markersize=12,
        markerfacecolor="none",
        label="front",
        zorder=1,
    )
    for model, (speed, mean) in points.items():
        style = scores.styles[model]
        axes.plot(speed, mean, label=model, **point(style))
    axes.set_xscale("log")
    plain_ticks(axes.xaxis)
    axes.margins(0.12)
    axes.invert_yaxis()


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Pareto front: models that no other model beats in both speed and mean rank, fastest first.

    Args:
        points: speed (higher is better) and mean rank (lower is better) of each model.
    """
    chosen: list[str] = []
    for model in sorted(points, key=lambda m: (-points[m][0], points[m][1])):
        if not chosen or points[model][1] < points[chosen[-1]][1]:
            chosen.append(model)
    return chosen


def speeds(scores: Scores) -> dict[str, dict[str, dict[str, float]]]:
    """Compute forecast frames per second by device, model and case (a test of the dimension).

    They are computed from the durations that were recorded with the predictions.
    Processors of different machines count as different devices. Speeds are averaged over seeds.
    Predictions without a recorded duration are left out.
    """
    by_device: dict[str, dict[str, dict[str, list[float]]]] = {}
    for case, lines in scores.cases.items():
        for line in lines:
            for cell in line.cells:
                if cell.predictions is None or cell.external:
                    continue  # its time includes scoring, or was spent elsewhere
                device, speed = _speed(Path(cell.predictions))
                if speed is not None:
                    models = by_device.setdefault(device, {})
                    models.setdefault(line.model, {}).setdefault(case, []).append(speed)
    return {
        device: {
            model: {case: _mean(values) for case, values in cases.items()}
            for model, cases in models.items()
        }
        for device, models in sorted(by_device.items())
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _speed(predictions: Path) -> tuple[str, float | None]:
    receipt = require_receipt(predictions)
    provenance, extras = receipt.provenance, receipt.extras
    device = provenance.device or "unknown device"
    if device == "cpu":
        device = f"CPU of {provenance.host or 'an unknown machine'}"
    seconds = provenance.seconds
    frames = extras.get("samples", 0) * extras.get("lead_times", 0)
    return device, frames / seconds if seconds and frames else None
