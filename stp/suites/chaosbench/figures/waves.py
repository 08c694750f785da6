"""Coherence of waves with the observation, by wavenumber and lead time: when scales are lost."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size
from stp.render.figures.panels import finish, in_words
from stp.render.figures.reading import Scores, at_leads, read, variables_of
from stp.render.figures.time_step import step_of, tick_labels, ticks

FIGURE = {
    "of_case": True,
    "about": "coherence of waves by wavenumber and lead time",
    "caption": "Coherence of waves along circles of latitude with the observation, by octave of "
    "zonal wavenumbers and lead time: white lines are where a scale is lost",
}

CONVENTION = "spectral_coherence.octaves_in_phase"
"""Its thresholds are the lowest wavenumber of each octave."""
LOST = 0.5
"""A scale whose coherence is below is lost."""


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of a case; see `stp.render.figures.kinds.render`."""
    scores = read(manifest, results)
    note = f"white: the first lead time below {LOST}; bands of wavenumbers are octaves"
    with paper_size():
        finish(draw(scores, str(case)), out, [scores.about([str(case)]), note])


def draw(scores: Scores, case: str) -> Figure:
    """Draw a row of panels for each model, a column for each variable: octaves over lead time."""
    found = {model: of for model, of in at_leads(scores, case, CONVENTION).items() if of}
    variables = variables_of(scores, case)
    places = {place for of in found.values() for place in of}
    bands = sorted({band for variable, band, _ in places if variable and band is not None})
    if not found or not bands:
        return in_words(f"{scores.title(case)}: no model has values of {CONVENTION}")
    last = max(lead for _, _, lead in places)
    figure = new_figure(TEXT_WIDTH, 0.9 + 0.55 * len(found))
    figure.suptitle(scores.title(case))
    axes = figure.subplots(len(found), len(variables), sharex=True, sharey=True, squeeze=False)
    unit, labels = tick_labels(ticks(1, last), step_of(scores.lines(case)[0].cells[0]))
    for row, (model, of) in zip(axes, found.items(), strict=True):
        for place, variable in zip(row, variables, strict=True):
            shown = np.full((len(bands), last), np.nan)
            for at, band in enumerate(bands):
                for lead in range(1, last + 1):
                    if one := of.get((variable, band, lead)):
                        shown[at, lead - 1] = one.value
            drawn = place.imshow(
                shown, cmap="viridis", vmin=0, vmax=1, aspect="auto", origin="lower",
                extent=(0.5, last + 0.5, -0.5, len(bands) - 0.5), interpolation="nearest",
                label=f"{model} {variable}",
            )  # fmt: skip
            for at, values in enumerate(shown):
                below = np.flatnonzero(values < LOST)
                if len(below):
                    place.plot([below[0] + 0.5] * 2, [at - 0.5, at + 0.5], color="white")
        row[0].set_yticks(range(len(bands)), [f"{band:g}" for band in bands])
        row[0].set_ylabel(model, rotation=0, ha="right", va="center", labelpad=14)
    for place, variable in zip(axes[0], variables, strict=True):
        place.set_title(variable)
    for place in axes[-1]:
        place.set_xticks(ticks(1, last), labels)
        place.set_xlabel(f"lead time [{unit}]")
    figure.colorbar(drawn, ax=axes, label="coherence", shrink=min(1.0, 3 / len(found)))
    return figure
