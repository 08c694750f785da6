"""Figure of power spectra of one sample: the loss of detail of forecasts with lead time.

It is the sample of median error, whose maps are drawn in the pictures of the same test.
"""

import numpy as np
from matplotlib.figure import Figure

from stp.metrics.spectra import radial_spectrum
from stp.page.figure_style import TEXT_WIDTH, TRUTH, Style, new_figure
from stp.render.figures.panels import legend, legend_height, plain_ticks
from stp.render.figures.reading import Scores
from stp.render.pictures.forecasts import SampleForecasts, compare
from stp.render.pictures.strips import spread

FIGURE = {
    "of_case": True,
    "about": "power spectra of one start by lead time",
    "caption": "Radially averaged power spectra of truth and forecasts of the one start that maps "
    "show, by lead time; below the truth is blur",
}

LEADS = 4
"""Number of columns of panels: lead times, including the first and the last one."""


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw panels of spectra: a row for each variable, a column for each of some lead times.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: no forecasts of the test are stored, or they are damaged.
    """
    sample = compare(scores.plan, case)
    # The last note is the origin of the data, which all figures state.
    return of_sample(sample, scores.styles), [note.rstrip(".") for note in sample.notes[:-1]]


def of_sample(sample: SampleForecasts, styles: dict[str, Style]) -> Figure:
    """Draw the spectra of one sample and its forecasts; models without a style are left out."""
    leads = spread(len(sample.truth), LEADS)
    forecasts = [forecast for forecast in sample.forecasts if forecast.label in styles]
    names = ["truth", *(forecast.label for forecast in forecasts)]
    height = 0.5 + 1.6 * len(sample.variables) + legend_height(names)
    figure = new_figure(TEXT_WIDTH, height)
    figure.suptitle(f"{sample.title}, {sample.clip}")
    panels = figure.subplots(
        len(sample.variables), len(leads), sharex=True, sharey="row", squeeze=False
    )
    wavenumbers = np.arange(1, min(sample.truth.shape[2:]) // 2 + 1)
    for row, variable in zip(panels, sample.variables, strict=True):
        truth = sample.fields(sample.truth, variable)
        for axes, lead in zip(row, leads, strict=True):
            power = radial_spectrum(truth[lead])
            axes.plot(wavenumbers, power, color=TRUTH, linewidth=1.8, label="truth", zorder=1.5)
            for forecast in forecasts:
                field = sample.fields(forecast.frames, variable)[lead]
                if np.isfinite(field).all():  # else the model lacks the variable
                    style = styles[forecast.label]
                    about = {
                        "color": style.colour,
                        "linestyle": style.line,
                        "label": forecast.label,
                    }
                    axes.plot(wavenumbers, radial_spectrum(field), **about)
            axes.set_xscale("log")
            axes.set_yscale("log")
            plain_ticks(axes.xaxis)
            axes.set_title(f"{variable.name}, lead time {lead + 1}")
        row[0].set_ylabel(f"power [({variable.units})²]")
    for axes in panels[-1]:
        axes.set_xlabel("wavenumber")
    plain = {name: style._replace(marker="") for name, style in styles.items()}
    legend(figure, {"truth": Style(TRUTH, "-", ""), **plain}, names)
    return figure
