"""Frames: video, maps and fields; a model predicts the frames that follow a few."""

from stp.kinds.kind import Kind
from stp.options.predict import PredictOptions
from stp.options.train import TrainOptions

KIND = Kind(
    name="frames",
    models="stp.models",
    has_classes=True,
    train={"closed_form": "stp.train.run", "sgd": "stp.train.run"},
    train_options={"sgd": TrainOptions},
    predict="stp.predict.run",
    score="stp.score.run",
    predict_options=PredictOptions,
    imported="stp.predict.imported",
    rollout="stp.score.rollout",
    read="stp.score.read",
    sources="stp.predict.sources",
    features="stp.features.run",
    features_rollout="stp.features.rollout",
    features_read="stp.features.read",
    settings=("interval", "update", "intensity"),
    prepared_pictures="stp.render.pictures.prepared",
    inspect="stp.inspect.clips",
    own_reader="own.reader",
    is_profiled=True,
)
