"""Index of the forecasts in the page: evaluations, samples, and the sheets of their pictures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownMetric:
    """A metric of single samples: column heading, convention and variable."""

    title: str
    convention: str
    variable: str


@dataclass(frozen=True)
class ShownVariable:
    """A variable in pictures: name and units."""

    name: str
    units: str


@dataclass(frozen=True, kw_only=True)
class ShownSample:
    """A sample.

    Attributes:
        rule: name of the rule of choice.
        number: number of the test sample.
        why: the rule in words.
        clip: name.
        times: times of context and lead times, in words.
        gaps: reasons of missing pictures by model; empty texts where there are pictures.
        remarks: by model; empty texts where there are none.
        scales: by variable, of values and of errors: lowest and highest value, and the colours.
        metrics: metrics of the scores.
        scores: values over lead times, by model and metric.
        piece: name of the sheets.
    """

    rule: str
    number: int
    why: str
    clip: str
    times: list[str]
    gaps: list[str]
    remarks: list[str]
    scales: list[list[tuple[float, float, str]]]
    metrics: list[ShownMetric]
    scores: list[list[list[float | str] | None]]
    piece: str = ""


@dataclass(frozen=True, kw_only=True)
class ShownEvaluation:
    """An evaluation; without pictures unless it is a `PicturedEvaluation`.

    Attributes:
        dimension: name.
        case: name of the test.
        tested: title of the test.
        dataset: name.
        origin: origins of the data of its cells, see `stp.plan.manifest.ORIGIN_FIELDS`.
        gap: why there are no pictures; empty if there are.
        samples: with pictures.
    """

    dimension: str
    case: str
    tested: str
    dataset: str
    origin: list[dict[str, object]]
    gap: str
    samples: list[ShownSample]


@dataclass(frozen=True, kw_only=True)
class PicturedEvaluation(ShownEvaluation):
    """An evaluation with pictures.

    Attributes:
        look: encoding and size of the pictures, in words.
        size: width and height of a frame as stored, pixels.
        full: width and height of a frame of the data, pixels.
        pitch: horizontal and vertical distance of frames in a sheet, pixels.
        columns: numbers of columns of the sheets of context and of lead times.
        aspect: width of a frame divided by its height.
        coast: number of the coastline; None for data that are no map.
        is_picture: whether values are colours.
        context: number of context frames.
        leads: number of lead times.
        channels: number of channels of the data.
        variables: variables that can be chosen.
        models: label, key and origin of the data, in the order of lists by model.
    """

    look: str
    size: list[int]
    full: list[int]
    pitch: list[int]
    columns: list[int]
    aspect: float
    coast: int | None
    is_picture: bool
    context: int
    leads: int
    channels: int
    variables: list[ShownVariable]
    models: list[dict[str, object]]


@dataclass(frozen=True)
class VariableSheets:
    """Sheets of a variable, as URIs: context, truth, and by label those of values and errors."""

    context: str
    truth: str
    models: dict[str, list[str]]


@dataclass(frozen=True)
class SampleSheets:
    """Sheets of a sample, by variable."""

    variables: list[VariableSheets]
