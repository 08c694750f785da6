"""Section of forecasts: a few samples of every evaluation, with truth and predictions of all
models.

Samples are chosen by the rules of `stp.render.pictures.sample_choice`, not by hand. If predictions
are damaged or not stored, the page states the reason; scores do not depend on them.
"""

import json
import os
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np

from stp.collect.stored_cells import read_cells, titles
from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.plan.manifest import ORIGIN_FIELDS, title_of
from stp.plan.manifest_types import StoredCell
from stp.plan.setting import setting_of
from stp.render.pictures.cases import TestedCase
from stp.render.pictures.drawing import duration
from stp.render.pictures.forecasts import Case, SampleForecasts, Variable
from stp.render.pictures.sample_choice import CRITERIA, RULES
from stp.render.pictures.sheet import Scale
from stp.render.pictures.sprites import columns_of, pitch
from stp.report import picture_sheets
from stp.report.columns import to_json_value
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
"""Data of the page's scripts, by name: dataclasses, written by `columns.as_json`."""


class Pictures(NamedTuple):
    """Number and size of the pictures of a report.

    Attributes:
        samples: number of samples of each evaluation, 0..3: the sample of median error, then of
            largest, then of smallest error.
        megabytes: maximum total size of all pictures in the page, in megabytes.
    """

    samples: int = SAMPLES
    megabytes: float = MEGABYTES


class _Evaluation(NamedTuple):
    """An evaluation of the store.

    Attributes:
        dimension: name of the dimension.
        case: cells of the test.
        tested: title of the test.
        columns: headings of the table's columns, by convention and variable ("" for none).
        pixels: number of values in all forecasts of a sample.
    """

    dimension: str
    case: TestedCase
    tested: str
    columns: dict[tuple[str, str], str]
    pixels: int


def pieces(
    database: duckdb.DuckDBPyConnection, pictures: Pictures, report: Report = report_nothing
) -> Pieces:
    """Make the pictures of all evaluations (tests in which models were compared).

    Every evaluation may use an equal part of the total size; large evaluations also use what small
    ones leave. All pictures of an evaluation have the same size and quality, the best that fits.
    If pictures of acceptable quality do not fit, samples are left out first.

    Args:
        database: the open results store.
        pictures: number and size of the pictures.
        report: callback for the progress.

    Returns:
        blocks of data by name: ``forecasts``, the index, and ``forecasts-<n>``, the pictures of one
        sample each, which the page parses when it shows them.

    Raises:
        StpError: the number or the size is out of range.
    """
    if not 0 <= pictures.samples <= SAMPLES:
        raise StpError(
            f"{pictures.samples} samples of each evaluation", expected=f"0..{SAMPLES} (--samples)"
        )
    if not pictures.megabytes >= 0:
        raise StpError(f"{pictures.megabytes} MB of pictures", expected="0 or more (--pictures-mb)")
    if pictures.samples == 0:
        return {"forecasts": _forecasts_section([], pictures, 0, [], {})}
    evaluations = _evaluations(database)
    if not evaluations:
        return {"forecasts": _forecasts_section([], pictures, 0, [], {})}
    root = _root(evaluations)
    budget = pictures.megabytes * 1e6
    sheets: Pieces = {}
    coasts: list[Coast] = []
    entries: dict[tuple[str, str], ShownEvaluation] = {}
    for done, evaluation in enumerate(sorted(evaluations, key=lambda e: e.pixels)):
        share = budget / (len(evaluations) - done)
        entry, sheets_of_samples = _evaluation(evaluation, pictures.samples, share, coasts, root)
        samples = []
        for sample, sheet in zip(entry.samples, sheets_of_samples, strict=True):
            samples.append(replace(sample, piece=f"forecasts-{len(sheets)}"))
            sheets[samples[-1].piece] = sheet
            budget -= _length(sheet)
        entry = replace(entry, samples=samples)
        entries[evaluation.dimension, evaluation.case.name] = entry
        report("pictures", done + 1, len(evaluations))
    in_order = [entries[e.dimension, e.case.name] for e in evaluations]
    used = pictures.megabytes * 1e6 - budget
    return {
        "forecasts": _forecasts_section(in_order, pictures, used, coasts, _maps(in_order)),
        **sheets,
    }


def _forecasts_section(
    evaluations: list[ShownEvaluation],
    pictures: Pictures,
    used: float,
    coasts: list[Coast],
    maps: dict[str, str],
) -> dict[str, object]:
    return {
        "samples": pictures.samples,
        "megabytes": pictures.megabytes,
        "used": to_json_value(used / 1e6),
        "evaluations": evaluations,
        "coasts": coasts,
        "colours": maps,
    }


