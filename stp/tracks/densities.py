"""Predicted densities of positions: mixtures of Gaussians, and grids of probabilities.

There is one density for each person and step. Densities are stored in a Parquet file beside the
predictions, with a row for each person, step and, for mixtures, component.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import logsumexp

from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table, report_read_errors
from stp.tracks.scenarios import Scenarios

MIXTURES, GRIDS = "mixtures.parquet", "grids.parquet"
SUM_TOLERANCE = 1e-4
"""Tolerance of sums of weights and probabilities, which are 1."""


@dataclass(frozen=True)
class Mixture:
    """Predicted mixtures of Gaussians, one for each of N people in S scenarios at each of T steps.

    Attributes:
        weights: weights of the M components, (S, N, T, M), with sum 1; NaN for absent people.
        means: means of components, (S, N, T, M, 2), metres.
        covariances: covariances of components, (S, N, T, M, 2, 2), square metres.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def point(self) -> np.ndarray:
        """Predicted positions: the mean of the component with the largest weight.

        Returns:
            positions of N people in S scenarios at T steps, (S, N, T, 2), metres.
        """
        heaviest = self.weights.argmax(axis=-1)[..., None, None]
        return np.asarray(np.take_along_axis(self.means, heaviest, axis=-2)[..., 0, :])

    def log_density(self, truth: np.ndarray) -> np.ndarray:
        """Evaluate the log-density at positions.

        Args:
            truth: true positions of N people in S scenarios at T steps, (S, N, T, 2), metres.

        Returns:
            log-densities, (S, N, T), nats (of a density per square metre); NaN for absent people.
        """
        x, y = np.moveaxis(truth[..., None, :] - self.means, -1, 0)
        xx, yy = self.covariances[..., 0, 0], self.covariances[..., 1, 1]
        xy = self.covariances[..., 0, 1]
        area = xx * yy - xy * xy
        square = (yy * x * x - 2 * xy * x * y + xx * y * y) / area
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        each = weights - 0.5 * square - 0.5 * np.log(area) - np.log(2 * np.pi)
        return np.asarray(logsumexp(each, axis=-1))


@dataclass(frozen=True)
class Grid:
    """Predicted probabilities of the cells of a grid, for N people in S scenarios at T steps.

    Attributes:
        origin: corner of each person's grid with the smallest x and y, (S, N, 2), metres.
        resolution: side of a cell, metres.
        probability: probability of each cell, (S, N, T, W, H) for W cells along x and H along y,
            with sum 1; NaN for absent people.
    """

    origin: np.ndarray
    resolution: float
    probability: np.ndarray

    def point(self) -> np.ndarray:
        """Predicted positions: the centre of the most probable cell.

        Returns:
            positions of N people in S scenarios at T steps, (S, N, T, 2), metres.
        """
        width, height = self.probability.shape[-2:]
        flat = self.probability.reshape(*self.probability.shape[:-2], width * height)
        cell = np.stack(np.unravel_index(flat.argmax(axis=-1), (width, height)), axis=-1)
        centre = self.origin[:, :, None] + (cell + 0.5) * self.resolution
        return np.where(np.isfinite(flat[..., :1]), centre, np.nan)

    def log_density(self, truth: np.ndarray) -> np.ndarray:
        """Evaluate the log-density at positions: probability of the cell divided by its area.

        Args:
            truth: true positions of N people in S scenarios at T steps, (S, N, T, 2), metres.

        Returns:
            log-densities, (S, N, T), nats; minus infinity outside of the grid; NaN for absent
            people.
        """
        size = self.probability.shape[-2:]
        cell = np.floor((truth - self.origin[:, :, None]) / self.resolution)
        inside = ((cell >= 0) & (cell < size)).all(axis=-1)
        i, j = np.moveaxis(np.where(inside[..., None], cell, 0).astype(np.int64), -1, 0)
        places = np.indices(inside.shape)
        probability = self.probability[(*places, i, j)]
        with np.errstate(divide="ignore"):
            density = np.log(np.where(inside, probability, 0)) - 2 * np.log(self.resolution)
        return np.where(np.isfinite(truth).all(axis=-1), density, np.nan)


Density = Mixture | Grid


