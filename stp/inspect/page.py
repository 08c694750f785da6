"""The page that lists every dataset, made from config/datasets, so that it cannot go stale."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import urlsplit

from stp.core import named_modules
from stp.core.errors import StpError
from stp.core.fingerprint import SOURCE_FOLDER
from stp.core.units import size_text
from stp.inspect.descriptions import markdown_row, of_kind
from stp.plan.config import Config
from stp.plan.dataset import Dataset, RawFile, Release

DOMAINS = {
    "motion": "motion",
    "robot": "robot manipulation",
    "driving": "driving",
    "traffic": "traffic",
    "weather": "weather and climate",
    "people": "people",
    "game": "games",
    "own": "own data",
}
ACCESS = ("open", "registration", "manual")
"""From free to laborious."""
ALIKE = 4
"""From so many files on, those whose names differ in numbers only share a line."""
INTRODUCTION = """\
# Datasets

Every dataset goes from its official raw format to `frames.zarr` (chunked, plain Zarr v3) and
`index.parquet` (one row per clip) by the same two commands:

```sh
stp fetch kth --configfile config/paper.yaml
stp prepare kth --configfile config/paper.yaml
```

Tracks of people become `tracks.parquet` instead, with obstacles, goals and a semantic grid beside
it where there are such; `stp list datasets` and `stp show` count their scenarios.

What is open is downloaded and verified; for the rest, `stp fetch` says where to register and where
to put the files. `stp fetch --check kth` reports what is present, missing or damaged.
`stp list datasets` counts clips beside Table 1 of the paper, `stp list datasets kth` tells what
splits share, and `stp show kth` draws a few clips.

