"""The form of an entry of this room, and how one is found by its name."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.predict import PredictOptions
from stp.options.predict_tracks import MotionOptions
from stp.options.train import TrainOptions

Options: TypeAlias = (
    type[TrainOptions]
    | type[CalibrationOptions]
    | type[FittingOptions]
    | type[PredictOptions]
    | type[MotionOptions]
)


@dataclass(frozen=True)
class Kind:
    """A kind of sample.

    Attributes:
        name: what datasets and models are declared with.
        models: the package that has a module for each of its models.
        train: how models are fitted -> the core that does it.
        train_options: how models are fitted -> what a recipe may set for that; other fits have no
            options to check.
        predict, score: the cores of these stages.
        predict_options: what a recipe may set for a prediction.
        imported: the core that takes over predictions that were made elsewhere; None: it has none.
        rollout: the core that scores forecasts while they are made; None: they are always stored.
        features: the core that lets networks look at clips, and features_rollout that of forecasts
            that are not stored; None: no network looks at these samples.
        settings: keys of a setting, besides the horizon, that change how forecasts are made.
        has_shape: samples of a dataset have one shape, channels, height and width.
        trained_context: the number of context frames is that of the training dataset; else that of
            the tested one.
        on_gpu: its networks are large enough for GPUs, and for several processes in a training.
        is_light: whatever is done takes seconds, and what is stored is small.
        pictures: how forecasts are drawn: strips of frames, or trajectories over a map.
        protocols: subsets that all its datasets have: name -> title. A cell names one of them.
    """

    name: str
    models: str
    train: Mapping[str, str]
    train_options: Mapping[str, Options]
    predict: str
    score: str
    predict_options: Options
    imported: str | None = None
    rollout: str | None = None
    features: str | None = None
    features_rollout: str | None = None
    settings: tuple[str, ...] = ()
    has_shape: bool = True
    trained_context: bool = True
    on_gpu: bool = True
    is_light: bool = False
    pictures: str = "strips"
    protocols: tuple[tuple[str, str], ...] = ()

    @property
    def modules(self) -> list[str]:
        """All cores, for tests that resolve the names."""
        found = [*self.train.values(), self.predict, self.score, self.imported, self.rollout]
        found += [self.features, self.features_rollout]
        return sorted({name for name in found if name})


@functools.cache
def names() -> list[str]:
    """The kinds that there are."""
    here = Path(__file__).parent
    return sorted(path.stem for path in here.glob("[a-z]*.py") if path.stem != "kind")


@functools.cache
def find(name: str) -> Kind:
    """Find a kind by its name, one of `names`."""
    kind: Kind = import_module(f"stp.kinds.{name}").KIND
    return kind
