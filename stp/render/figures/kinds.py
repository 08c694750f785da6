"""Which kinds of figures there are; light, since the plan asks before anything is drawn."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from stp.core.errors import StpError, nearest
from stp.plan.cell_key import CellKey
from stp.plan.setting import setting_of

SPECTRA = "spectral_divergence.mean_spectra"
"""The convention whose sums are spectra."""

FEWEST_MODELS, FEWEST_BLOCKS = 3, 5
"""Of a critical difference: models, and datasets of the test."""


class Kind(NamedTuple):
    """A kind of figure.

    Attributes:
        module: has ``render(manifest, results, out, case)``: path of the manifest, folder of
            results, PNG file to write (an SVG goes beside it), and the case.
        of_case: whether there is one for each case of a dimension, or one for all.
        about: what it shows, in a few words.
        caption: what `snakemake --report` says below it.
        of_scenarios: whether it shows predictions of scenarios, whose cases are named by dataset
            and protocol.
    """

    module: str
    of_case: bool
    about: str
    caption: str
    of_scenarios: bool = False


KINDS = {
    "leads": Kind(
        "stp.render.figures.leads",
        True,
        "scores over lead time",
        "Scores over the lead time, one panel for each column of the paper. Bands are "
        "95 % intervals over clusters of clips; right of the dashed line lies "
        "extrapolation",
    ),
    "lead_means": Kind(
        "stp.render.figures.lead_means",
        True,
        "means over lead times",
        "Means of the scores over lead times, a point for each forecast: above the line those of "
        "no trained network",
    ),
    "gain": Kind(
        "stp.render.figures.gain",
        True,
        "ensembles over single forecasts, by lead time",
        "Scores of ensembles divided by those of the single forecasts of the same model, "
        "over the lead time",
    ),
    "detail": Kind(
        "stp.render.figures.detail",
        True,
        "power spectra of one start by lead time",
        "Radially averaged power spectra of truth and forecasts of the one start that maps show, "
        "by lead time; below the truth is blur",
    ),
    "waves": Kind(
        "stp.render.figures.waves",
        True,
        "coherence of waves by wavenumber and lead time",
        "Coherence of waves along circles of latitude with the observation, by octave of zonal "
        "wavenumbers and lead time: white lines are where a scale is lost",
    ),
    "front": Kind(
        "stp.render.figures.front",
        True,
        "divergence of spectra against errors",
        "SpecDiv against RMSE of trained networks and their variants, with 95 % intervals, and the "
        "front of each network",
    ),
    "rank_histogram": Kind(
        "stp.render.figures.rank_histogram",
        True,
        "rank of the observation among members",
        "How often the observation has each rank among the members of an ensemble, at some lead "
        "times: flat if members are like it",
    ),
    "spectra": Kind(
        "stp.render.figures.spectra",
        True,
        "power spectra of truth and forecasts",
        "Radially averaged power spectra of truth and forecasts (convention "
        "spectral_divergence.mean_spectra), and their ratio: below 1 is blur, above 1 "
        "noise",
    ),
    "ranks": Kind(
        "stp.render.figures.ranks",
        False,
        "rank of every model everywhere",
        "The rank of every model in every column of the paper",
    ),
    "overview": Kind(
        "stp.render.figures.overview",
        False,
        "all scores of all models",
        "All scores of all models, in the conventions of the paper's columns",
    ),
    "critical_difference": Kind(
        "stp.render.figures.critical_difference",
        False,
        "which mean ranks differ",
        "Mean ranks of all models; those that a bar joins do not differ significantly",
    ),
    "speed": Kind(
        "stp.render.figures.speed",
        False,
        "speed against quality",
        "Speed of the forecasts against their quality",
    ),
    "slopes": Kind(
        "stp.render.figures.slopes",
        False,
        "scores over the frame interval, or another setting",
        "Scores over the frame interval, the share of training or the number of components",
    ),
    "opinions": Kind(
        "stp.render.figures.opinions",
        False,
        "opinions of raters, and what measures of quality say of them",
        "Opinion scores and those of two halves of the raters; correlations of features, errors of "
        "MCS and RFD, pairs of videos that measures rank the other way, and time",
    ),
    "accuracy": Kind(
        "stp.render.figures.accuracy",
        False,
        "errors over observation, noise or horizon",
        "Errors over the observation length, the added noise or the prediction horizon",
        of_scenarios=True,
    ),
    "horizon": Kind(
        "stp.render.figures.horizon",
        True,
        "errors over the lead time",
        "ADE and FDE as if the forecast ended at each lead time",
        of_scenarios=True,
    ),
    "people": Kind(
        "stp.render.figures.people",
        True,
        "errors by the number of people",
        "Errors by the number of people in the scenario",
        of_scenarios=True,
    ),
    "runtime": Kind(
        "stp.render.figures.runtime",
        False,
        "time by the number of people",
        "Milliseconds of a prediction by the number of people",
        of_scenarios=True,
    ),
    "paths": Kind(
        "stp.render.figures.paths",
        True,
        "predicted paths on the map",
        "Observed, true and predicted paths on the map",
        of_scenarios=True,
    ),
    "densities": Kind(
        "stp.render.figures.densities",
        True,
        "predicted densities on the map",
        "Where predictors expect people, as densities on the map, beside where people "
        "went (conventions position_nlp.mixture and position_nlp.grid score them)",
        of_scenarios=True,
    ),
}
"""By the name in the path: ``figures/<dimension>/<kind>[/<case>].png``."""


def evaluation_name(key: CellKey) -> str:
    """Name where people were predicted: the case of a figure of scenarios."""
    return f"{key.tested_on}-{key.subset}"


VARIED = ("observe", "noise", "horizon", "people")
"""Settings that a figure of scenarios may be drawn over."""


SLOPES = {
    "interval": "frame interval",
    "training": "per cent of the videos that are learnt from",
    "components": "principal components",
}
"""Settings that scores are drawn over, and what the axis says."""


def varied_setting(keys: Iterable[CellKey]) -> str | None:
    """The first setting of `VARIED` in which tests of one predictor differ."""
    values: dict[tuple[Any, ...], dict[str, set[int | None]]] = {}
    for key in keys:
        who = (key.model, key.variant, key.trained_on, key.train_subset)
        setting = setting_of(key.setting)
        of = values.setdefault((*who, evaluation_name(key)), {})
        for name in VARIED:
            of.setdefault(name, set()).add(setting.get(name))
    return next((n for n in VARIED if any(len(of[n]) > 1 for of in values.values())), None)


def render(kind: str, manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Draw a figure.

    Args:
        kind: one of `KINDS`.
        manifest: of the dimension.
        results: the folder with ``collected/<dimension>.parquet``.
        out: path of the PNG file; the SVG is written next to it.
        case: what was tested, see `CellKey.case_name`; for kinds with one figure for
            each.

    Raises:
        StpError: there is no such kind or case, something is missing or damaged, or the kind has
            nothing to draw; nothing is written.
    """
    if kind not in KINDS:
        raise StpError(f"there is no figure {kind!r}", remedy=nearest(kind, KINDS))
    if KINDS[kind].of_case and case is None:
        raise StpError(f"a figure {kind!r} is one of a case", remedy="name one with --cell")
    if not KINDS[kind].of_case and case is not None:
        raise StpError(f"a figure {kind!r} is one of all cases", remedy="leave --cell out")
    if out.suffix != ".png":
        raise StpError(
            f"{out} is no name of a PNG file",
            expected="a name that ends in .png; the SVG file goes beside it",
            remedy=f"write to {out.with_suffix('.png')}",
        )
    import_module(KINDS[kind].module).render(manifest, results, out, case)