def _evaluations(database: duckdb.DuckDBPyConnection) -> list[_Evaluation]:
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
    for cell in read_cells(database):
        if tasks.find(cell.kind).pictures != "strips":
            continue
        key = (cell.key.dimension, cell.key.case_name)
        groups.setdefault(key, []).append(cell)
        tested.setdefault(key, title_of(names, cell.key))
    evaluations = []
    for (dimension, case), cells in groups.items():
        tested_on = cells[0].key.tested_on
        of_case = columns.get((dimension, tested_on), {})
        leads = sum(setting_of(cell.key.setting)["horizon"] for cell in cells)
        pixels = int(areas.get(tested_on) or 1) * leads
        test = TestedCase(case, cells, names, [variable for _, variable in of_case if variable])
        evaluations.append(_Evaluation(dimension, test, tested[dimension, case], of_case, pixels))
    return evaluations


def _root(evaluations: list[_Evaluation]) -> str:
    """The folder that contains all artefacts; messages in the page give paths relative to it."""
    folders = [folder for e in evaluations for c in e.case.cells for folder in (c.data, c.scores)]
    return os.path.commonpath(folders) + os.sep


def _evaluation(
    evaluation: _Evaluation, samples: int, share: float, coasts: list[Coast], root: str
) -> tuple[ShownEvaluation, list[SampleSheets]]:
    key = evaluation.case.cells[0].key
    entry = ShownEvaluation(
        dimension=evaluation.dimension,
        case=evaluation.case.name,
        tested=evaluation.tested,
        dataset=key.tested_on,
        origin=[
            dict(one)
            for one in dict.fromkeys(
                tuple((name, getattr(cell, name)) for name in ORIGIN_FIELDS)
                for cell in evaluation.case.cells
            )
        ],
        gap="",
        samples=[],
    )
    try:
        case = Case(evaluation.case, lenient=True)
        by_number: dict[int, SampleForecasts] = {}
        for rule in RULES[:samples]:
            sample = case.sample(rule)
            by_number.setdefault(sample.number, sample)
        chosen = list(by_number.values())
        scores = _scores(evaluation, case, list(by_number))
    except StpError as error:
        return replace(entry, gap=error.what.replace(root, "")), []
    scaled = [[picture_sheets.scales_of(s, v) for v in s.variables] for s in chosen]
    fitting = _fitting(list(zip(chosen, scaled, strict=True)), share)
    if fitting is None:
        why = "The pictures do not fit into the report (--pictures-mb)."
        return replace(entry, gap=why), []
    look, sheets_of_samples = fitting
    first = chosen[0]
    height, width = picture_sheets.size_of(first.truth.shape[2], first.truth.shape[3], look)
    coast = picture_sheets.coast(first)
    if coast is not None and coast not in coasts:
        coasts.append(coast)
    explained = [
        _sample(case, sample, pairs, table, root)
        for sample, pairs, table, _ in zip(chosen, scaled, scores, sheets_of_samples, strict=False)
    ]
    pictured = PicturedEvaluation(
        **vars(replace(entry, samples=explained)),
        look=str(look),
        size=[width, height],
        full=[first.truth.shape[3], first.truth.shape[2]],
        pitch=[pitch(width), pitch(height)],
        columns=[columns_of(len(first.context)), columns_of(len(first.truth))],
        aspect=to_json_value(_aspect(first)),
        coast=None if coast is None else coasts.index(coast),
        is_picture=first.is_picture,
        context=len(first.context),
        leads=len(first.truth),
        channels=case.channels,
        variables=[ShownVariable(v.name, v.units) for v in first.variables],
        models=[_model(label, cell) for label, cell in case.cells.items()],
    )
    return pictured, sheets_of_samples


def _model(label: str, cell: StoredCell) -> dict[str, object]:
    key = cell.key
    return {
        "label": label,
        **{name: getattr(key, name) for name in ("model", "variant", "seed")},
        **{name: getattr(cell, name) for name in ORIGIN_FIELDS},
    }


def _aspect(sample: SampleForecasts) -> float:
    """Width of a frame divided by its height; on maps, a degree is as wide as high."""
    lat, lon = sample.lat, sample.lon
    if lat is not None and lon is not None and min(len(lat), len(lon)) > 1:
        # Cells reach half a step beyond the outermost degrees.
        sides = [abs(float(c[-1] - c[0])) * len(c) / (len(c) - 1) for c in (lon, lat)]
        return sides[0] / max(sides[1], 1e-9)
    return float(sample.truth.shape[3] / sample.truth.shape[2])


def _sample(
    case: Case,
    shown: SampleForecasts,
    scaled: list[tuple[Scale, Scale]],
    scores: tuple[list[ShownMetric], list[list[list[float | str] | None]]],
    root: str,
) -> ShownSample:
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
            [(to_json_value(one.low), to_json_value(one.high), one.colours) for one in pair]
            for pair in scaled
        ],
        metrics=metrics,
        scores=values,
    )


