"""What configuration of before had, and what replaces it; until 0.2."""

from pathlib import Path

from pydantic_core import PydanticCustomError

from stp.core.errors import ConfigurationError

FILES = {
    "equivalent.yaml": "delete it; `stp accept` takes artefacts of older code as current",
    "search": "delete it; `grids:` of a model declares variants with several values of an option",
    "suites/*.yaml": "move it to suites/NAME/suite.yaml",
    "suites/*/*.sql": "move it to suites/NAME/views/",
    "published/*.csv": "move it to suites/NAME/published.csv",
    "*_findings/*.sql": "move it to suites/NAME/findings/",
}
"""Files or folders of the configuration -> what to do."""
KEYS = {("Suite", "published"): "the file is suites/NAME/published.csv, without a key"}
"""Class and key -> what replaces it."""
GENERATORS = {
    "atlas_crowd": "atlas.crowd",
    "atlas_situation": "atlas.situation",
    "chaosbench_centre": "chaosbench.centre",
    "chaosbench_centres": "chaosbench.centres",
    "chaosbench_learned": "chaosbench.learned",
}
"""Name of a generator -> its name today."""


def refuse_files(folder: Path) -> None:
    """Refuse a configuration with files that nothing reads any more.

    Raises:
        ConfigurationError: it names what replaces them.
    """
    for pattern, remedy in FILES.items():
        for path in sorted(folder.glob(pattern)):
            raise ConfigurationError(f"{path}: nothing reads it any more", remedy=remedy)


def current_generator(name: str) -> str:
    """Refuse a name that a generator had.

    Raises:
        PydanticCustomError: it gives the name of today.
    """
    if name in GENERATORS:
        raise PydanticCustomError("removed", "{today}, its name today", {"today": GENERATORS[name]})
    return name
