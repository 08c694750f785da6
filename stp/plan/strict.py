"""Checked configuration: YAML in, objects that refuse unknown keys out."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from stp.core.errors import StpError, nearest

CONFIG_FOLDER = Path(__file__).parents[2] / "config"


Json = dict[str, Any]
NAME = "^[a-z0-9_]+$"
"""What datasets, models, metrics, suites and dimensions may be called: names are parts of paths."""


class Strict(BaseModel):
    """Configuration in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Strict)


def merge(base: Mapping[str, Any], *layers: Mapping[str, Any]) -> Json:
    """Lay mappings over one another; nested mappings are merged, all else is replaced."""
    merged = dict(base)
    for layer in layers:
        for key, value in layer.items():
            if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
                merged[key] = merge(merged[key], value)
            else:
                merged[key] = value
    return merged


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Dates stay text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    """Read one YAML or JSON file.

    Raises:
        StpError: there is no such file, or it is not YAML.
    """
    try:
        return yaml.load(path.read_bytes(), Loader=_Loader)
    except FileNotFoundError:
        raise StpError(
            f"there is no configuration file {path}",
            remedy=f"name an existing file; {CONFIG_FOLDER.name}/ holds the project's",
        ) from None
    except yaml.YAMLError as error:
        raise StpError(f"{path} is not YAML: {error}", remedy="mend the named line") from None


def check(kind: type[S], value: Any, where: str) -> S:
    """Check a mapping against its schema; the first problem becomes one clear error."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problem = error.errors()[0]
        keys = [str(part) for part in problem["loc"]]
        name = ".".join(keys)
        if problem["type"] == "extra_forbidden":
            known = _fields_at(kind, problem["loc"][:-1])
            raise StpError(
                f"{where}: unknown key {name}", remedy=nearest(keys[-1], known) if known else ""
            ) from None
        raise StpError(
            f"{where}: {name or 'the whole file'} is {problem.get('input')!r}",
            expected=problem["msg"],
            remedy="change the value",
        ) from None


def _fields_at(kind: type[BaseModel], location: Iterable[Any]) -> list[str]:
    """List the keys that a schema knows at a place inside it."""
    current: Any = kind
    for part in location:
        field = getattr(current, "model_fields", {}).get(part)
        annotation = field.annotation if field else current
        inner = [a for a in getattr(annotation, "__args__", ()) if hasattr(a, "model_fields")]
        current = inner[0] if inner else annotation
    return list(getattr(current, "model_fields", {}))


def check_known(name: str, known: Iterable[str], what: str, where: str) -> None:
    """Refuse a name that does not exist, and suggest the nearest.

    Raises:
        StpError: the name is not known.
    """
    known = list(known)
    if name not in known:
        raise StpError(f"{where}: unknown {what} {name!r}", remedy=nearest(name, known))
