"""Which pairs of models raters compare (config/human_pairs.yaml)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from stp.core.errors import nearest
from stp.human_study.options import Word
from stp.plan.strict import CONFIG_FOLDER, Strict, check, read_yaml

FILE = CONFIG_FOLDER / "human_pairs.yaml"


class Measure(Strict):
    """A metric that is compared with people.

    Attributes:
        convention: its name in the results store, or a column of a CSV file.
        higher_is_better: its direction.
    """

    convention: str = Field(min_length=1)
    higher_is_better: bool


class Gaps(Strict):
    """The study of how small a difference people see.

    Attributes:
        metric: heading of the metric.
        bases: values of models that others are compared with.
        steps: by how much the others are worse.
        models: others at each step.
        tolerance: how far the value of a model may be from what is wanted.
    """

    metric: str
    bases: list[float] = Field(min_length=1)
    steps: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    models: int = Field(default=5, ge=1)
    tolerance: float = Field(gt=0)


class PairStudy(Strict):
    """What raters compare.

    Attributes:
        question: what they are asked about each pair of videos.
        frames_per_second: of the moving pictures.
        max_megabytes: of the whole page.
        consent: what a rater agrees to.
        return_to: what to do with the file of answers.
        seed: of the draws of clips and of models.
        metrics: by the heading of the table.
        models: of each scenario.
        videos: of each model, of the same clips for all.
        equal: headings of metrics that models are chosen to be equal in.
        spread: headings of metrics that models are chosen to be spread in.
        gaps: the study of small differences; None leaves it out.
    """

    question: str = Field(min_length=1)
    frames_per_second: float = Field(default=5, gt=0, le=60)
    max_megabytes: float = Field(default=25, gt=0)
    consent: str = Field(min_length=1)
    return_to: str = ""
    seed: int = Field(ge=0)
    metrics: dict[Word, Measure] = Field(min_length=1)
    models: int = Field(default=10, ge=2)
    videos: int = Field(default=3, ge=1)
    equal: list[str] = Field(default_factory=list)
    spread: list[str] = Field(default_factory=list)
    gaps: Gaps | None = None

    @model_validator(mode="after")
    def _known(self) -> "PairStudy":
        named = [*self.equal, *self.spread, *([self.gaps.metric] if self.gaps else [])]
        for name in named:
            if name not in self.metrics:
                raise ValueError(
                    f"no metric {name!r} under `metrics`: {nearest(name, self.metrics)}"
                )
        if not named:
            raise ValueError("something under `equal`, `spread` or `gaps`")
        if any(len(set(names)) < len(names) for names in (self.equal, self.spread)):
            raise ValueError("every metric once under `equal` and under `spread`")
        return self


def load_pair_study(path: Path = FILE) -> PairStudy:
    """Read the study.

    Raises:
        StpError: the file is missing or says something unknown.
    """
    return check(PairStudy, read_yaml(path), str(path))
