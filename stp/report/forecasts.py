"""Forecasts: a few samples of every evaluation, with the truth and what all models predict.

Samples are chosen by the rules of `stp.render.pictures.sample_choice`, never by hand. Predictions
that are not kept, or damaged, leave a gap that says so: the numbers do not depend on them.
"""

import json
import os
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np

from stp.collect.stored_cells import stored_cells, titles
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.plan.manifest import WHOSE, title_of
from stp.plan.manifest_types import StoredCell
from stp.plan.setting import setting_of
from stp.render.pictures.cases import TestedCase
from stp.render.pictures.drawing import duration
from stp.render.pictures.forecasts import Case, SampleForecasts, Variable
from stp.render.pictures.sample_choice import CRITERIA, RULES
from stp.render.pictures.sheet import Scale
from stp.render.pictures.sprites import columns_of, pitch
from stp.report import picture_sheets
from stp.report.columns import plain
from stp.report.forecast_index import (
    PicturedEvaluation,
    SampleSheets,
    ShownEvaluation,
    ShownMetric,
    ShownSample,
    ShownVariable,
    VariableSheets,
)
from stp.report.picture_sheets import GOOD, LOOKS, Coast, Look
from stp.score.tables import read_samples
from stp.tasks import task as tasks

SAMPLES = len(RULES)
MEGABYTES = 4.0
Pieces = dict[str, object]
"""What the page's scripts read, by name: dataclasses, written by `columns.as_json`."""


class Pictures(NamedTuple):
    """How many pictures a report has.

    Attributes:
        samples: of each evaluation, 0..3: those of median, largest and smallest error.
        megabytes: that all of them may take in the page.
    """

    samples: int = SAMPLES
    megabytes: float = MEGABYTES


class _Evaluation(NamedTuple):
    """An evaluation of the store.

    Attributes:
        dimension: that it belongs to.
        case: what was tested.
        tested: the same in words.
        columns: (convention, variable or "") of columns of its table -> heading of the first.
        pixels: values of all its forecasts of a sample.
    """

    dimension: str
    case: TestedCase
    tested: str
    columns: dict[tuple[str, str], str]
    pixels: int


def pieces(
    database: duckdb.DuckDBPyConnection, wanted: Pictures, report: Report = silent
) -> Pieces:
    """Make the pictures.

    Every evaluation may take an equal part of the megabytes; what small ones leave goes to larger
    ones. Within it, all pictures of all its samples and models are stored alike: in the best of
    ``LOOKS`` that fits; rather fewer samples than less than a good look.

    Args:
        database: the results store.
        wanted: how many.
        report: is told the progress.

    Returns:
        ``forecasts``, what there is, and ``forecasts-<n>``, the sheets of one sample each: the page
        reads them when they are shown.

    Raises:
        StpError: what is wanted cannot be.
    """
    if not 0 <= wanted.samples <= SAMPLES:
        raise StpError(
            f"{wanted.samples} samples of each evaluation", expected=f"0..{SAMPLES} (--samples)"
        )
    if not wanted.megabytes >= 0:
        raise StpError(f"{wanted.megabytes} MB of pictures", expected="0 or more (--pictures-mb)")
    if wanted.samples == 0:
        return {"forecasts": _described([], wanted, 0, [], {})}
    evaluations = _evaluations(database)
    if not evaluations:
        return {"forecasts": _described([], wanted, 0, [], {})}
    root = _root(evaluations)
    left = wanted.megabytes * 1e6
    sheets: Pieces = {}
    coasts: list[Coast] = []
    found: dict[tuple[str, str], ShownEvaluation] = {}
    for done, evaluation in enumerate(sorted(evaluations, key=lambda e: e.pixels)):
        share = left / (len(evaluations) - done)
        entry, made = _evaluation(evaluation, wanted.samples, share, coasts, root)
        samples = []
        for sample, one in zip(entry.samples, made, strict=True):
            samples.append(replace(sample, piece=f"forecasts-{len(sheets)}"))
            sheets[samples[-1].piece] = one
            left -= _length(one)
        entry = replace(entry, samples=samples)
        found[evaluation.dimension, evaluation.case.name] = entry
        report("pictures", done + 1, len(evaluations))
    in_order = [found[e.dimension, e.case.name] for e in evaluations]
    used = wanted.megabytes * 1e6 - left
    return {"forecasts": _described(in_order, wanted, used, coasts, _maps(in_order)), **sheets}