def _maps(evaluations: list[ShownEvaluation]) -> dict[str, str]:
    scales = [s for e in evaluations for one in e.samples for pair in one.scales for s in pair]
    return {name: picture_sheets.colours(name) for name in sorted({scale[2] for scale in scales})}


def _scores(
    evaluation: _Evaluation, case: Case, samples: list[int]
) -> list[tuple[list[ShownMetric], list[list[list[float | str] | None]]]]:
    """For each sample, its metrics, and their values over lead times by model and metric."""
    headings = evaluation.columns  # columns of other lead times show the same values
    cells = list(case.cells.values())
    values = {key: _leads_of(cells, *key, samples) for key in headings}
    if not any(values.values()):
        # No column has values of single samples: take the error by which samples are ordered.
        headings = {(criterion, ""): criterion for criterion in CRITERIA}
        values = {key: _leads_of(cells, *key, samples) for key in headings}
        values = dict([(key, leads) for key, leads in values.items() if leads][:1])
    metrics = [ShownMetric(headings[key], *key) for key, leads in values.items() if leads]
    by_metric = [leads for leads in values.values() if leads]
    return [
        (metrics, [[leads[c][i] for leads in by_metric] for c in range(len(cells))])
        for i in range(len(samples))
    ]


def _leads_of(
    cells: list[StoredCell], convention: str, variable: str, samples: list[int]
) -> list[list[list[float | str] | None]]:
    """For each cell and sample, the values over lead times, or None if they are missing.

    The result is empty if all values are missing.
    """
    by_cell = [_leads(cell, convention, variable, samples) for cell in cells]
    has_values = any(leads is not None for of_cell in by_cell for leads in of_cell)
    return by_cell if has_values else []


def _leads(
    cell: StoredCell, convention: str, variable: str, samples: list[int]
) -> list[list[float | str] | None]:
    for folder in cell.folders(("scores", "perceptual")):
        if not (folder / "sample_scores.parquet").is_file():
            continue
        stored = read_samples(folder, convention, variable or None)
        if stored is not None:
            values = [stored[1][i] if i < len(stored[1]) else None for i in samples]
            return [
                None if own is None else [to_json_value(value) for value in own] for own in values
            ]
    return [None] * len(samples)


Scaled = tuple[SampleForecasts, list[tuple[Scale, Scale]]]
"""A sample, and the scales of values and errors of each variable."""


def _fitting(
    samples_with_scales: list[Scaled], share: float
) -> tuple[Look, list[SampleSheets]] | None:
    """The best encoding that fits, and the sheets of the samples that fit; None if nothing fits."""
    fewer = range(len(samples_with_scales), 0, -1)
    guessed: dict[Look, float] = {}
    candidates = [(samples, look) for samples in fewer for look in LOOKS[:GOOD]]
    for samples, look in [*candidates, *((1, look) for look in LOOKS[GOOD:])]:
        # Two sheets suffice to see that a look is far too large.
        if look not in guessed:
            guessed[look] = _guess(samples_with_scales[0], look)
        if samples * guessed[look] > 1.3 * share:
            continue
        sheets: list[SampleSheets] = []
        size = 0
        for one in samples_with_scales[:samples]:
            sheets.append(_sheets(one, look))
            size += _length(sheets[-1])
            if size > share:
                break
        else:
            return look, sheets
    return None


def _guess(scaled: Scaled, look: Look) -> float:
    """Estimate of the size of a sample in bytes, from the sheets of its last model."""
    sample, scales = scaled
    forecast, variable, (values, errors) = sample.forecasts[-1], sample.variables[0], scales[0]
    text = picture_sheets.values(sample, forecast.frames, variable, values, look)
    text += picture_sheets.errors(sample, forecast, variable, errors, look)
    return len(text) * len(sample.variables) * len(sample.forecasts)


def _sheets(scaled: Scaled, look: Look) -> SampleSheets:
    sample, scales = scaled
    sheets = []
    for variable, (values, errors) in zip(sample.variables, scales, strict=True):

        def values_of(
            frames: np.ndarray, variable: Variable = variable, scale: Scale = values
        ) -> str:
            return picture_sheets.values(sample, frames, variable, scale, look)

        sheets.append(
            VariableSheets(
                context=values_of(sample.context),
                truth=values_of(sample.truth),
                models={
                    forecast.label: [
                        values_of(forecast.frames),
                        picture_sheets.errors(sample, forecast, variable, errors, look),
                    ]
                    for forecast in sample.forecasts
                },
            )
        )
    return SampleSheets(sheets)


def _length(piece: SampleSheets) -> int:
    """Size in the page in bytes, including the element around the data."""
    return len(json.dumps(piece, ensure_ascii=False, default=vars).encode()) + 100
