"""What configuration of before had, and what replaces it; until 0.2."""

from pathlib import Path

from pydantic_core import PydanticCustomError

from stp.core.errors import ConfigurationError

FILES = {
    "equivalent.yaml": "`stp accept WORDS --reason TEXT` takes artefacts of older code as current",
    "search": "`grids:` of a model declares variants with several values of an option",
}
"""File or folder of the configuration -> what replaces it."""
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
    for name, today in FILES.items():
        if (folder / name).exists():
            raise ConfigurationError(
                f"{folder / name}: nothing reads it any more", remedy=f"delete it; {today}"
            )


def current_generator(name: str) -> str:
    """Refuse a name that a generator had.

    Raises:
        PydanticCustomError: it gives the name of today.
    """
    if name in GENERATORS:
        raise PydanticCustomError("removed", "{today}, its name today", {"today": GENERATORS[name]})
    return name
