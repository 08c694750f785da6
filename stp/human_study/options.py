"""What a human preference study asks about (config/human_study.yaml)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from stp.core.errors import StpError
from stp.human_study.key import LETTERS
from stp.plan.strict import CONFIG_FOLDER, Strict, check, read_yaml

FILE = CONFIG_FOLDER / "human_study.yaml"

# Words go into CSV files of raters as they are, and spreadsheets run what begins as a formula.
Word = Annotated[str, Field(pattern=r"^[^,;\"\r\n\t=+@-][^,;\"\r\n]*$", max_length=40)]


class Study(Strict):
    """What raters see.

    Attributes:
        question: what they are asked about each clip.
        cannot_tell: whether they may answer that they cannot tell.
        frames_per_second: of the moving pictures.
        max_megabytes: of the whole page.
        consent: what a rater agrees to.
        return_to: what to do with the file of answers.
        age_groups: that a rater may choose from; none are asked for if empty.
        genders: likewise.
        seed: of the draw of clips.
        clips: number of test clips by dataset.
        models: that are compared.
    """

    question: str = Field(min_length=1)
    cannot_tell: bool = True
    frames_per_second: float = Field(default=5, gt=0, le=60)
    max_megabytes: float = Field(default=25, gt=0)
    consent: str = Field(min_length=1)
    return_to: str = ""
    age_groups: list[Word] = Field(default_factory=list)
    genders: list[Word] = Field(default_factory=list)
    seed: int = Field(ge=0)
    clips: dict[str, Annotated[int, Field(ge=1)]] = Field(min_length=1)
    models: list[str] = Field(min_length=2, max_length=len(LETTERS))

    @field_validator("models", "age_groups", "genders")
    @classmethod
    def _once(cls, names: list[str]) -> list[str]:
        if len(set(names)) < len(names):
            raise ValueError("every name once")
        return names


def load_study(scale: str, path: Path = FILE) -> Study:
    """Read the study of a scale.

    Args:
        scale: its name; the file may say under ``scales`` what is different there.
        path: the file.

    Raises:
        StpError: the file is missing or says something unknown.
    """
    content: Any = read_yaml(path)
    if not isinstance(content, dict):
        raise StpError(f"{path}: no study", expected="keys such as question, clips and models")
    scales = content.pop("scales", None) or {}
    if not isinstance(scales, dict) or not all(isinstance(s, dict) for s in scales.values()):
        raise StpError(f"{path}: scales", expected="for each scale the keys that differ there")
    return check(Study, {**content, **scales.get(scale, {})}, str(path))


def demand(study: Study, scale: str, made: Iterable[tuple[str, str]], path: Path = FILE) -> None:
    """Refuse a study of what a scale does not have.

    Args:
        study: what is asked about.
        scale: its name.
        made: (model, dataset) of all short-term cells of the scale.
        path: where the study comes from.

    Raises:
        StpError: a model was not tested on a dataset; names all of them.
    """
    made = set(made)
    missing = [
        f"{model} on {dataset}"
        for dataset in study.clips
        for model in study.models
        if (model, dataset) not in made
    ]
    if missing:
        datasets = dict.fromkeys(dataset for _, dataset in sorted(made))
        models = dict.fromkeys(model for model, _ in sorted(made))
        raise StpError(
            f"{path}: the scale {scale} has no short-term predictions of {', '.join(missing)}",
            expected=f"datasets out of {', '.join(datasets)}; models out of {', '.join(models)}",
            remedy=f"describe a smaller study under `scales: {scale}:` there, or add these to the "
            "scale file",
        )
