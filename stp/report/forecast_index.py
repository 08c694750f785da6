"""What the page is told of forecasts: evaluations, samples, and the sheets of their pictures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShownMetric:
    """A metric of single samples: column heading, convention and variable."""

    title: str
    convention: str
    variable: str


@dataclass(frozen=True)
class ShownVariable:
    """A variable that pictures show."""

    name: str
    units: str


@dataclass(frozen=True, kw_only=True)
class ShownSample:
    """What the page says of a sample.

    Attributes:
        rule, number, why, clip: how it was chosen, and which it is.
        times: of context and lead times, in words.
        gaps, remarks: by model; empty texts where there is nothing to say.
        scales: by variable, of values and of errors: lowest and highest value, and the colours.
        metrics, scores: metrics, and their values over lead times by model and metric.
        piece: name of its sheets.
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
    """An evaluation of which there is nothing to see.

    Attributes:
        origin: whose bytes its cells are from, see `stp.plan.manifest.WHOSE`.
        gap: why there are no pictures.
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
        look: how its pictures are stored.
        size, full, pitch: of a frame, stored and as it is, and how far frames of a sheet are
            apart; width and height in pixels.
        columns: of the sheets of context and of lead times.
        aspect: width of a frame over its height.
        coast: number of its coastline; None where it is no map.
        is_picture: whether values are colours.
        context, leads: numbers of frames.
        models: label, key and whose bytes; the order is that of lists by model.
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