def _described(
    evaluations: list[ShownEvaluation],
    wanted: Pictures,
    used: float,
    coasts: list[Coast],
    maps: dict[str, str],
) -> dict[str, object]:
    return {
        "samples": wanted.samples,
        "megabytes": wanted.megabytes,
        "used": plain(used / 1e6),
        "evaluations": evaluations,
        "coasts": coasts,
        "colours": maps,
    }


def _evaluations(database: duckdb.DuckDBPyConnection) -> list[_Evaluation]:
    """Everything that was tested, in the order of the store."""
    names = titles(database)
    areas = dict(database.execute("SELECT dataset, list_product(shape) FROM datasets").fetchall())
    columns: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for dimension, dataset, metric, variable, convention in database.execute(
        "SELECT dimension, dataset, metric, variable, convention FROM paper_columns "
        "WHERE threshold IS NULL ORDER BY rowid"
    ).fetchall():
        of_dataset = columns.setdefault((dimension, dataset), {})
        of_dataset.setdefault((convention, variable or ""), metric)
    groups: dict[tuple[str, str], list[StoredCell]] = {}
    tested: dict[tuple[str, str], str] = {}
    for cell in stored_cells(database):
        if tasks.find(cell.kind).pictures != "strips":
            continue
        key = (cell.key.dimension, cell.key.case_name)
        groups.setdefault(key, []).append(cell)
        tested.setdefault(key, title_of(names, cell.key))
    found = []
    for (dimension, case), cells in groups.items():
        tested_on = cells[0].key.tested_on
        of_case = columns.get((dimension, tested_on), {})
        leads = sum(setting_of(cell.key.setting)["horizon"] for cell in cells)
        pixels = int(areas.get(tested_on) or 1) * leads
        one = TestedCase(case, cells, names, [variable for _, variable in of_case if variable])
        found.append(_Evaluation(dimension, one, tested[dimension, case], of_case, pixels))
    return found


def _root(evaluations: list[_Evaluation]) -> str:
    """The folder of all artefacts: the page does not tell where it lies."""
    folders = [folder for e in evaluations for c in e.case.cells for folder in (c.data, c.scores)]
    return os.path.commonpath(folders) + os.sep


def _evaluation(
    evaluation: _Evaluation, samples: int, share: float, coasts: list[Coast], root: str
) -> tuple[ShownEvaluation, list[SampleSheets]]:
    """What the page knows of an evaluation, and the sheets of its samples."""
    key = evaluation.case.cells[0].key
    entry = ShownEvaluation(
        dimension=evaluation.dimension,
        case=evaluation.case.name,
        tested=evaluation.tested,
        dataset=key.tested_on,
        origin=[
            dict(one)
            for one in dict.fromkeys(
                tuple((name, getattr(cell, name)) for name in WHOSE)
                for cell in evaluation.case.cells
            )
        ],
        gap="",
        samples=[],
    )
    try:
        case = Case(evaluation.case, lenient=True)
        shown: dict[int, SampleForecasts] = {}
        for rule in RULES[:samples]:
            one = case.sample(rule)
            shown.setdefault(one.number, one)
        wanted = list(shown.values())
        scores = _scores(evaluation, case, [one.number for one in wanted])
    except StpError as error:
        return replace(entry, gap=error.what.replace(root, "")), []
    scaled = [[picture_sheets.scales_of(one, v) for v in one.variables] for one in wanted]
    fitting = _fitting(list(zip(wanted, scaled, strict=True)), share)
    if fitting is None:
        why = "Its pictures do not fit into what the report may hold (--pictures-mb)."
        return replace(entry, gap=why), []
    look, made = fitting
    first = wanted[0]
    height, width = picture_sheets.size_of(first.truth.shape[2], first.truth.shape[3], look)
    coast = picture_sheets.coast(first)
    if coast is not None and coast not in coasts:
        coasts.append(coast)
    explained = [
        _sample(case, one, pairs, table, root)
        for one, pairs, table, _ in zip(wanted, scaled, scores, made, strict=False)
    ]
    pictured = PicturedEvaluation(
        **vars(replace(entry, samples=explained)),
        look=str(look),
        size=[width, height],
        full=[first.truth.shape[3], first.truth.shape[2]],
        pitch=[pitch(width), pitch(height)],
        columns=[columns_of(len(first.context)), columns_of(len(first.truth))],
        aspect=plain(_aspect(first)),
        coast=None if coast is None else coasts.index(coast),
        is_picture=first.is_picture,
        context=len(first.context),
        leads=len(first.truth),
        channels=case.channels,
        variables=[ShownVariable(v.name, v.units) for v in first.variables],
        models=[_model(label, cell) for label, cell in case.cells.items()],
    )
    return pictured, made


