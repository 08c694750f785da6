"""Generate JSON schemas, and the page of all keys of the configuration.

Both are made from the classes that check configuration files, and from their docstrings.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from stp.core.disk import write_text, writing
from stp.export.references import Reference
from stp.options.predict import PredictOptions
from stp.options.score import Bootstrap
from stp.options.train import TrainOptions
from stp.plan.checked_config import Strict
from stp.plan.dataset import Dataset
from stp.plan.descriptions import descriptions, summary
from stp.plan.metric import Metric
from stp.plan.model import Model
from stp.plan.scale import Runtime, Scale
from stp.plan.suite import Suite
from stp.plan.weights import Network
from stp.run.cluster.site import Site
from stp.run.costs.estimate import Constants
from stp.studies.options import BestOf, Pairs, Ratings

Json = dict[str, Any]
SUFFIX = ".schema.json"


@dataclass(frozen=True)
class Kind:
    """A kind of configuration file.

    Attributes:
        checked_by: class that checks the files.
        files: pattern of the files' paths, relative to ``config/``, such as ``models/*.yaml``.
        title: title of the section about these files in docs/configuration.md.
    """

    checked_by: type[Strict]
    files: str
    title: str


KINDS = {
    "scale": Kind(Scale, "*.yaml", "Scale files"),
    "dataset": Kind(Dataset, "datasets/*.yaml", "Datasets"),
    "model": Kind(Model, "models/*.yaml", "Models"),
    "convention": Kind(Metric, "conventions/*.yaml", "Conventions of metrics"),
    "suite": Kind(Suite, "suites/*/suite.yaml", "Suites"),
    "site": Kind(Site, "site.yaml", "The site"),
    "weights": Kind(Network, "weights.yaml", "Weights of metrics"),
    "costs": Kind(Constants, "costs.yaml", "Constants of estimates"),
    "human_study": Kind(BestOf, "human_study.yaml", "The human preference study"),
    "human_pairs": Kind(Pairs, "human_pairs.yaml", "Pairs of models that raters compare"),
    "human_ratings": Kind(Ratings, "human_ratings.yaml", "Ratings of single videos"),
    "references": Kind(Reference, "references.yaml", "Works to cite"),
}
SEVERAL = ("weights", "references")
"""Kinds with one file that maps names to entries."""
EXPLAINED = ("costs",)
"""Kinds whose file explains each key."""
OPTIONS = {"train": TrainOptions, "predict": PredictOptions}
"""Keys that may hold any option of a stage, and the options that the schema describes."""
MIN_SHARED = 4
"""Minimum number of common keys for which keys of another entry are named instead of repeated."""
PART = "PartOf"
OVERRIDES: dict[str, type[Strict]] = {"datasets": Dataset, "metrics": Metric}
"""Keys of a scale file that may contain parts of entries of other kinds."""


def schema(name: str) -> Json:
    """Make the JSON schema of a kind of configuration file (draft 2020-12).

    Args:
        name: name of the kind, a key of `KINDS`, such as ``scale``.
    """
    kind = KINDS[name].checked_by
    made = kind.model_json_schema()
    for part in (made, *made.get("$defs", {}).values()):
        for key, options in OPTIONS.items():
            value = part.get("properties", {}).get(key, {})
            if value.get("type") == "object":
                value["properties"] = _class_schema(options)["properties"]
    if name == "scale":
        for part in (Runtime, Bootstrap):
            made["$defs"][part.__name__] = _class_schema(part)
        for key, of in OVERRIDES.items():
            part = _optional(of.model_json_schema())
            made["$defs"] |= part.pop("$defs", {})
            made["properties"][key]["additionalProperties"] = part
    if name in SEVERAL:
        definitions = made.pop("$defs", {})
        made = {"type": "object", "additionalProperties": made, "$defs": definitions}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _class_schema(kind: type) -> Json:
    """The schema of a class that is not `Strict`."""
    made: Json = {**TypeAdapter(kind).json_schema(), "description": summary(kind)}
    for name, about in made["properties"].items():
        about["description"] = descriptions(kind)[name]
    return made


def _optional(part: Json) -> Json:
    """Copy a schema and its parts without required keys, for overrides.

    The copied parts get new names, since keys are still required outside overrides.
    """
    made = json.loads(json.dumps(part).replace('"#/$defs/', f'"#/$defs/{PART}'))
    definitions = made.pop("$defs", {})
    for one in (made, *definitions.values()):
        one.pop("required", None)
    return {**made, "$defs": {f"{PART}{name}": one for name, one in definitions.items()}}


def write(folder: Path) -> Iterator[str]:
    """Write a JSON schema for each kind of configuration file.

    Args:
        folder: folder of the files, ``<kind>.schema.json``.

    Yields:
        lines of text for the user: what was written, and the settings with which VS Code uses the
        schemas.

    Raises:
        StpError: the folder cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in KINDS:
            write_text(folder / f"{name}{SUFFIX}", json.dumps(schema(name), indent=1) + "\n")
    yield f"wrote {len(KINDS)} schemas to {folder}; in the settings of VS Code (extension YAML):"
    yield json.dumps({"yaml.schemas": associations(folder)}, indent=2)


