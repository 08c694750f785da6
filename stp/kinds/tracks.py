"""Tracks: positions of people; a model predicts the paths of all people who are present."""

from stp.kinds.kind import Kind
from stp.options.calibrate import CalibrationOptions, FittingOptions
from stp.options.predict_tracks import MotionOptions
from stp.options.protocols import PROTOCOLS

KIND = Kind(
    name="tracks",
    models="stp.tracks.predictors",
    options="Parameters",
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
    prepared_pictures="stp.render.pictures.people",
    inspect="stp.inspect.tracks",
    own_reader="tracks",
    is_surveyed=True,
    has_scenarios=True,
    has_steps=True,
    names_training=True,
    counts_people=True,
    has_person_errors=True,
    has_runtime=True,
    model_title="predictor of people",
    network_title="predictor of people",
    protocols=tuple((name, protocol.title) for name, protocol in PROTOCOLS.items()),
)