def _model(label: str, cell: StoredCell) -> dict[str, object]:
    """A model of an evaluation, and whose bytes its forecasts are made from."""
    key = cell.key
    return {
        "label": label,
        **{name: getattr(key, name) for name in ("model", "variant", "seed")},
        **{name: getattr(cell, name) for name in WHOSE},
    }


def _aspect(shown: SampleForecasts) -> float:
    """Width of a frame over its height; a degree is as wide as high."""
    lat, lon = shown.lat, shown.lon
    if lat is not None and lon is not None and min(len(lat), len(lon)) > 1:
        # Cells reach half a step beyond the outermost degrees.
        sides = [abs(float(c[-1] - c[0])) * len(c) / (len(c) - 1) for c in (lon, lat)]
        return sides[0] / max(sides[1], 1e-9)
    return float(shown.truth.shape[3] / shown.truth.shape[2])


def _sample(
    case: Case,
    shown: SampleForecasts,
    scaled: list[tuple[Scale, Scale]],
    scores: tuple[list[ShownMetric], list[list[list[float | str] | None]]],
    root: str,
) -> ShownSample:
    """What the page says of a sample."""
    steps = range(1 - len(shown.context), len(shown.truth) + 1)
    remarks = {
        label: f"the first of {kept.members} members"
        for label, kept in case.kept.items()
        if kept.members > 1 and label not in shown.absent
    }
    metrics, values = scores
    return ShownSample(
        rule=shown.chosen_by,
        number=shown.number,
        why=shown.why,
        clip=shown.clip,
        times=[
            "" if shown.seconds is None or step == 0 else duration(step, shown.seconds)
            for step in steps
        ],
        gaps=[shown.absent.get(label, "").replace(root, "") for label in case.cells],
        remarks=[remarks.get(label, "") for label in case.cells],
        scales=[
            [(plain(one.low), plain(one.high), one.colours) for one in pair] for pair in scaled
        ],
        metrics=metrics,
        scores=values,
    )


def _maps(evaluations: list[ShownEvaluation]) -> dict[str, str]:
    """The colours of all scales, once."""
    scales = [s for e in evaluations for one in e.samples for pair in one.scales for s in pair]
    return {name: picture_sheets.colours(name) for name in sorted({scale[2] for scale in scales})}


# Scores of a sample


