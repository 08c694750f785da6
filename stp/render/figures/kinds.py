"""Registry of the kinds of figures; it imports little, since planning uses it."""

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from stp.core import named_modules
from stp.core.errors import StpError, suggest_name
from stp.plan.cell_key import CellKey
from stp.plan.setting import setting_of

SPECTRA = "spectral_divergence.mean_spectra"
"""Convention (exact definition of a metric) whose stored sums are power spectra."""

FEWEST_MODELS, FEWEST_BLOCKS = 3, 5
"""Minimum numbers of models and of test datasets for a critical difference."""


class Kind(NamedTuple):
    """A kind of figure, declared by its module in the constant ``FIGURE``, a dict of literals.

    Attributes:
        module: name of the module. Its function ``draw(scores)`` or, with `of_case`, ``draw(scores,
            case)`` makes the figure, and the notes below it, from the scores of a dimension
            (`stp.render.figures.reading.Scores`).
        of_case: whether each case of a dimension (one of its tests, such as ``kitti-caltech``) has
            its own figure, instead of one figure for all cases.
        about: content of the figure, in a few words.
        caption: caption of the figure in `snakemake --report`.
        of_scenarios: whether the figure shows predictions of people, where cases are named by
            dataset and protocol.
    """

    module: str
    of_case: bool
    about: str
    caption: str
    of_scenarios: bool = False


ROOM = "stp.render.figures"
_FIGURE = re.compile(r"^FIGURE = (\{.*?^\})$", re.MULTILINE | re.DOTALL)


def _kinds() -> dict[str, Kind]:
    """Find all kinds of figures, by name of the module in this package or in a suite.

    Raises:
        StpError: two modules have the same name, or ``FIGURE`` is not a literal.
    """
    kinds = {}
    for name in named_modules.names_in(ROOM):
        module = named_modules.module_of(ROOM, name)
        path = named_modules.file_of(module)
        declared = _FIGURE.search(path.read_text(encoding="utf-8"))
        if declared is not None:
            try:
                kinds[name] = Kind(module, **ast.literal_eval(declared[1]))
            except (TypeError, ValueError) as error:
                raise StpError(
                    f"{path}: FIGURE ({error})",
                    expected="of_case, about, caption and perhaps of_scenarios, as literals",
                ) from None
    return kinds


KINDS = _kinds()
"""Kinds by the name in the path: ``figures/<dimension>/<kind>[/<case>].png``."""


def evaluation_name(key: CellKey) -> str:
    """Name of a test of predictors of people's paths in the paths of figures: ``atlas_eth-strict``.

    The name consists of the test dataset and the protocol.
    """
    return f"{key.tested_on}-{key.subset}"


VARIED = ("observe", "noise", "horizon", "people")
"""Settings that a figure of scenarios may be drawn over."""


SLOPES = {
    "interval": "frame interval",
    "training": "per cent of the videos that are learnt from",
    "components": "principal components",
}
"""Labels of the axis, by setting that scores are drawn over."""


def varied_setting(keys: Iterable[CellKey]) -> str | None:
    """Find the setting, such as ``noise``, of which predictors were tested with several values.

    Args:
        keys: keys of all cells (results of one predictor in one test).

    Returns:
        the first such setting in the order observe (length of the observation), noise, horizon,
        people (minimum number of people); None if there is none.
    """
    values: dict[tuple[object, ...], dict[str, set[int | None]]] = {}
    for key in keys:
        predictor = (key.model, key.variant, key.trained_on, key.train_subset)
        setting = setting_of(key.setting)
        values_of = values.setdefault((*predictor, evaluation_name(key)), {})
        for name in VARIED:
            values_of.setdefault(name, set()).add(setting.get(name))
    return next(
        (n for n in VARIED if any(len(values_of[n]) > 1 for values_of in values.values())), None
    )


def render(kind: str, manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Draw a figure of the scores of a dimension (a table of the benchmark); write PNG and SVG.

    Args:
        kind: kind of the figure, one of `KINDS`.
        manifest: path of the dimension's manifest, which lists its models and tests.
        results: folder of results with ``collected/<dimension>.parquet``.
        out: path of the PNG file; the SVG is written next to it.
        case: name of a test of the dimension, such as ``kitti-caltech`` (`CellKey.case_name`), for
            kinds with a figure for each; None for other kinds.

    Raises:
        StpError: the kind or case is unknown, a file is missing or damaged, or there is nothing to
            draw; no file is written.
    """
    if kind not in KINDS:
        raise StpError(f"there is no figure {kind!r}", remedy=suggest_name(kind, KINDS))
    if KINDS[kind].of_case and case is None:
        raise StpError(f"a figure {kind!r} is one of a case", remedy="name one with --cell")
    if not KINDS[kind].of_case and case is not None:
        raise StpError(f"a figure {kind!r} is one of all cases", remedy="leave --cell out")
    if out.suffix != ".png":
        raise StpError(
            f"{out} is not the name of a PNG file",
            expected="a name that ends in .png; the SVG file is written beside it",
            remedy=f"write to {out.with_suffix('.png')}",
        )
    from stp.render.figures.panels import write

    cases = () if case is None else (case,)
    write(import_module(KINDS[kind].module).draw, manifest, results, out, *cases)
