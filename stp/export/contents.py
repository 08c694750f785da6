"""Read the contents of a bundle: scores of a model, its training runs, and missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stp.collect.query import query_rows, run_query
from stp.collect.schema import ABOUT, ALIKE, CellRow, ConventionRow, ModelRow
from stp.core.errors import StpError, suggest_name
from stp.core.receipts import Receipt
from stp.export.lineage import Lineage, lineage, sql_without_paths
from stp.inspect.facts import trainings
from stp.options.score import CELL_KEYS
from stp.plan import config as configuration

_KEYS = ", ".join(CELL_KEYS)
_CASE = tuple(key for key in CELL_KEYS if key not in ("model", "seed"))

SCORES = f"""
SELECT
    {_KEYS}, metric, convention, variable, level, threshold, leads, lead,
    value, ci95_low, ci95_high, n, clusters, {sql_without_paths("reason")} AS reason,
    {", ".join(ABOUT)}, scores_fingerprint
FROM (FROM overall UNION ALL BY NAME FROM by_lead)
WHERE model = $1
ORDER BY ALL"""
"""One row per value, with the columns of the views `overall` and `by_lead`."""

SAMPLES = "SELECT * FROM sample_scores WHERE model = $1 ORDER BY ALL"

_ON_CASE = " AND ".join(f"l.{key} = o.{key}" for key in _CASE)
RESULTS = f"""
WITH titles AS (
    SELECT {", ".join(_CASE)}, any_value(tested) AS tested, any_value(protocol) AS protocol,
        bool_or(external) AS external
    FROM cells WHERE model = $1 GROUP BY ALL
),
ends AS (
    SELECT
        {", ".join(_CASE)}, convention, variable, level, threshold, leads, source, scale,
        CASE WHEN count(ci95_low) = count(*) THEN avg(ci95_low ORDER BY seed) END AS low,
        CASE WHEN count(ci95_high) = count(*) THEN avg(ci95_high ORDER BY seed) END AS high
    FROM overall WHERE model = $1 GROUP BY ALL
)
SELECT
    l.dimension, m.title, t.tested, concat_ws(' ', p.variable, p.metric) AS metric, l.convention,
    l.value, o.low, o.high, l.n, l.seeds, l.seed_sd, l.rank, l.ranked, r.rank_low, r.rank_high,
    l.source, l.scale, t.protocol, l.comparable, l.leaky, l.best_of,
    d.published, d.difference, d.bytes_known_by, {sql_without_paths("l.reason")} AS reason
FROM leaderboard l
JOIN titles t ON {_ON_CASE.replace("o.", "t.")}
JOIN paper_columns p
    ON p.dimension = l.dimension AND p.dataset = l.tested_on AND p.convention = l.convention
    AND (p.variable IS NULL OR p.variable = l.variable)
    AND p.threshold IS NOT DISTINCT FROM l.threshold
    AND p.leads IS NOT DISTINCT FROM l.leads AND p.statistic = 'mean'
LEFT JOIN ends o
    ON {_ON_CASE} AND l.convention = o.convention AND l.source = o.source AND l.scale = o.scale
    AND l.variable IS NOT DISTINCT FROM o.variable AND l.level IS NOT DISTINCT FROM o.level
    AND l.threshold IS NOT DISTINCT FROM o.threshold AND l.leads IS NOT DISTINCT FROM o.leads
LEFT JOIN ranks r
    ON {_ON_CASE.replace("o.", "r.")} AND l.model = r.model AND l.convention = r.convention
    AND l.variable IS NOT DISTINCT FROM r.variable AND l.level IS NOT DISTINCT FROM r.level
    AND l.threshold IS NOT DISTINCT FROM r.threshold AND l.leads IS NOT DISTINCT FROM r.leads
    AND {" AND ".join(f"l.{name} = r.{name}" for name in ALIKE)}
LEFT JOIN dimensions m ON m.suite = l.suite AND m.dimension = l.dimension
LEFT JOIN deltas d
    ON {_ON_CASE.replace("o.", "d.")} AND l.model = d.model
    AND d.metric = concat_ws(' ', p.variable, p.metric)
WHERE l.model = $1
-- A column without a variable shows all channels together, or the only channel.
QUALIFY l.variable IS NOT DISTINCT FROM p.variable OR count(*) OVER (
    PARTITION BY {", ".join(f"l.{key}" for key in _CASE)}, l.convention, p.metric, l.scale, l.source
) = 1
ORDER BY
    m.suite, m.place, lower(t.tested), l.setting, l.variant, l.train_subset, p.rowid, l.scale,
    l.source"""
"""Columns of the paper's tables: means over seeds, with the rank among the store's models."""

WITHOUT_VALUE = f"""
SELECT
    {sql_without_paths("reason")} AS reason,
    string_agg(DISTINCT convention, ', ' ORDER BY convention) AS conventions,
    count(DISTINCT scores_fingerprint) AS cells
