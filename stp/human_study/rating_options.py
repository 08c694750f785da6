"""How raters rate single videos (config/human_ratings.yaml)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from stp.plan.strict import CONFIG_FOLDER, Strict, check, read_yaml

FILE = CONFIG_FOLDER / "human_ratings.yaml"


class RatingStudy(Strict):
    """What raters see.

    Attributes:
        question: what they are asked about each video.
        frames_per_second: of the moving pictures.
        height: in pixels, that lower videos are enlarged to.
        max_megabytes: of a page.
        consent: what a rater agrees to.
        return_to: what to do with the file of answers.
        seed: of the assignment of videos to raters, and of the choice of natural videos.
        raters: how many people.
        sessions: of each.
        videos: of a session.
        hours: from one session of a rater to the next, at least.
        training: videos before each session, whose ratings do not count.
        classes: datasets by the class of what their videos show.
    """

    question: str = Field(min_length=1)
    frames_per_second: float = Field(default=4, gt=0, le=60)
    height: int = Field(default=240, ge=1, le=2160)
    max_megabytes: float = Field(default=40, gt=0)
    consent: str = Field(min_length=1)
    return_to: str = ""
    seed: int = Field(ge=0)
    raters: int = Field(ge=1, le=9999)
    sessions: int = Field(default=2, ge=1)
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
        """The class of a dataset; None where it has none."""
        return next((name for name, own in self.classes.items() if dataset in own), None)


def load_rating_study(path: Path = FILE) -> RatingStudy:
    """Read the study.

    Raises:
        StpError: the file is missing or says something unknown.
    """
    return check(RatingStudy, read_yaml(path), str(path))
