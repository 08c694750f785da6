"""Options of a model as its source lists them, without an import."""

from pathlib import Path

import pytest

from stp.core.errors import ConfigurationError
from stp.plan.model_options import check_model_options

WRITTEN = '''
class Model(Base):
    """A docstring."""

    width: int = 4

    def forward(self, x): ...

    def __init__(self, shape, context, horizon, layers, *, hidden=1): ...
'''
FIELDS = "@dataclass\nclass Model:\n    depth: int = 2\n    WIDTH = 3\n"
UNLISTED = {
    "inherited": "class Model(Base):\n    depth: int = 2\n",
    "no dataclass": "class Model:\n    depth: int = 2\n",
    "inherited fields": "@dataclass\nclass Model(Base):\n    depth: int = 2\n",
    "any keyword": "class Model:\n    def __init__(self, **more): ...\n",
    "any argument": "class Model:\n    def __init__(self, *more): ...\n",
    "another class": "class Other:\n    def __init__(self, depth): ...\n",
}


def source(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (WRITTEN, {"layers", "hidden"}),
        (FIELDS, {"depth"}),
        (f"class Model:\n    def __init__(self, old): ...\n{FIELDS}", {"depth"}),  # the last
    ],
    ids=["arguments", "fields", "twice"],
)
def test_the_options_are_arguments_or_fields(tmp_path: Path, text: str, options: set) -> None:
    path = source(tmp_path, text)
    check_model_options(path, "Model", dict.fromkeys(options, 1), "mine")
    for name in ("layers", "hidden", "depth", "width", "WIDTH", "shape", "self", "old"):
        if name not in options:
            with pytest.raises(ConfigurationError, match=f"mine.*{name}"):
                check_model_options(path, "Model", {name: 1}, "mine")


def test_a_model_without_options_has_none(tmp_path: Path) -> None:
    path = source(tmp_path, "class Model:\n    def __init__(self, shape): ...\n")
    check_model_options(path, "Model", {}, "mine")
    with pytest.raises(ConfigurationError, match="mine: options are set, depth"):
        check_model_options(path, "Model", {"depth": 1}, "mine")


@pytest.mark.parametrize("text", UNLISTED.values(), ids=UNLISTED)
def test_options_that_a_source_does_not_list_are_not_refused(tmp_path: Path, text: str) -> None:
    check_model_options(source(tmp_path, text), "Model", {"depth": 1, "more": 2}, "mine")
    check_model_options(tmp_path / "missing.py", "Model", {"depth": 1}, "mine")
