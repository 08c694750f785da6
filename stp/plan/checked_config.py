"""Read YAML files, and check them against schemas that allow no unknown keys."""

import pickle
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stp.core.errors import ConfigurationError, suggest_name
from stp.core.fingerprint import SOURCE_FOLDER, SourceCache, source_cache
from stp.core.json_files import Json
from stp.core.limits import Limits, limits, require
from stp.core.options import format_value
from stp.core.project import config_folder, extensions
from stp.plan.descriptions import descriptions, summary
from stp.plan.removed import KEYS

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema, ErrorDetails

CONFIG_FOLDER = config_folder(Path.cwd())


NAME = "^[a-z0-9][a-z0-9_]*$"
"""Names of datasets, models, variants, metrics, suites and dimensions, and of both parts of a
convention: they are parts of paths, of commands and of SQL."""
Name = Annotated[str, Field(pattern=NAME)]
Module = Annotated[str, Field(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$")]
"""A module that configuration chooses, below the folder of its kind."""


class Strict(BaseModel):
    """Base class of configuration schemas; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> Json:
        """The JSON schema, with descriptions from docstrings."""
        schema = handler(core)
        resolved = handler.resolve_ref_schema(schema)
        resolved["description"] = summary(cls)
        for name, text in descriptions(cls).items():
            if name in resolved.get("properties", {}):
                resolved["properties"][name]["description"] = text
        return schema


ORDERED = ("variables",)
"""Mappings whose order of keys matters: it is the order of the channels."""
S = TypeVar("S", bound=Strict)


def merge(base: Mapping[str, Any], *layers: Mapping[str, Any]) -> Json:
    """Merge mappings recursively; values that are not mappings are replaced.

    A mapping under the key ``variables`` is replaced as a whole, since its keys are in the order of
    the channels, which merging would lose.

    Args:
        base: mapping with the lowest priority.
        layers: mappings with increasing priority.
    """
    merged = dict(base)
    for layer in layers:
        for key, value in layer.items():
            nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
            if nested and key not in ORDERED:
                merged[key] = merge(merged[key], value)
            else:
                merged[key] = value
    return merged


def in_order(options: Json) -> Json:
    """Convert the option ``variables``, a mapping of names to levels, to a list of records.

    ``{z: [500, 850], t2m: null}`` becomes ``[{name: z, levels: [500, 850]}, {name: t2m, levels:
    []}]``. The order of the variables is that of the channels, and in recipes, which are sorted by
    key, only lists keep their order.

    Args:
        options: options of a reader.
    """
    variables = options.get("variables")
    if not isinstance(variables, Mapping) or not variables:
        return options
    if not all(levels is None or isinstance(levels, list) for levels in variables.values()):
        return options
    records = [{"name": name, "levels": levels or []} for name, levels in variables.items()]
    return {**options, "variables": records}


SUITE_FILE = "suite.yaml"
"""Name of the file of a suite, in a folder with the suite's other files."""


def entries(kind: str, folder: Path = CONFIG_FOLDER) -> dict[str, Path]:
    """Find the YAML files of all datasets, models, metric conventions or suites (benchmarks).

    The configuration is searched, and that of installed extensions (packages that add configuration
    and modules to stp).

    Args:
        kind: datasets, models, conventions or suites.
        folder: folder of the configuration.

    Returns:
        path of each entry's file, such as ``config/models/tau.yaml``, by the name of the entry,
        such as ``tau``.

    Raises:
        ConfigurationError: two entries have the same name.
    """
    paths: dict[str, Path] = {}
    pattern = f"*/{SUITE_FILE}" if kind == "suites" else "*.yaml"
    for config in (folder, *(root / "config" for root in extensions())):
        for path in sorted((config / kind).glob(pattern)):
            name = path.parent.name if kind == "suites" else path.stem
            if name in paths:
                raise ConfigurationError(
                    f"{path} has the name of {paths[name]}",
                    expected="names that are unique over the configuration and all extensions",
                )
            paths[name] = path
    return paths


def config_file(folder: Path, *parts: str) -> Path:
    """Find a file or folder in the configuration, or else in that of an extension.

    An extension is an installed package that adds configuration and modules to stp.

    Args:
        folder: folder of the configuration.
        parts: parts of the path below this folder, e.g. ``"suites", "predbench", "suite.yaml"``.

    Returns:
        the path in ``folder``, if it exists; else the path in the first extension that has it; else
        the path in ``folder``, although it does not exist.
    """
    path = folder.joinpath(*parts)
    further = (root.joinpath("config", *parts) for root in extensions())
    return next((file for file in (path, *further) if file.exists()), path)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML loader that keeps dates as text, as in JSON, and refuses duplicate keys."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self._own: set[yaml.MappingNode] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Check a mapping's own keys before those of an included mapping (``<<``) are added."""
        if node not in self._own:
            self._own.add(node)
            lines: dict[tuple[str, str], int] = {}
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    name, line = (key.tag, key.value), key.start_mark.line + 1
                    if name in lines:
                        problem = f"the key {key.value!r} is in line {lines[name]} already"
                        raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                    lines[name] = line
        super().flatten_mapping(node)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Refuse whole numbers beyond 64 bits: Python cannot even print the longest."""
        try:
            value = super().construct_yaml_int(node)
        except ValueError:
            value = None
        if value is None or not -(2**63) <= value < 2**63:
            problem = f"the whole number {node.value[:20]}... has more than 64 bits"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return int(value)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


_SHALLOW = 1000
"""Harmless number of levels in a YAML file. Levels and values are counted only in files that may
have more levels, or that have aliases."""


def read_yaml(path: Path) -> Any:
    """Read a YAML or JSON file of the configuration.

    Raises:
        ConfigurationError: the file is missing, or not YAML.
        StpError: the file is above a limit of `stp.core.limits`.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe would wait for its writer
            raise ConfigurationError(f"{path}: not a regular file")
        require(f"{path} is very large", status.st_size / 1e6, "yaml_mb", "MB")
        content = path.read_bytes()
        # Each level takes a bracket, or a column of its line. Thousands of them crash libyaml.
        most = content.count(b"[") + content.count(b"{") + max(map(len, content.split(b"\n")))
        is_suspicious = most > _SHALLOW or (b"*" in content and b"&" in content)
        if is_suspicious and (excess := _find_excess(content, limits())):
            problem, number, limit, unit = excess
            require(f"{path} {problem}", number, limit, unit)
        return pickle.loads(_parse_to_pickle(content, str(path)))
    except FileNotFoundError:
        siblings = list(map(str, path.parent.glob("*.yaml")))
        remedy = f"name an existing file; {CONFIG_FOLDER.name}/ holds the project's"
        if not path.is_absolute() and not path.parent.is_dir():
            remedy = "change to a checkout of stp, or to a folder that `stp init FOLDER` has made"
        raise ConfigurationError(
            f"{path}: no such configuration file",
            remedy=suggest_name(str(path), siblings) if siblings else remedy,
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError, KeyError, AttributeError) as error:
        # The last three occur for a tag, such as !!float, of an unsuitable text.
        line, problem = "", str(error)
        if isinstance(error, yaml.MarkedYAMLError):
            line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
            problem = error.problem or problem
        raise ConfigurationError(f"{path}{line} is not YAML: {problem}") from None


@lru_cache(maxsize=1000)
def _parse_to_pickle(content: bytes, path: str) -> bytes:
    """Parse a YAML file, and pickle the value so that each caller unpickles a copy of its own.

    The result is cached in this process and, for files of the project, on disk: otherwise each plan
    would parse the same hundred files.
    """
    if not Path(path).is_relative_to(CONFIG_FOLDER):
        return _value(content)
    name = str(Path(path).relative_to(CONFIG_FOLDER))  # copies of the project have equal files
    entry = _cache().get(name, content, lambda read: {"pickled": b64encode(_value(read)).decode()})
    return b64decode(entry["pickled"])


def _value(content: bytes) -> bytes:
    return pickle.dumps(yaml.load(content, Loader=_Loader))


def _cache() -> SourceCache:
    return source_cache(SOURCE_FOLDER, "configuration", Path(__file__), yaml.__version__)


def save_cache() -> None:
    """Save the parsed configuration for other processes."""
    _cache().save()


@lru_cache(maxsize=1000)
def _find_excess(content: bytes, most: Limits) -> tuple[str, int, str, str] | None:
    """The first limit exceeded (depth, or number of values), as arguments of `require`; else None.

    These checks are needed because ten lines of aliases can expand to 10^9 values.
    """
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(content, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, 1))
            if len(opened) > most.yaml_depth:
                return "is nested", len(opened), "yaml_depth", "levels"
            continue
        nodes = 0
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise yaml.YAMLError(f"the alias {event.anchor} is part of itself, or unknown")
            nodes = sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            nodes = 1
            sizes |= {event.anchor: nodes} if event.anchor else {}
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, nodes = opened.pop()
            sizes |= {anchor: nodes} if anchor else {}
        opened[-1] = (opened[-1][0], opened[-1][1] + nodes)
        if opened[-1][1] > most.yaml_nodes:
            return "stands for", opened[-1][1], "yaml_nodes", "values"
    return None


_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
"""Types of problems of pydantic: an unknown key of a model, and of a dataclass."""


def check(kind: type[S], value: object, where: str) -> S:
    """Check a mapping from a configuration file against its schema.

    Args:
        kind: class that defines the schema.
        value: the mapping.
        where: place of the mapping in the configuration, for the error.

    Raises:
        ConfigurationError: the mapping does not fit; the message names the first problem.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        # An unknown key first: it may be a missing one with another spelling.
        problem = min(error.errors(), key=lambda problem: problem["type"] not in _UNKNOWN_KEY)
        raise _problem(kind, problem, where) from None


def _problem(kind: type[Strict], problem: "ErrorDetails", where: str) -> ConfigurationError:
    keys = [str(part) for part in problem["loc"]]
    name = ".".join(keys)
    if problem["type"] in _UNKNOWN_KEY:
        key = ".".join(part for part in problem["loc"] if isinstance(part, str))
        if (kind.__name__, key) in KEYS:
            return ConfigurationError(
                f"{where}: {name} was removed", remedy=KEYS[kind.__name__, key]
            )
        names = _fields_at(kind, problem["loc"][:-1])
        remedy = suggest_name(keys[-1], names) if names else ""
        return ConfigurationError(f"{where}: unknown key {name}", remedy=remedy)
    if problem["type"] == "missing" and not keys:  # the whole value is missing, so there is no key
        return ConfigurationError(f"{where}: {problem['msg']}")
    meaning = _field_description(kind, problem["loc"])
    if problem["type"] == "missing":
        return ConfigurationError(
            f"{where}: {name} is missing",
            expected=f"{keys[-1]}: {meaning}" if meaning else "",
            remedy=f"add `{keys[-1]}: ...`",
        )
    return ConfigurationError(
        f"{where}: {name or 'the whole file'} is {format_value(problem.get('input'))}",
        expected=_expected_text(problem) + (f"; {keys[-1]}: {meaning}" if meaning else ""),
    )


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "none_required": "null",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
    "dataclass_type": "keys with values",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "too_short": "at least {min_length} of them",
    "string_pattern_mismatch": "text of the pattern {pattern}",
}
"""What was expected, in the words of the other messages, by the type of a problem in pydantic."""


def _expected_text(problem: "ErrorDetails") -> str:
    if problem["type"] in _EXPECTED:
        return _EXPECTED[problem["type"]].format(**problem.get("ctx", {}))
    return problem["msg"].removeprefix("Value error, ")


def _fields_at(kind: type[BaseModel], location: Iterable[Any]) -> list[str]:
    current = _kind_at(kind, location)
    names: Mapping[str, Any] = getattr(current, "model_fields", {})
    return list(names or getattr(current, "__annotations__", {}))


def _kind_at(kind: type[BaseModel], location: Iterable[Any]) -> Any:
    current: Any = kind
    for part in location:
        field = getattr(current, "model_fields", {}).get(part)
        annotation = field.annotation if field else current
        arguments = getattr(annotation, "__args__", ())
        schemas = [argument for argument in arguments if hasattr(argument, "model_fields")]
        current = schemas[0] if schemas else annotation
    return current


def _field_description(kind: type[BaseModel], location: Sequence[Any]) -> str:
    if not location or not isinstance(owner := _kind_at(kind, location[:-1]), type):
        return ""
    return descriptions(owner).get(str(location[-1]), "").replace("``", "`")


def check_name(name: str, what: str, where: object) -> None:
    """Refuse a name that has other characters than a-z, digits and _, or begins with _.

    Args:
        name: the name.
        what: kind of the named object, for the error.
        where: place of the name in the configuration, for the error.

    Raises:
        ConfigurationError: the name does not match.
    """
    if not re.fullmatch(NAME, name):
        raise ConfigurationError(
            f"{where}: {name!r} is the name of a {what}",
            expected="small letters a-z, digits and _ only, a letter or digit first",
        )


def check_known(name: str, names: Iterable[str], what: str, where: str) -> None:
    """Refuse an unknown name, and suggest the nearest known one.

    Args:
        name: the name.
        names: the known names.
        what: kind of the named object, for the error.
        where: place of the name in the configuration, for the error.

    Raises:
        ConfigurationError: the name is unknown.
    """
    names = list(names)
    if name not in names:
        raise ConfigurationError(
            f"{where}: unknown {what} {name!r}", remedy=suggest_name(name, names)
        )