def _scores(
    evaluation: _Evaluation, case: Case, samples: list[int]
) -> list[tuple[list[ShownMetric], list[list[list[float | str] | None]]]]:
    """Scores of samples: metrics, and their values over lead times by model and metric."""
    wanted = evaluation.columns  # columns of other lead times show the same values
    cells = list(case.cells.values())
    found = {key: _leads_of(cells, *key, samples) for key in wanted}
    if not any(found.values()):
        # Where a table has nothing of single samples: the error that they were ordered by.
        wanted = {(criterion, ""): criterion for criterion in CRITERIA}
        found = {key: _leads_of(cells, *key, samples) for key in wanted}
        found = dict([(key, leads) for key, leads in found.items() if leads][:1])
    metrics = [ShownMetric(wanted[key], *key) for key, leads in found.items() if leads]
    by_metric = [leads for leads in found.values() if leads]
    return [
        (metrics, [[leads[c][i] for leads in by_metric] for c in range(len(cells))])
        for i in range(len(samples))
    ]


def _leads_of(
    cells: list[StoredCell], convention: str, variable: str, samples: list[int]
) -> list[list[list[float | str] | None]]:
    """Values of samples over lead times, by cell; None where there are none, [] if nowhere."""
    found = [_leads(cell, convention, variable, samples) for cell in cells]
    return found if any(one is not None for of_cell in found for one in of_cell) else []


def _leads(
    cell: StoredCell, convention: str, variable: str, samples: list[int]
) -> list[list[float | str] | None]:
    for folder in cell.folders(("scores", "perceptual")):
        if not (folder / "sample_scores.parquet").is_file():
            continue
        found = read_samples(folder, convention, variable or None)
        if found is not None:
            values = [found[1][i] if i < len(found[1]) else None for i in samples]
            return [None if one is None else [plain(value) for value in one] for one in values]
    return [None] * len(samples)


# Sheets that fit


Scaled = tuple[SampleForecasts, list[tuple[Scale, Scale]]]
"""A sample, and the scales of values and errors of each variable."""


def _fitting(shown: list[Scaled], share: float) -> tuple[Look, list[SampleSheets]] | None:
    """The looks and numbers of samples are tried from the best; the first that fits is taken."""
    fewer = range(len(shown), 0, -1)
    guessed: dict[Look, float] = {}
    candidates = [(samples, look) for samples in fewer for look in LOOKS[:GOOD]]
    for samples, look in [*candidates, *((1, look) for look in LOOKS[GOOD:])]:
        # Two sheets show that a look is far too large.
        if look not in guessed:
            guessed[look] = _guess(shown[0], look)
        if samples * guessed[look] > 1.3 * share:
            continue
        made: list[SampleSheets] = []
        size = 0
        for one in shown[:samples]:
            made.append(_sheets(one, look))
            size += _length(made[-1])
            if size > share:
                break
        else:
            return look, made
    return None


def _guess(scaled: Scaled, look: Look) -> float:
    """Bytes that a sample may take, from the sheets of its last model."""
    shown, scales = scaled
    forecast, variable, (values, errors) = shown.forecasts[-1], shown.variables[0], scales[0]
    both = picture_sheets.values(shown, forecast.frames, variable, values, look)
    both += picture_sheets.errors(shown, forecast, variable, errors, look)
    return len(both) * len(shown.variables) * len(shown.forecasts)


def _sheets(scaled: Scaled, look: Look) -> SampleSheets:
    """Sheets of a sample, by variable: context, truth, and by label values and errors."""
    shown, scales = scaled
    made = []
    for variable, (values, errors) in zip(shown.variables, scales, strict=True):

        def values_of(
            frames: np.ndarray, variable: Variable = variable, scale: Scale = values
        ) -> str:
            return picture_sheets.values(shown, frames, variable, scale, look)

        made.append(
            VariableSheets(
                context=values_of(shown.context),
                truth=values_of(shown.truth),
                models={
                    forecast.label: [
                        values_of(forecast.frames),
                        picture_sheets.errors(shown, forecast, variable, errors, look),
                    ]
                    for forecast in shown.forecasts
                },
            )
        )
    return SampleSheets(made)


def _length(piece: SampleSheets) -> int:
    """Bytes in the page, with the element around them."""
    return len(json.dumps(piece, ensure_ascii=False, default=vars).encode()) + 100
