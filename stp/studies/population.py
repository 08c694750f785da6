"""Read populations: the models among which a study of pairs chooses those to compare.

Models are cells of a results store (one model on one dataset), or lines of a CSV file.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stp.collect.query import query_rows, run_query
from stp.collect.schema import CellRow
from stp.collect.videos import find_predictions, predictions, video
from stp.core.errors import FileError, StpError
from stp.options.score import CELL_KEYS
from stp.score.predictions import Predictions
from stp.score.video_folder import Clip, find_clips, read_clip
from stp.studies.answer_key import ScoredModel
from stp.studies.answers import read_csv
from stp.studies.options import Measure
from stp.studies.sampling import draw

VALUES = f"""
SELECT c.number, s.convention, s.value
FROM overall s JOIN cells c
    ON {" AND ".join(f"s.{key} IS NOT DISTINCT FROM c.{key}" for key in CELL_KEYS)}
WHERE s.leads IS NULL AND s.variable IS NULL AND s.threshold IS NULL
    AND list_contains(?, s.convention)
"""


class Population(ABC):
    """Models to choose from for a study, with scores and videos.

    Attributes:
        scale: name of the scale file of a results store; empty for a CSV file.
        models: all models with their scores, by name.
    """

    scale: str
    models: dict[str, ScoredModel]

    @abstractmethod
    def clusters(self, model: str) -> pd.Series:
        """Name of the cluster (such as a video) of each clip of a model.

        Args:
            model: name of the model.

        Returns:
            names of clusters; the index is the names of the clips.
        """

    @abstractmethod
    def video(self, model: str, clip: str) -> np.ndarray:
        """Read the video that a model predicted for a clip.

        Args:
            model: name of the model.
            clip: name of the clip.

        Returns:
            all frames of the video, float32 (T, C, H, W) in 0..1; C is 1 or 3. Observed frames
            (context), if stored, come before the predicted ones.

        Raises:
            StpError: the video is missing or damaged.
        """

    def clips(self, models: Sequence[str], count: int, seed: int) -> list[str]:
        """Draw names of clips for which all given models have videos, at random.

        Args:
            models: names of the models.
            count: number of clips.
            seed: seed of the draw.

        Raises:
            StpError: there are too few clips, or videos are missing or damaged.
        """
        clusters = self.clusters(models[0])
        for model in models[1:]:
            clusters = clusters[clusters.index.isin(self.clusters(model).index)]
        numbers = draw(clusters, count, seed, f"all {len(models)} models")
        return [str(clusters.index[number]) for number in numbers]


class StorePopulation(Population):
    """The models of a results store: those whose predictions are still stored.

    A cell is one model, trained and tested on some data. Each cell counts as a model of its own.

    Args:
        path: path of the results store.
        metrics: metrics of the study; keys are their headings in the study's table, such as
            ``FVD``.
        where: SQL condition on table ``cells``, such as ``tested_on = 'bair'``; empty for all
            cells.

    Raises:
        StpError: there is no store, the condition is not valid SQL, no cell has predictions, or the
            direction of a metric differs from the store.
    """

    def __init__(self, path: Path, metrics: Mapping[str, Measure], where: str) -> None:
        conventions = [measure.convention for measure in metrics.values()]
        _, rows = run_query(path, "SELECT convention, higher_is_better FROM conventions")
        directions = dict(rows)
        cells = query_rows(path, CellRow, f"FROM cells WHERE {where or 'true'} ORDER BY number")
        _, values = run_query(path, VALUES, [conventions])
        for heading, measure in metrics.items():
            stored = directions.get(measure.convention)
            if stored is not None and stored != measure.higher_is_better:
                raise StpError(
                    f"{heading}: higher_is_better is {measure.higher_is_better}, but {stored} for "
                    f"{measure.convention} in {path}",
                    remedy="fix `metrics` in the configuration of the study",
                )
        of_cell = {(number, convention): value for number, convention, value in values}
        self.scale = cells[0].scale if cells else ""
        self.models = {}
        self._cells: dict[str, CellRow] = {}
        self._readers: dict[str, Predictions] = {}
        folders: set[Path] = set()
        for cell in cells:
            folder = find_predictions(cell)
            if folder is None or folder in folders:  # one forecast can be a cell of two dimensions
                continue
            folders.add(folder)
            self._cells[cell.key.path] = cell
            self.models[cell.key.path] = ScoredModel(
                values={
                    heading: of_cell.get((cell.number, measure.convention))
                    for heading, measure in metrics.items()
                },
                source=cell.source,
                protocol=cell.protocol,
                predictions=str(folder),
            )
        if not self.models:
            raise StpError(
                f"{path}: no predictions of {len(cells)} cells are stored",
                remedy="select others with --where, or keep predictions (`keep` in the scale file)",
            )

    def clusters(self, model: str) -> pd.Series:
        """Name of the cluster of each clip of a model, from its test data, by name of the clip."""
        index = self._reader(model).index
        return pd.Series(index["cluster"].to_numpy(), index=index["clip"])

    def video(self, model: str, clip: str) -> np.ndarray:
        """Read the observed frames of a clip, if stored, and a model's prediction.

        Returns:
            observed frames followed by predicted ones, float32 (T, C, H, W) in 0..1.
        """
        reader = self._reader(model)
        return video(reader, int(np.flatnonzero(reader.index["clip"] == clip)[0]))

    def _reader(self, model: str) -> Predictions:
        if model not in self._readers:
            self._readers[model] = predictions(self._cells[model])
        return self._readers[model]


class TablePopulation(Population):
    """The models of a CSV file, one in each line.

    Columns are ``model``, ``clips`` (the folder of the model's videos), and one for each metric.
    The column of a metric is named after its heading or convention; a value may be empty. Clips of
    different models are matched by their position in the alphabetical order of names.

    Args:
        path: path of the file; folders of clips are relative to the folder of this file.
        metrics: metrics of the study; keys are their headings in the study's table, such as
            ``FVD``.

    Raises:
        StpError: the file is missing or damaged, names a model twice, or names no model.
    """

    scale = ""

    def __init__(self, path: Path, metrics: Mapping[str, Measure]) -> None:
        names, lines = read_csv(path)
        columns = {
            heading: next((n for n in (heading, measure.convention) if n in names), None)
            for heading, measure in metrics.items()
        }
        if not {"model", "clips"} <= set(names) or not any(columns.values()):
            raise FileError(
                path,
                f"columns {', '.join(names)}",
                expected=f"model, clips, and metrics out of {', '.join(metrics)}",
                remedy="rename the columns, or fix `metrics` in the configuration of the study",
            )
        self.models = {}
        for number, line in lines:
            name, where = line["model"], f"{path}, line {number}"
            if not name or name in self.models:
                raise FileError(where, f"model {name!r} is empty or repeated")
            self.models[name] = ScoredModel(
                values={
                    heading: _parse_number(line[column], where) if column else None
                    for heading, column in columns.items()
                },
                source="own",
                protocol="",
                predictions=str(path.parent / line["clips"]),
            )
        if not self.models:
            raise FileError(path, "no models")

    def _videos(self, model: str) -> list[Clip]:
        return find_clips(Path(self.models[model].predictions))

    def clusters(self, model: str) -> pd.Series:
        """Name of the cluster of each clip, by name of the clip: each clip is its own cluster."""
        numbers = range(len(self._videos(model)))
        return pd.Series(numbers, index=[str(number) for number in numbers])

    def video(self, model: str, clip: str) -> np.ndarray:
        """Read all frames of a video in a model's folder.

        Args:
            model: name of the model.
            clip: position of the video in the alphabetical order of the folder, from 0, as text.

        Returns:
            frames, float32 (T, C, H, W) in 0..1; C is 1 or 3.
        """
        return read_clip(self._videos(model)[int(clip)])


def read_population(path: Path, metrics: Mapping[str, Measure], where: str = "") -> Population:
    """Read the models among which a study chooses, with their scores and videos.

    Args:
        path: path of a results store (.duckdb) or a CSV file (.csv).
        metrics: metrics of the study; keys are their headings in the study's table, such as
            ``FVD``. In a CSV file, a column may have the heading or the convention as its name.
        where: SQL condition on table ``cells`` of a store, such as ``tested_on = 'bair'``; empty
            for all cells.

    Raises:
        StpError: the file is missing or damaged, or has no models.
    """
    if path.suffix != ".csv":
        return StorePopulation(path, metrics, where)
    if where:
        raise StpError(
            f"--where {where!r}: {path} is not a results store",
            remedy="delete lines of the file instead",
        )
    return TablePopulation(path, metrics)


def _parse_number(text: str, where: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FileError(where, f"value {text!r}", expected="a number, or nothing")
    return value
