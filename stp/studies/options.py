"""Configuration of a study with people: one schema for each of three kinds of item.

An item is what a question of the study is about: several predictions of a clip (``best_of``), a
pair of videos (``pair``), or a single video (``rating``).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from stp.core.errors import FileError, StpError, suggest_name
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, read_yaml

LETTERS = "ABCDEFGHIJ"
"""Letters by which a page names predictions."""

# Words go unescaped into CSV files of raters, and spreadsheets run text that begins like a formula.
Word = Annotated[str, Field(pattern=r"^[^,;\"\r\n\t=+@-][^,;\"\r\n]*$", max_length=40)]
Count = Annotated[int, Field(ge=1)]


class Study(Strict):
    """Options of every study with people.

    Attributes:
        item: what each question is about: several predictions, of which raters choose the best
            (`best_of`); two videos, of which they choose the better one (`pair`); or one video,
            which they rate (`rating`).
        question: text of the question, which is the same each time.
        frames_per_second: frames per second of the videos.
        max_megabytes: maximum size of a page, in megabytes.
        consent: text that a rater agrees to.
        return_to: text that tells raters what to do with the file of answers.
        seed: seed of all random choices, such as that of the clips.
    """

    item: str
    question: str = Field(min_length=1)
    frames_per_second: float = Field(default=5, gt=0, le=60)
    max_megabytes: float = Field(default=25, gt=0)
    consent: str = Field(min_length=1)
    return_to: str = ""
    seed: int = Field(ge=0)


class BestOf(Study):
    """A study in which raters choose the best of several predictions of a clip.

    Attributes:
        item: always ``best_of``: each question is about several predictions, of which raters
            choose the best.
        cannot_tell: whether raters may answer that they cannot tell which prediction is best.
        age_groups: age groups that a rater may choose from; if empty, the page does not ask.
        genders: genders that a rater may choose from; if empty, the page does not ask.
        clips: number of test clips of each dataset, by name of the dataset.
        models: names of the compared models.
    """

    item: Literal["best_of"]
    cannot_tell: bool = True
    age_groups: list[Word] = Field(default_factory=list)
    genders: list[Word] = Field(default_factory=list)
    clips: dict[str, Count] = Field(min_length=1)
    models: list[str] = Field(min_length=2, max_length=len(LETTERS))

    @field_validator("models", "age_groups", "genders")
    @classmethod
    def _once(cls, names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("every name once")
        return names

    def demand(self, scale: str, planned: Iterable[tuple[str, str]], path: Path) -> None:
        """Check that a scale (file of what is evaluated) has all predictions of the study.

        Args:
            scale: name of the scale.
            planned: pairs of model and dataset of which the scale makes predictions, in the
                dimension whose table shows the study (``short_term`` in PredBench).
            path: file of the configuration, for the message.

        Raises:
            StpError: a model of the study is not tested on a dataset of the study; the message
                names all such pairs.
        """
        planned = set(planned)
        pairs = [(model, dataset) for dataset in self.clips for model in self.models]
        missing = [f"{model} on {name}" for model, name in pairs if (model, name) not in planned]
        if missing:
            datasets = dict.fromkeys(dataset for _, dataset in sorted(planned))
            models = dict.fromkeys(model for model, _ in sorted(planned))
            raise StpError(
                f"{path}: the scale {scale} has no short-term predictions of {', '.join(missing)}",
                expected=f"datasets out of {', '.join(datasets)}; models out of "
                f"{', '.join(models)}",
                remedy=f"describe a smaller study under `scales: {scale}:` there, or add these to "
                "the scale file",
            )


class Measure(Strict):
    """A metric whose judgement of videos is compared with that of people.

    Attributes:
        convention: exact definition of the metric in the results store, such as ``ssim.range2``, or
            name of a column of a CSV file.
        higher_is_better: whether larger values are better.
    """

    convention: str = Field(min_length=1)
    higher_is_better: bool


class Gaps(Strict):
    """Options of a study of the smallest difference of a metric that people notice.

    A base model is compared with models that are worse by a given step.

    Attributes:
        metric: heading of the metric, a key of `metrics`.
        bases: for each base model, the value of the metric that it should have, such as 200.
        steps: differences by which the other models should be worse than the base, such as 10.
        models: number of other models for each base and step.
        tolerance: maximum difference between the value of a model and the value that it should
            have.
    """

    metric: str
    bases: list[float] = Field(min_length=1)
    steps: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    models: Count = 5
    tolerance: float = Field(gt=0)


class Pairs(Study):
    """A study in which raters compare two models' videos of a clip; scores decide which models.

    Models are compared in groups. In a group of `equal` or `spread` models, all pairs are compared;
    in a group of `gaps`, the base model is compared with each of the others.

    Attributes:
        cannot_tell: always True: a rater may answer that the two videos are indistinguishable.
        age_groups: always empty, so that the page does not ask for the age.
        genders: always empty, so that the page does not ask for the gender.
        item: always ``pair``: each question is about two videos, of which raters choose the
            better one.
        metrics: metrics that are compared with people; keys are their headings in the table.
        models: number of models in each group that `equal` and `spread` ask for.
        videos: number of videos of each model; all models have the same clips.
        equal: headings of metrics. For each, a group of models with about equal values is chosen.
        spread: headings of metrics. For each, a group of models with evenly spread values is
            chosen.
        gaps: options of further groups, in which a base model is compared with models that are
            worse by a given step; None without these groups.
    """

    cannot_tell: ClassVar[bool] = True
    age_groups: ClassVar[list[str]] = []
    genders: ClassVar[list[str]] = []

    item: Literal["pair"]
    metrics: dict[Word, Measure] = Field(min_length=1)
    models: int = Field(default=10, ge=2)
    videos: Count = 3
    equal: list[str] = Field(default_factory=list)
    spread: list[str] = Field(default_factory=list)
    gaps: Gaps | None = None

    @model_validator(mode="after")
    def _are_metrics(self) -> "Pairs":
        headings = [*self.equal, *self.spread, *([self.gaps.metric] if self.gaps else [])]
        for name in headings:
            if name not in self.metrics:
                raise ValueError(
                    f"no metric {name!r} under `metrics`: {suggest_name(name, self.metrics)}"
                )
        if not headings:
            raise ValueError("something under `equal`, `spread` or `gaps`")
        if any(len(set(names)) < len(names) for names in (self.equal, self.spread)):
            raise ValueError("every metric once under `equal` and under `spread`")
        return self


class Ratings(Study):
    """A study of single videos, which people rate from 0 to 100 beside a natural one.

    A natural video is a recorded one, without predicted frames.

    Attributes:
        cannot_tell: always False: a rater has to rate each video.
        age_groups: always empty, so that the page does not ask for the age.
        genders: always empty, so that the page does not ask for the gender.
        item: always ``rating``: each question is about one video, which raters rate.
        height: minimum height of videos in pixels; smaller videos are enlarged to it.
        raters: number of raters.
        sessions: number of sessions of each rater.
        videos: number of videos in a session, whose ratings count.
        hours: minimum time from one session of a rater to the next, in hours.
        training: number of videos before each session, whose ratings do not count.
        classes: names of datasets by the class of their content, such as `sports`. The natural
            video beside a video is of the same class.
    """

    cannot_tell: ClassVar[bool] = False
    age_groups: ClassVar[list[str]] = []
    genders: ClassVar[list[str]] = []

    item: Literal["rating"]
    height: int = Field(default=240, ge=1, le=2160)
    raters: int = Field(ge=1, le=9999)
    sessions: Count = 2
    videos: int = Field(ge=2)
    hours: float = Field(default=24, ge=0)
    training: int = Field(default=6, ge=0)
    classes: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=1)

    @field_validator("classes")
    @classmethod
    def _once(cls, classes: dict[str, list[str]]) -> dict[str, list[str]]:
        names = [name for datasets in classes.values() for name in datasets]
        if len(set(names)) < len(names):
            raise ValueError("every dataset in one class")
        return classes

    def class_of(self, dataset: str) -> str | None:
        """The class of a dataset's content, a key of `classes`; None if it is in no class."""
        classes = (name for name, datasets in self.classes.items() if dataset in datasets)
        return next(classes, None)