def to_positions(
    prediction: np.ndarray | Density, scenarios: Scenarios, steps: int, predictor: object
) -> np.ndarray:
    """Convert what a predictor returns to positions.

    Positions and samples of positions are checked and returned. A density becomes one position: the
    mean of the heaviest Gaussian, or the centre of the most probable cell.

    Args:
        prediction: return value of a predictor.
        scenarios: predicted scenarios.
        steps: number of predicted steps T.
        predictor: module of the predictor, for errors.

    Returns:
        positions of N people in S scenarios, (S, N, T, 2), or K samples of positions, (K, S, N, T,
        2), metres.

    Raises:
        StpError: the prediction has another shape.
    """
    points = prediction if isinstance(prediction, np.ndarray) else prediction.point()
    shape = (*scenarios.person.shape, steps, 2)
    if points.shape != shape and (points.ndim != 5 or points.shape[1:] != shape):
        raise StpError(
            f"{getattr(predictor, '__file__', predictor)}: it predicts points of shape "
            f"{points.shape}",
            expected=f"{shape}, scenarios, people, steps, x and y; for K samples {('K', *shape)}",
            remedy="correct predict() or draw() there",
        )
    return points


# Files


def table(density: Density, scenarios: Scenarios, first: int = 0) -> pa.Table:
    """Convert a density to a table of rows ordered by scenario, person, step and component.

    Args:
        density: density of the scenarios.
        scenarios: predicted scenarios.
        first: number of the first scenario in the table; the others follow.
    """
    scene, place = np.nonzero(scenarios.present)
    person = scenarios.person[scene, place]
    if isinstance(density, Grid):
        probability = density.probability[scene, place]
        count, steps, width, height = probability.shape
        rows = np.repeat(np.arange(count), steps)
        origin = density.origin[scene, place][rows]
        cells = pa.FixedSizeListArray.from_arrays(
            pa.array(probability.reshape(-1), pa.float64()), width * height
        )
        grids = pa.table(
            {
                "scenario": first + scene[rows],
                "person": person[rows],
                "lead": np.tile(np.arange(1, steps + 1), count),
                "origin_x": origin[:, 0],
                "origin_y": origin[:, 1],
                "probability": cells,
            }
        )
        about = {"width": str(width), "height": str(height), "resolution": repr(density.resolution)}
        return grids.replace_schema_metadata(about)
    weights, means = density.weights[scene, place], density.means[scene, place]
    covariances = density.covariances[scene, place]
    count, steps, components = weights.shape
    rows = np.repeat(np.arange(count), steps * components)
    return pa.table(
        {
            "scenario": first + scene[rows],
            "person": person[rows],
            "lead": np.tile(np.repeat(np.arange(1, steps + 1), components), count),
            "component": np.tile(np.arange(components), count * steps),
            "weight": weights.reshape(-1),
            "mean_x": means[..., 0].reshape(-1),
            "mean_y": means[..., 1].reshape(-1),
            "cov_xx": covariances[..., 0, 0].reshape(-1),
            "cov_xy": covariances[..., 0, 1].reshape(-1),
            "cov_yy": covariances[..., 1, 1].reshape(-1),
        }
    )


def write(folder: Path, tables: list[pa.Table]) -> None:
    """Write predicted densities of people's positions to a file in a folder of predictions.

    The file is ``mixtures.parquet`` for mixtures of Gaussians, ``grids.parquet`` for grids of
    probabilities.

    Args:
        folder: folder of the predictions.
        tables: densities of successive scenarios, as made by `table`, which are concatenated. All
            are mixtures, or all are grids. If there are none, no file is written.
    """
    if tables:
        name = MIXTURES if "weight" in tables[0].column_names else GRIDS
        pq.write_table(
            pa.concat_tables(tables), folder / name, compression="zstd", write_page_checksum=True
        )


def read(folder: Path, scenarios: Scenarios) -> Density | None:
    """Read the predicted densities of all people of all scenarios from a folder of predictions.

    Returns:
        the densities; None if the predictions are positions or samples.

    Raises:
        StpError: a file of densities is damaged, has another format, or has other people than the
            scenarios.
    """
    for name, of_rows in ((MIXTURES, _mixture), (GRIDS, _grid)):
        path = folder / name
        if path.is_file():
            try:
                expected = "densities of positions, as stp.tracks.densities writes them"
                with report_read_errors(path, expected):
                    return of_rows(read_table(path, expected=expected), scenarios)
            except _WrongError as wrong:
                raise ArtefactError(path, str(wrong), expected=wrong.expected) from None
    return None