"Ours" below is what a complete official release gives; `stp list datasets` counts it again from
split lists and rules wherever they are at hand. This page is written by
`make pages` from `config/datasets/`: change it there.
"""


def page(config: Config) -> str:
    """Write the page, in Markdown.

    Raises:
        StpError: the module of a generator is missing.
    """
    order = [*DOMAINS, *(d.domain for d in config.datasets.values() if d.domain not in DOMAINS)]
    named = sorted(config.datasets.items(), key=lambda item: (order.index(item[1].domain), item[0]))
    lines = [INTRODUCTION]
    lines += ["| dataset | domain | access | raw size | frames | context -> horizon | licence |"]
    lines += ["|---|---|---|---:|---|---|---|"]
    for name, dataset in named:
        official = _official(dataset)
        cells = (
            f"[{dataset.title}](#{_anchor(dataset.title)}) (`{name}`)",
            DOMAINS.get(dataset.domain, dataset.domain),
            _access(official),
            _size(official),
            of_kind(dataset.samples).size_text(dataset),
            f"{dataset.context} -> {dataset.horizon}",
            dataset.licence or "not stated",
        )
        lines.append(markdown_row(cells))
    for name, dataset in named:
        lines += ["", *_section(name, dataset)]
    return "\n".join(lines) + "\n"


def _section(name: str, dataset: Dataset) -> Iterator[str]:
    yield f"## {dataset.title}"
    yield ""
    domain = DOMAINS.get(dataset.domain, dataset.domain)
    yield f"`{name}`, {domain}. {dataset.citation or 'No citation stated'}."
    if dataset.homepage:
        yield f"Source: <{dataset.homepage}>."
    if dataset.licence:
        yield f"Licence: {dataset.licence}."
    yield ""
    about = of_kind(dataset.samples)
    what = f"{dataset.context} -> {dataset.horizon} {about.protocol_text(dataset)}"
    yield (
        f"**Protocol.** {what}; units: {dataset.units}. "
        f"{dataset.protocol_source}. "
        f"Reader: `{_file_of(named_modules.reader(dataset.reader or name))}`."
    )
    yield from about.section(dataset)
    for label, release in dataset.releases.items():
        yield from _release(label, release, label == dataset.release)
    if dataset.conventions:
        yield from ("", "**Conventions**, where sources disagree:", "")
        yield from (f"- {choice}: {reason}" for choice, reason in dataset.conventions.items())
    if dataset.problems:
        yield from ("", "**Known problems:**", "")
        yield from (f"- {problem}" for problem in dataset.problems)


def _release(label: str, release: Release, is_default: bool) -> Iterator[str]:
    title = f"**Release `{label}`** ({release.source}{', default' if is_default else ''})"
    about = [release.note] if release.note else []
    if release.leaky:
        about.append("training and test share videos, persons or periods")
    if release.generator:
        about.append(f"made by `{_file_of(named_modules.generator(release.generator))}`")
    else:
        about += [f"access: {_access(release)}", f"size: {_size(release)}"]
    yield from ("", f"{title}: {'; '.join(about)}.")
    if release.generator:
        yield from ("", *(f"> {line}".rstrip() for line in _generator(release.generator)))
    if release.files:
        yield from _files(release.files)
    if release.archives:
        names = ", ".join(f"`{archive.path}`" for archive in release.archives)
        yield from ("", f"`stp fetch` unpacks what is missing of them from {names}.")
    for text in dict.fromkeys(file.instructions for file in release.files if file.instructions):
        yield from ("", *text.strip().splitlines())


def _files(files: Sequence[RawFile]) -> Iterator[str]:
    """The table of raw files; a row of files whose names differ in numbers only is one line."""
    yield from ("", "| file | size | checksum | source |", "|---|---:|---|---|")
    for _, group in groupby(files, lambda file: (re.sub(r"\d+", "#", file.path), _checksum(file))):
        alike = list(group)
        if len(alike) < ALIKE:
            yield from (_file([file]) for file in alike)
        else:
            yield _file(alike)


def _file(files: list[RawFile]) -> str:
    """One line of the table of raw files."""
    first, last = files[0], files[-1]
    name = f"`{first.path}`"
    if first.many:
        name += f" ({first.min_files:,} files or more)"
    if len(files) > 1:
        name += f" to `{last.path}` ({len(files)} files)"
    known = [file.bytes for file in files if file.bytes is not None]
    size = size_text(sum(known)) if len(known) == len(files) else "-"
    by_hand = "see below" if first.instructions else "raw folder or mirror"
    source = f"[{urlsplit(first.url).netloc}]({first.url})" if first.url else by_hand
    return f"| {name} | {size} | {_checksum(first)} | {source} |"


def _checksum(file: RawFile) -> str:
    return "SHA-256" if file.sha256 else "MD5, unpacked" if file.md5_uncompressed else "not known"


def _file_of(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _generator(name: str) -> list[str]:
    """What a generator says that it makes: its docstring."""
    path = SOURCE_FOLDER / _file_of(named_modules.generator(name))
    try:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise StpError(
            f"{path}: missing", expected="the generator that config/datasets names"
        ) from None
    return (text or "").splitlines()


def _official(dataset: Dataset) -> Release:
    """The release that the paper means."""
    official = [r for r in dataset.releases.values() if r.source == "official"]
    default = dataset.releases[dataset.release]
    return default if default.source == "official" or not official else official[0]


def _access(release: Release) -> str:
    """The most laborious access of its files."""
    if release.generator:
        return "made here"
    found = {file.access for file in release.files}
    found |= {archive.access for archive in release.archives}
    return max(found, key=ACCESS.index) if found else "not declared"


def _size(release: Release) -> str:
    if release.generator:
        return "-"
    if release.raw_gb:
        return f"about {size_text(release.raw_gb * 1e9)}".replace(".0 ", " ")
    sizes = [file.bytes for file in release.files]
    if sizes and all(size is not None for size in sizes):
        return size_text(sum(size or 0 for size in sizes))
    return "not known"


def _anchor(title: str) -> str:
    """The anchor of a heading."""
    kept = [c if c.isalnum() or c in "-_" else "-" if c == " " else "" for c in title.lower()]
    return "".join(kept)