Item = BestOf | Pairs | Ratings
S = TypeVar("S", BestOf, Pairs, Ratings)
ITEMS: dict[str, type[Item]] = {"best_of": BestOf, "pair": Pairs, "rating": Ratings}
BEST_OF_FILE = CONFIG_FOLDER / "human_study.yaml"


def load_study(path: Path, scale: str = "") -> Item:
    """Read the configuration of a study.

    Args:
        path: path of the file. For a scale (file of what is evaluated), its key ``scales`` may have
            options that replace others, for example fewer clips at the scale ``demo``.
        scale: name of the scale; empty for none.

    Returns:
        the options, of the class in `ITEMS` for the ``item`` in the file.

    Raises:
        StpError: the file is missing or not a study.
    """
    content: Any = read_yaml(path)
    if not isinstance(content, dict):
        raise FileError(path, "not a study", expected="keys such as item, question and seed")
    scales = content.pop("scales", None) or {}
    if not isinstance(scales, dict) or not all(isinstance(own, dict) for own in scales.values()):
        raise FileError(path, "scales", expected="for each scale, the keys that differ there")
    content |= scales.get(scale, {})
    item = content.get("item")
    kind = ITEMS.get(item) if isinstance(item, str) else None
    if kind is None:
        raise FileError(path, f"item is {item!r}", expected=f"one of {', '.join(ITEMS)}")
    return check(kind, content, str(path))


def load_item(kind: type[S], path: Path, scale: str = "") -> S:
    """Read the configuration of a study; refuse a study of another kind than expected.

    An item is what a question is about: several predictions of a clip (`BestOf`), a pair of videos
    (`Pairs`), or a single video (`Ratings`).

    Args:
        kind: expected kind of item, as the class of the options, such as `Pairs`.
        path: path of the file.
        scale: name of the scale (file of what is evaluated), for which the file may have other
            options; empty for none.

    Returns:
        the options, of the class `kind`.

    Raises:
        StpError: the file is missing, not a study, or a study of another kind of item.
    """
    study = load_study(path, scale)
    if isinstance(study, kind):
        return study
    item = next(name for name, own in ITEMS.items() if own is kind)
    raise FileError(path, f"item is {study.item}", expected=f"a study of the item {item}")