class _WrongError(Exception):
    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.expected = expected


def _mixture(rows: pa.Table, scenarios: Scenarios) -> Mixture:
    components = int(np.max(rows["component"].to_numpy(), initial=0)) + 1
    shape = _shape(rows, scenarios, component=components)
    names = ("weight", "mean_x", "mean_y", "cov_xx", "cov_xy", "cov_yy")
    weight, x, y, xx, xy, yy = (rows[name].to_numpy().reshape(shape) for name in names)
    finite = all(np.isfinite(values).all() for values in (weight, x, y, xx, xy, yy))
    if not finite or weight.min() < 0 or np.abs(weight.sum(axis=-1) - 1).max() > SUM_TOLERANCE:
        raise _WrongError("weights of components are no shares", "shares with sum 1")
    if not ((xx > 0) & (xx * yy - xy * xy > 0)).all():
        raise _WrongError(
            "covariances are not positive definite", "positive definite covariances, square metres"
        )
    covariances = np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -1)
    means = np.stack([x, y], axis=-1)
    return Mixture(*(_pad_people(values, scenarios) for values in (weight, means, covariances)))


def _grid(rows: pa.Table, scenarios: Scenarios) -> Grid:
    about = {key.decode(): value.decode() for key, value in (rows.schema.metadata or {}).items()}
    width, height = int(about["width"]), int(about["height"])
    resolution = float(about["resolution"])
    shape = _shape(rows, scenarios)
    cells = rows["probability"].combine_chunks().values.to_numpy().reshape(*shape, width, height)
    total = cells.sum(axis=(-2, -1))
    if not (np.isfinite(cells).all() and cells.min() >= 0 and resolution > 0) or (
        np.abs(total - 1).max() > SUM_TOLERANCE
    ):
        raise _WrongError("cells contain no probabilities", "probabilities with sum 1")
    origin = np.stack([rows["origin_x"].to_numpy(), rows["origin_y"].to_numpy()], axis=-1)
    origin = origin.reshape(*shape, 2)[:, 0]
    return Grid(_pad_people(origin, scenarios), resolution, _pad_people(cells, scenarios))


def keys(scenarios: Scenarios, **inner: int) -> pd.MultiIndex:
    """Keys of the rows that a file of predictions must have, to check or to sort its rows.

    There is a key for each scenario, present person and lead time and, if `inner` is given, for
    each value of a further key.

    Args:
        scenarios: predicted scenarios.
        inner: name of the further key, and number of its values 0, 1, ...; at most one item, such
            as ``component=3`` for a row for each of three Gaussians.

    Returns:
        an index with the levels ``scenario``, ``person``, ``lead`` and the further key.
    """
    scene, place = np.nonzero(scenarios.present)
    steps, each = scenarios.future.shape[2], next(iter(inner.values()), 1)
    arrays = [
        np.repeat(scene, steps * each),
        np.repeat(scenarios.person[scene, place], steps * each),
        np.tile(np.repeat(np.arange(1, steps + 1), each), len(scene)),
        *[np.tile(np.arange(each), len(scene) * steps) for _ in inner],
    ]
    return pd.MultiIndex.from_arrays(arrays, names=["scenario", "person", "lead", *inner])


def _shape(rows: pa.Table, scenarios: Scenarios, **inner: int) -> tuple[int, ...]:
    """Shape of a column of the table: (people, steps), optionally with components."""
    expected = keys(scenarios, **inner)
    actual = pd.MultiIndex.from_arrays([rows[name].to_numpy() for name in expected.names])
    if not actual.equals(expected):
        raise _WrongError(
            f"{len(actual)} rows are not those of {int(scenarios.present.sum())} people and "
            f"{scenarios.future.shape[2]} lead times",
            "every person of every scenario of the data, in order",
        )
    return (int(scenarios.present.sum()), scenarios.future.shape[2], *inner.values())


def _pad_people(of_people: np.ndarray, scenarios: Scenarios) -> np.ndarray:
    """Distribute values of present people, (people, ...), to (S, N, ...); NaN for absent people."""
    padded = np.full((*scenarios.person.shape, *of_people.shape[1:]), np.nan)
    padded[scenarios.present] = of_people
    return padded