def associations(folder: Path) -> dict[str, str | list[str]]:
    """List which configuration files each schema describes, for the settings of VS Code.

    This is the value of ``yaml.schemas``, e.g. ``{"schemas/model.schema.json":
    "config/models/*.yaml"}``. A pattern that begins with ``!`` excludes files.

    Args:
        folder: folder of the schemas.

    Returns:
        for the path of each schema, one pattern of the paths of its files, or several.
    """
    alone = [f"!config/{kind.files}" for kind in KINDS.values() if "*" not in kind.files]
    found: dict[str, str | list[str]] = {}
    for name, kind in KINDS.items():
        mine = f"config/{kind.files}"
        found[str(folder / f"{name}{SUFFIX}")] = [mine, *alone] if name == "scale" else mine
    return found


# The page

PAGE = """\
# Keys of the configuration

<!-- Written by `stp list keys --page docs/configuration.md`. -->

[config/README.md](../config/README.md) says what the files are for. This page lists the
keys of each kind of file. `stp` refuses other keys.

`stp list keys --schemas FOLDER` writes the same as JSON schemas. An editor with a YAML language
server then completes and checks keys; the command prints the setting for VS Code. A comment in
the first line of a file does the same in most editors:

```yaml
# yaml-language-server: $schema=schemas/scale.schema.json
```
"""


def page() -> str:
    """Make the text of docs/configuration.md, the page of all keys of configuration files.

    Returns:
        the page in Markdown, with types, defaults and meanings of the keys; it is not written.
    """
    lines = [PAGE]
    parts: dict[str, Json] = {}
    for name in KINDS:
        parts |= schema(name).get("$defs", {})
    shown: set[str] = set()
    for name, kind in KINDS.items():
        made = schema(name)
        lines += [
            f"## {kind.title}",
            "",
            f"`config/{kind.files}`. {_format_description(kind_of(made))}",
            "",
        ]
        if name in EXPLAINED:
            lines += ["Comments in the file explain each key.", ""]
            continue
        lines += _table(kind_of(made), parts)
        for key, options in OPTIONS.items() if name == "scale" else ():
            lines += [f"### Keys of `{key}`", "", "Of models of frames:", ""]
            lines += _table(_class_schema(options), {})
        for part, inner in sorted(made.get("$defs", {}).items()):
            if part not in shown and "properties" in inner and not part.startswith(PART):
                shown.add(part)
                lines += [f"### {part}", "", _format_description(inner), "", *_table(inner, parts)]
    return "\n".join(lines).rstrip() + "\n"


def kind_of(made: Json) -> Json:
    """Find the JSON schema of one entry in the schema of a file.

    If the file holds several entries in a list or by name, this is the schema of each of them;
    otherwise, it is the schema of the whole file.

    Args:
        made: JSON schema of the whole file, from `schema`.
    """
    inner = made.get("items", made.get("additionalProperties"))
    return inner if isinstance(inner, dict) and "properties" not in made else made


def _format_description(made: Mapping[str, Any]) -> str:
    said = str(made.get("description", "")).replace("``", "`").replace("|", "\\|").split("`")
    said[::2] = [words.replace("<", "&lt;") for words in said[::2]]  # parts that are not code
    return "`".join(said)


def _table(made: Json, parts: Mapping[str, Json]) -> list[str]:
    """Lines of Markdown with the keys of an entry; keys of a complete part are only named."""
    required = made.get("required", [])
    properties = made["properties"]
    within = [
        (len(part["properties"]), name)
        for name, part in parts.items()
        if not name.startswith(PART) and part.get("properties", {}).items() < properties.items()
    ]
    size, base = max(within, default=(0, ""))
    lines = []
    if size >= MIN_SHARED:
        lines += [f"All keys of [{base}](#{base.lower()}), and:", ""]
        properties = {k: v for k, v in properties.items() if k not in parts[base]["properties"]}
    lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
    rows = [
        (
            key,
            (
                _type(about),
                "required" if key in required else _default(about),
                _format_description(about),
            ),
        )
        for key, about in properties.items()
    ]
    for cells, alike in groupby(rows, lambda row: row[1]):
        keys = ", ".join(f"`{key}`" for key, _ in alike)
        lines.append(f"| {keys} | {' | '.join(cells)} |")
    return [*lines, ""]


def _default(about: Json) -> str:
    default = about.get("default")
    if default in (None, "", [], {}) or isinstance(default, dict):
        return ""
    return f"`{json.dumps(default)}`"


def _type(about: Json) -> str:
    """Describe a type in words: ``text``, ``list of text``, ``mapping to Size``."""
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in about:
        return " or ".join(dict.fromkeys(_type(one) for one in about["anyOf"]))
    if "enum" in about:
        return ", ".join(f"`{value}`" for value in about["enum"])
    if "const" in about:
        return f"`{about['const']}`"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    kind = str(about.get("type", "any value"))
    if kind == "array":
        inner = about.get("items")
        if not isinstance(inner, dict):
            return "list"
        return f"list of ({_type(inner)})" if "anyOf" in inner else f"list of {_type(inner)}"
    if kind == "object":
        inner = about.get("additionalProperties")
        if "patternProperties" in about:
            (inner,) = about["patternProperties"].values()
        if not isinstance(inner, dict) or "properties" in inner:
            return "mapping"
        return f"mapping to {_type(inner)}"
    return words.get(kind, kind)