FROM overall WHERE model = ? AND value IS NULL
GROUP BY ALL ORDER BY ALL"""

NOT_EVALUATED = """
SELECT p.dimension, array_to_string(list_sort(list(DISTINCT CASE
    WHEN p.printed_trained_on IN ('', p.printed_tested_on) THEN p.printed_tested_on
    ELSE p.printed_trained_on || ' -> ' || p.printed_tested_on END)), ', ') AS tests
FROM published p JOIN dimensions d USING (suite, dimension)
WHERE p.model = ? AND p.tested_on IS NOT NULL
AND NOT EXISTS (
    FROM cells c WHERE c.model = p.model AND c.dimension = p.dimension
    AND c.tested_on = p.tested_on AND (p.trained_on IS NULL OR c.trained_on = p.trained_on))
GROUP BY d.suite, d.place, p.dimension ORDER BY d.suite, d.place"""
"""Tests that the paper prints for the model, but that have no cell in the store."""

PLANNED = f"""
SELECT dimension, tested, setting, seed, stage, how, {sql_without_paths("detail")} AS detail
FROM missing WHERE model = ? ORDER BY ALL"""
"""Planned cells without scores."""


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A value of the model in a column of the paper's tables, with rank and published value.

    Attributes:
        dimension, title: name and title of the dimension, whose table has the value.
        tested: readable name of the test, e.g. "KITTI -> Caltech".
        metric: column heading of the paper, such as "SSIM". If the column is about one variable,
            its name comes first, as in "t2m RMSE".
        convention: exact definition of the metric, e.g. "ssim.range2".
        value: mean over seeds; None if it is missing (see ``reason``).
        low, high: ends of the 95 % interval, means over seeds; None if a seed has no interval.
        n: smallest number of test samples of a seed.
        seeds: number of seeds; 0 for a deterministic model.
        seed_sd: standard deviation of the value over seeds; None for fewer than two seeds, or
            without a value.
        rank: place among the ``ranked`` models, 1 is the best; None without a value, or if the
            metric has no direction.
        ranked: number of models in the results store that were evaluated alike and have a rank.
        rank_low, rank_high: best and worst rank that the tests do not exclude; None if unknown.
        source: origin of the raw files: official, sample, synthetic or own.
        scale: name of the scale that the value comes from.
        protocol: protocol of training and test, e.g. "paper".
        comparable: whether the values of all seeds are comparable with published ones.
        leaky: whether test samples overlap with training data.
        best_of: number of forecasts of each sample of which the best is scored, usually 1.
        published: value that the paper prints; None if it prints none.
        difference: ``value`` minus ``published``; None if the value is not comparable, or if a
            note says that the printed value is doubtful.
        bytes_known_by: evidence that the raw files are the official ones: "checksums", "counts" or
            "stated"; None without a published value, or if nobody says that the files are official.
        reason: why there is no value; None if there is one.
    """

    dimension: str
    title: str | None
    tested: str
    metric: str
    convention: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    seeds: int
    seed_sd: float | None
    rank: int | None
    ranked: int
    rank_low: int | None
    rank_high: int | None
    source: str
    scale: str
    protocol: str
    comparable: bool
    leaky: bool
    best_of: int
    published: float | None
    difference: float | None
    bytes_known_by: str | None
    reason: str | None


@dataclass(frozen=True)
class WithoutValue:
    """A reason why values of a model are missing, and which values these are.

    Attributes:
        reason: the reason, as text; None if it is unknown.
        conventions: names of the conventions without a value, joined by commas.
        cells: number of cells in which values are missing for this reason.
    """

    reason: str | None
    conventions: str
    cells: int


@dataclass(frozen=True)
class NotEvaluated:
    """Tests of the model that the paper prints, but that have no cell in the results store.

    Attributes:
        dimension: name of the dimension.
        tests: printed names of the test datasets, joined by commas; ``A -> B`` for training on A
            and test on B.
    """

    dimension: str
    tests: str


@dataclass(frozen=True)
class PlannedRow:
    """A planned cell without scores: a row of the table ``missing`` of the results store.

    Attributes:
        dimension: name of the dimension.
        tested: readable name of the test, such as the title of its dataset.
        setting: what the cell changes of the dataset's protocol, e.g. "horizon-16".
        seed: seed of the training; None for deterministic models.
        stage: stage at which the work stopped: prepare, train, predict, score or collect.
        how: how the work stopped, e.g. "failed" or "not run".
        detail: reason, as text; None if it is unknown.
    """

    dimension: str
    tested: str
    setting: str
    seed: int | None
    stage: str
    how: str
    detail: str | None


