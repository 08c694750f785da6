"""Tracks: positions of people; a model predicts where everybody goes who is present."""

from stp.kinds.kind import Kind
from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.predict_tracks import MotionOptions

KIND = Kind(
    name="tracks",
    models="stp.tracks.predictors",
    train={"calibrate": "stp.train.calibrated", "sgd": "stp.train.calibrated"},
    train_options={"calibrate": CalibrationOptions, "sgd": FittingOptions},
    predict="stp.predict.motion",
    score="stp.score.motion",
    predict_options=MotionOptions,
    settings=("observe", "noise", "people"),
    has_shape=False,
    trained_context=False,
    on_gpu=False,
    is_light=True,
    pictures="trajectories",
    protocols=(
        ("atlas-paper", "scenarios as the released code of Atlas cuts them"),
        ("strict", "scenarios whose observation holds no future"),
        ("strict-relaxed", "as strict, and others may come and go"),
    ),
)
