"""Data classes of the forecasts in the page: evaluations, samples, and sheets of pictures.

An evaluation is a test in which models were compared. A sheet is one picture of several frames.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownMetric:
    """A metric of single samples, whose values are shown beside pictures.

    Attributes:
        title: heading of the values.
        convention: name of the exact definition, such as ``ssim.range2``.
        variable: name of the variable; empty for all channels together.
    """

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
    """A test sample whose pictures are shown.

    Attributes:
        rule: name of the rule that chose the sample.
        number: index of the sample in the test, from 0.
        why: the rule in words.
        clip: name of the clip.
        times: times of context and lead times, in words.
        gaps: for each model, the reason why it has no pictures; an empty text if it has some.
        remarks: for each model, a remark on its forecast; may be empty.
        scales: for each variable, two colour scales, of values and of errors, each as lowest value,
            highest value, and name of a colour map.
        metrics: metrics whose values are shown beside the pictures.
        scores: for each model and each of `metrics`, the values at all lead times; None if they are
            missing.
        piece: name of the block of data in the page that has the pictures.
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
    """A test in which models were compared, in the page's list of forecasts.

    An object of this class itself has no pictures, and says why. A test with pictures is a
    `PicturedEvaluation`.

    Attributes:
        dimension: name of the table that the test belongs to, such as ``short_term``.
        case: name of the test, such as ``kitti-caltech``.
        tested: title of the test for readers, such as ``KITTI -> Caltech``.
        dataset: name of the test dataset.
        origin: facts about the data and the protocol behind the results, by name, such as
            ``{"source": "official", "comparable": True, ...}``. Models with equal facts share an
            item; there are several items if models differ.
        gap: reason why there are no pictures; empty in a `PicturedEvaluation`.
        samples: samples with pictures; empty without pictures.
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
    """A test in which models were compared, with pictures of their forecasts.

    Frames are stored in sheets: pictures with several frames side by side.

    Attributes:
        look: encoding and size of the pictures, in words.
        size: width and height of a frame as stored, in pixels.
        full: width and height of a frame of the data, in pixels.
        pitch: horizontal and vertical distance from one frame of a sheet to the next, in pixels.
        columns: number of columns in the sheet of the context, and in sheets of lead times.
        aspect: width of a frame divided by its height.
        coast: index of the coastline in the page's list of coastlines; None for data that are not
            on a map.
        is_picture: whether values are brightness or colours.
        context: number of context frames.
        leads: number of lead times.
        channels: number of channels of the data.
        variables: variables that can be chosen.
        models: for each model, its label, name, variant and seed, and facts about the data and the
            protocol behind its results, such as ``source`` ("official") and ``comparable``; by
            name, as in the items of ``origin``. Lists with an item for each model have this order.
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
    """Sheets (pictures of several frames) of one variable, as data URIs.

    Attributes:
        context: sheet of the context frames.
        truth: sheet of the true frames.
        models: two sheets of each model, forecast and errors, by label of the model.
    """

    context: str
    truth: str
    models: dict[str, list[str]]


@dataclass(frozen=True)
class SampleSheets:
    """Sheets (pictures of several frames) of a sample, for each variable."""

    variables: list[VariableSheets]
