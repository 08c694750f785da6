"""Populations of models whose videos raters compare: cells of a results store, or a CSV file."""

import csv
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from stp.collect.opened import opened
from stp.collect.query import of_answer
from stp.collect.rows import CellRow
from stp.collect.videos import place, predictions, video
from stp.core.errors import StpError
from stp.human_study.pair_key import Rated
from stp.human_study.pair_options import Measure
from stp.human_study.sampling import draw
from stp.options.score import CELL_KEYS
from stp.score.predictions import Predictions
from stp.score.video_folder import find_clips, read_clip

VALUES = """
SELECT c.number, s.convention, s.value
FROM overall s JOIN cells c ON {same}
WHERE s.leads IS NULL AND s.variable IS NULL AND s.threshold IS NULL
    AND list_contains(?, s.convention)
"""


class Population(ABC):
    """Models with values of metrics, and with videos of the same clips.

    Attributes:
        path: the file that it was read from.
        scale: of the results store; empty for a CSV file.
        models: by name.
    """

    path: Path
    scale: str
    models: dict[str, Rated]

    @abstractmethod
    def clips(self, models: Sequence[str], count: int, seed: int) -> list[str]:
        """Draw clips that all of some models have videos of.

        Raises:
            StpError: there are fewer, or videos are missing or damaged.
        """

    @abstractmethod
    def video(self, model: str, clip: str) -> np.ndarray:
        """The video of a model, float32 (T, C, H, W) in [0, 1], C is 1 or 3.

        Raises:
            StpError: it is missing or damaged.
        """


def read_population(path: Path, metrics: Mapping[str, Measure], where: str = "") -> Population:
    """Read a population.

    Args:
        path: a results store (.duckdb), or a CSV file (.csv).
        metrics: by heading.
        where: of a store, a condition in SQL on table ``cells``.

    Raises:
        StpError: the file is missing or damaged, or has no models.
    """
    if path.suffix == ".csv":
        if where:
            raise StpError(
                f"{path} is no results store, so there is nothing to select from",
                remedy="leave out --where, and delete lines of the file instead",
            )
        return TablePopulation(path, metrics)
    return StorePopulation(path, metrics, where)


class StorePopulation(Population):
    """Cells whose predictions are stored: models, variants, seeds, snapshots and settings.

    Args:
        path: the results store.
        metrics: by heading.
        where: a condition in SQL on table ``cells``; all unless given.

    Raises:
        StpError: there is no store, the condition is no SQL, no cell has predictions, or a metric
            has another direction there.
    """

    def __init__(self, path: Path, metrics: Mapping[str, Measure], where: str) -> None:
        self.path = path
        conventions = [measure.convention for measure in metrics.values()]
        with opened(path, locked=[]) as store:
            self._check_directions(store, metrics)
            try:
                found = store.execute(f"FROM cells WHERE {where or 'true'} ORDER BY number")
                columns = [column[0] for column in found.description or ()]
                cells = of_answer(CellRow, columns, found.fetchall())
            except duckdb.Error as error:
                raise StpError(
                    f"--where {where!r}: {str(error).splitlines()[0]}",
                    expected="a condition in SQL on the table cells of the results store",
                    remedy="`stp list store cells` lists its columns",
                ) from None
            same = " AND ".join(f"s.{key} IS NOT DISTINCT FROM c.{key}" for key in CELL_KEYS)
            values = store.execute(VALUES.format(same=same), [conventions]).fetchall()
        of_cell = {(number, convention): value for number, convention, value in values}
        self.scale = cells[0].scale if cells else ""
        self.models = {}
        self._cells: dict[str, CellRow] = {}
        self._readers: dict[str, Predictions] = {}
        seen: set[Path] = set()
        for cell in cells:
            stored = place(cell)
            if stored is None or stored in seen:  # one forecast can be a cell of two dimensions
                continue
            seen.add(stored)
            self._cells[cell.key.path] = cell
            self.models[cell.key.path] = Rated(
                values={
                    heading: of_cell.get((cell.number, measure.convention))
                    for heading, measure in metrics.items()
                },
                source=cell.source,
                protocol=cell.protocol,
                predictions=str(stored),
            )
        if not self.models:
            raise StpError(
                f"{path}: no predictions of {len(cells)} cells are stored",
                expected="cells whose predictions are there, as videos for raters",
                remedy="select others with --where, or keep predictions (`keep` in the scale file)",
            )

    def _check_directions(
        self, store: duckdb.DuckDBPyConnection, metrics: Mapping[str, Measure]
    ) -> None:
        known = dict(
            store.execute("SELECT convention, higher_is_better FROM conventions").fetchall()
        )
        for heading, measure in metrics.items():
            there = known.get(measure.convention)
            if there is not None and there != measure.higher_is_better:
                raise StpError(
                    f"{heading}: higher_is_better is {measure.higher_is_better}, but {there} for "
                    f"{measure.convention} in {self.path}",
                    remedy="mend `metrics` in the configuration of the study",
                )

    def clips(self, models: Sequence[str], count: int, seed: int) -> list[str]:
        shared: pd.DataFrame | None = None
        for model in models:
            index = self._reader(model).index
            shared = index if shared is None else shared[shared["clip"].isin(index["clip"])]
        assert shared is not None, "models are chosen before clips"
        shared = shared.reset_index(drop=True)
        numbers = draw(shared["cluster"], count, seed, f"all {len(models)} models")
        return [str(shared["clip"].iloc[number]) for number in numbers]

    def video(self, model: str, clip: str) -> np.ndarray:
        reader = self._reader(model)
        sample = int(np.flatnonzero(reader.index["clip"] == clip)[0])
        return video(reader, sample)

    def _reader(self, model: str) -> Predictions:
        if model not in self._readers:
            self._readers[model] = predictions(self._cells[model])
        return self._readers[model]


