"""Figure of the coherence of forecast and observed waves by wavenumber and lead time.

Coherence is 1 where waves along circles of latitude agree, and low where a wavelength is lost.
"""

import numpy as np
from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures.panels import in_words
from stp.render.figures.reading import Scores, at_leads, variables_of
from stp.render.figures.time_step import step_of, tick_labels, ticks

FIGURE = {
    "of_case": True,
    "about": "coherence of waves by wavenumber and lead time",
    "caption": "Coherence of waves along circles of latitude with the observation, by octave of "
    "zonal wavenumbers and lead time: white lines are where a scale is lost",
}

CONVENTION = "spectral_coherence.octaves_in_phase"
"""Name of the convention; its thresholds are the lowest wavenumber of each octave."""
LOST = 0.5
"""Coherence below which waves of a length count as lost."""


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a row of panels for each model, and a column of panels for each variable.

    Each panel shows the coherence (colour) by octave of wavenumbers (y) and lead time (x).

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw.

    Returns:
        the figure, and notes to print below it.
    """
    values_by_model = {
        model: by_place
        for model, by_place in at_leads(scores, case, CONVENTION).items()
        if by_place
    }
    variables = variables_of(scores, case)
    all_places = {panel for by_place in values_by_model.values() for panel in by_place}
    bands = sorted({band for variable, band, _ in all_places if variable and band is not None})
    if not values_by_model or not bands:
        return in_words(f"{scores.title(case)}: no model has values of {CONVENTION}"), []
    last = max(lead for _, _, lead in all_places)
    figure = new_figure(TEXT_WIDTH, 0.9 + 0.55 * len(values_by_model))
    figure.suptitle(scores.title(case))
    axes = figure.subplots(
        len(values_by_model), len(variables), sharex=True, sharey=True, squeeze=False
    )
    unit, labels = tick_labels(ticks(1, last), step_of(scores.lines(case)[0].cells[0]))
    for row, (model, by_place) in zip(axes, values_by_model.items(), strict=True):
        for panel, variable in zip(row, variables, strict=True):
            coherence = np.full((len(bands), last), np.nan)
            for row_number, band in enumerate(bands):
                for lead in range(1, last + 1):
                    if value := by_place.get((variable, band, lead)):
                        coherence[row_number, lead - 1] = value.value
            image = panel.imshow(
                coherence, cmap="viridis", vmin=0, vmax=1, aspect="auto", origin="lower",
                extent=(0.5, last + 0.5, -0.5, len(bands) - 0.5), interpolation="nearest",
                label=f"{model} {variable}",
            )  # fmt: skip
            for row_number, values in enumerate(coherence):
                below = np.flatnonzero(values < LOST)
                if len(below):
                    panel.plot(
                        [below[0] + 0.5] * 2, [row_number - 0.5, row_number + 0.5], color="white"
                    )
        row[0].set_yticks(range(len(bands)), [f"{band:g}" for band in bands])
        row[0].set_ylabel(model, rotation=0, ha="right", va="center", labelpad=14)
    for panel, variable in zip(axes[0], variables, strict=True):
        panel.set_title(variable)
    for panel in axes[-1]:
        panel.set_xticks(ticks(1, last), labels)
        panel.set_xlabel(f"lead time [{unit}]")
    figure.colorbar(image, ax=axes, label="coherence", shrink=min(1.0, 3 / len(values_by_model)))
    return figure, [f"white: the first lead time below {LOST}; bands of wavenumbers are octaves"]