@dataclass(frozen=True)
class Training:
    """One training run behind the scores, with its hyperparameters.

    Attributes:
        dataset: name of the training dataset.
        subset: name of the training subset.
        receipt: receipt of the trained model.
        settings: value of each hyperparameter by its name, as texts, e.g. ``{"epochs": "5"}``;
            empty for a model without training by gradient descent. Names and values are worded as
            in the paper, so that texts can be compared.
        published: printed value of each hyperparameter by its name, as texts; None if the paper
            prints nothing about this training run.
    """

    dataset: str
    subset: str
    receipt: Receipt
    settings: Mapping[str, str]
    published: Mapping[str, str] | None

    @property
    def deviations(self) -> list[str]:
        """Texts about hyperparameters that differ from the paper, e.g. "epochs 5 (paper: 100)".

        Empty if the paper prints nothing about this training run.
        """
        return [
            f"{name} {text} (paper: {self.published[name]})"
            for name, text in self.settings.items()
            if self.published and text != self.published[name]
        ]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A file of a trained model: a line of checkpoints.csv.

    Attributes:
        trained_on, train_subset: dataset and subset of the training; None if no cell uses the
            trained model.
        fingerprint: fingerprint of the artefact that has the file.
        path: path of the file in the store.
        bytes: size of the file.
        sha256: SHA-256 checksum of the file.
    """

    trained_on: str | None
    train_subset: str | None
    fingerprint: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    """The contents of a submission bundle: values of a model, its training runs, missing values.

    Attributes:
        model: name, title and properties of the model.
        cells: all cells of the model that have scores.
        results: values of the model in columns of the paper's tables.
        trainings: all training runs behind the cells.
        without_value: reasons why cells lack some values.
        not_evaluated: tests that the paper prints and that have no cell.
        planned: planned cells without scores.
        conventions: conventions that the model was scored with.
        lineage: receipts of all artefacts behind the scores.
    """

    model: ModelRow
    cells: list[CellRow]
    results: list[ResultRow]
    trainings: Sequence[Training]
    without_value: list[WithoutValue]
    not_evaluated: list[NotEvaluated]
    planned: list[PlannedRow]
    conventions: list[ConventionRow]
    lineage: Lineage

    @property
    def scales(self) -> list[str]:
        """Names of the scales that the scores come from, sorted."""
        return sorted({cell.scale for cell in self.cells})

    @property
    def sources(self) -> list[str]:
        """Origins of the raw files (official, sample, synthetic or own), sorted."""
        return sorted({cell.source for cell in self.cells})

    @property
    def comparable(self) -> int:
        """Number of cells whose values are comparable with published ones."""
        return sum(bool(cell.comparable) for cell in self.cells)


def contents(database: Path, model: str) -> Contents:
    """Read the scores of a model, its training runs and missing values, for a submission bundle.

    Args:
        database: path of the results store.
        model: name of the model.

    Raises:
        StpError: there is no database, it has no scores of the model, or a receipt is missing.
    """
    _, names = run_query(database, "SELECT model FROM models ORDER BY model")
    models = [name for (name,) in names]
    chosen = f"SELECT * FROM cells WHERE model = ? ORDER BY {_KEYS}, scale"
    cells = query_rows(database, CellRow, chosen, [model])
    if not cells:
        raise StpError(
            f"{database} has no scores of a model {model!r}",
            expected=f"one of {', '.join(models)}" if models else "a store with results",
            remedy=suggest_name(model, models) if models else "run the tables first",
        )
    (described,) = query_rows(database, ModelRow, "FROM models WHERE model = ?", [model])
    ancestors = lineage(database, model)
    return Contents(
        model=described,
        cells=cells,
        results=query_rows(database, ResultRow, RESULTS, [model]),
        trainings=_trainings(model, cells, ancestors),
        without_value=query_rows(database, WithoutValue, WITHOUT_VALUE, [model]),
        not_evaluated=query_rows(database, NotEvaluated, NOT_EVALUATED, [model]),
        planned=query_rows(database, PlannedRow, PLANNED, [model]),
        conventions=query_rows(
            database,
            ConventionRow,
            "FROM conventions WHERE convention IN (SELECT convention FROM overall WHERE model = ?)"
            " ORDER BY convention",
            [model],
        ),
        lineage=ancestors,
    )


def _trainings(model: str, cells: Sequence[CellRow], ancestors: Lineage) -> list[Training]:
    by_fingerprint = {name: cell for cell in cells for name in cell.model_fingerprints}
    receipts = ancestors.of_stage("train")
    if not any(receipt.recipe.get("fit") == "sgd" for receipt in receipts):
        return [
            Training(cell.trained_on, cell.train_subset, receipt, {}, None)
            for receipt in receipts
            if (cell := by_fingerprint.get(receipt.fingerprint))
        ]
    paper = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
    about = paper.models.get(model)
    source = trainings.source_of(paper.suite)
    options = trainings.options_of(source)
    published = {
        printed.dataset: printed.published
        for printed in trainings.trainings(paper, source)
        if about and printed.model == about.title
    }
    described = []
    for receipt in receipts:
        cell = by_fingerprint.get(receipt.fingerprint)
        if cell is None:
            continue
        dataset = paper.datasets.get(cell.trained_on)
        described.append(
            Training(
                cell.trained_on,
                cell.train_subset,
                receipt,
                trainings.own_settings(receipt.recipe, list(options.settings), options),
                published.get(dataset.title) if dataset else None,
            )
        )
    return described
