"""Opinions: what people think of videos; a model is a measure of quality that predicts it."""

from stp.kinds.kind import Kind
from stp.options.quality import QualityOptions

KIND = Kind(
    name="opinions",
    models="stp.opinions.measures",
    train={},
    train_options={},
    predict="stp.predict.opinions",
    predict_options=QualityOptions,
    score="stp.score.opinions",
    sources="stp.opinions.measures",
    video_features="stp.features.videos",
    settings=("components", "training"),
    has_shape=False,
    trained_context=False,
    on_gpu=False,
    is_light=True,
    pictures="none",
    prepared_pictures="stp.render.pictures.opinions",
    inspect="stp.inspect.opinions",
    own_reader="opinions",
    has_opinions=True,
    model_title="measure of quality",
    network_title="measure of quality",
)
