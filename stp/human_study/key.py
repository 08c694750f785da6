"""The key of a questionnaire: which model is behind which choice. Raters never get it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from stp.core.errors import StpError

NONE = "none"
"""The choice of a rater who cannot tell."""

LETTERS = "ABCDEFGHIJ"
"""What predictions are called on the page."""

REMEDY = "name the key.json that was written with the questionnaire"


@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes:
        id: what it is called on the page.
        dataset: whose clip it is about.
        sample: number of the test sample.
        clip: its name.
        cluster: the video or trajectory that it comes from.
        choices: model by what it is called on the page.
    """

    id: str
    dataset: str
    sample: int
    clip: str
    cluster: str
    choices: dict[str, str]


@dataclass(frozen=True)
class Source:
    """The cell behind the predictions of a model for a dataset.

    Attributes:
        dataset: its name.
        model: its name.
        seed: of the training; None where there is none.
        source: origin of the raw bytes: official, sample or synthetic.
        release: of the dataset.
        protocol: of training and test.
        official_paper_protocol: whether both are the paper's.
        predictions: their folder.
    """

    dataset: str
    model: str
    seed: int | None
    source: str
    release: str
    protocol: str
    official_paper_protocol: bool
    predictions: str


@dataclass(frozen=True)
class Key:
    """All that is needed to read answers.

    Attributes:
        study: checksum of what raters see.
        scale: where the predictions come from.
        question: what raters were asked.
        cannot_tell: whether they may say so.
        age_groups: that they may choose from.
        genders: likewise.
        seed: of the draw of clips.
        pictures: how they are encoded.
        models: title by name.
        datasets: title by name.
        sources: of the predictions.
        questions: in the order of the page's file.
    """

    study: str
    scale: str
    question: str
    cannot_tell: bool
    age_groups: list[str]
    genders: list[str]
    seed: int
    pictures: str
    models: dict[str, str]
    datasets: dict[str, str]
    sources: list[Source]
    questions: list[Asked]

    in_rounds: ClassVar[bool] = False
    """A rater has one file of answers."""
    rates: ClassVar[bool] = False

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"


def kept_path(key: Path, study: str) -> Path:
    """Where the key of a questionnaire stays when another questionnaire is written."""
    return key.parent / "keys" / f"{study}.json"


def load_key(path: Path) -> Key:
    """Read a key.

    Raises:
        StpError: it is missing, or is none.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        sources = [Source(**source) for source in content.pop("sources")]
        questions = [Asked(**question) for question in content.pop("questions")]
        return Key(**content, sources=sources, questions=questions)
    except FileNotFoundError:
        raise StpError(
            f"{path}: no such key",
            expected="the key that `stp questionnaire` writes beside the page",
            remedy=REMEDY,
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StpError(
            f"{path} is no key of a questionnaire ({type(error).__name__}: {error})",
            expected="JSON as `stp questionnaire` writes it",
            remedy=REMEDY,
        ) from None