class TablePopulation(Population):
    """Models of a CSV file: ``model``, ``clips`` (a folder of videos), and a column per metric.

    A column is called as the metric's heading or its convention; a value may be empty. Clips of
    different models belong together by their place in the order of their names.

    Args:
        path: the file; folders of clips are relative to its own.
        metrics: by heading.

    Raises:
        StpError: it is missing or damaged, or names a model twice or none.
    """

    def __init__(self, path: Path, metrics: Mapping[str, Measure]) -> None:
        self.path, self.scale = path, ""
        names, lines = _read_csv(path)
        columns: dict[str, str] = {}
        for heading, measure in metrics.items():
            found = [name for name in (heading, measure.convention) if name in names]
            columns |= {heading: found[0]} if found else {}
        if not {"model", "clips"} <= set(names) or not columns:
            raise StpError(
                f"{path}: columns {', '.join(names)}",
                expected=f"model, clips, and metrics out of {', '.join(metrics)}",
                remedy="name the columns so, or mend `metrics` in the configuration of the study",
            )
        self.models = {}
        for number, line in lines:
            name = line["model"]
            if not name or name in self.models:
                raise StpError(
                    f"{path}, line {number}: model {name!r}",
                    expected="a name, each once",
                    remedy="mend the file",
                )
            self.models[name] = Rated(
                values={
                    heading: _number(line[columns[heading]], f"{path}, line {number}")
                    if heading in columns
                    else None
                    for heading in metrics
                },
                source="own",
                protocol="",
                predictions=str(path.parent / line["clips"]),
            )
        if not self.models:
            raise StpError(f"{path}: no models", expected="a line for each model")

    def clips(self, models: Sequence[str], count: int, seed: int) -> list[str]:
        fewest = min(len(find_clips(Path(self.models[name].predictions))) for name in models)
        numbers = draw(pd.Series(range(fewest)), count, seed, f"all {len(models)} models")
        return [str(number) for number in numbers]

    def video(self, model: str, clip: str) -> np.ndarray:
        return read_clip(find_clips(Path(self.models[model].predictions))[int(clip)])


def _read_csv(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The columns of a CSV file, and its lines with their numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            names = list(reader.fieldnames or ())
            lines = [(reader.line_num, line) for line in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="a CSV file in UTF-8 with the columns model, clips and metrics",
            remedy="name an existing file, or a results store (.duckdb)",
        ) from None
    for number, line in lines:
        if None in line or None in line.values():
            raise StpError(
                f"{path}, line {number}: not {len(names)} fields",
                expected="as many fields as columns",
                remedy="mend the file",
            )
    return names, lines


def _number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise StpError(f"{where}: value {text!r}", expected="a number, or nothing")
    return value
