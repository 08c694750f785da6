"""A study that all tests share, and one to change."""

from pathlib import Path

import pytest
from rating_study import RatingStudy
from small_study import Paths

from stp.studies.questionnaire import write_questionnaire


@pytest.fixture
def study(written: Paths, tmp_path: Path) -> Paths:
    """A study whose questionnaire is not written yet; its predictions are not to be changed."""
    return Paths(tmp_path, manifest=written.manifest)


@pytest.fixture
def own_study(tmp_path: Path) -> Paths:
    """A study with predictions of its own, whose questionnaire is not written yet."""
    return Paths(tmp_path)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """A study with its questionnaire, and scores of single clips; not to be changed."""
    paths = Paths(tmp_path_factory.mktemp("written"), score=True)
    write_questionnaire(paths.manifest, paths.page, study_file=paths.study)
    return paths


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> RatingStudy:
    """A study of ratings with its pages; not to be changed."""
    return RatingStudy(tmp_path_factory.mktemp("ratings"))
