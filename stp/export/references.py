"""Read works to cite, from config/references.yaml and suites (benchmarks), and format them.

The formats are BibTeX and text.
"""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from stp.core.errors import FileError
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, entries, read_yaml

FILE = CONFIG_FOLDER / "references.yaml"
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0308": '"',
    "\u030c": "v",
}
_SIGNS = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "ß": r"{\ss}", "ø": r"{\o}"}
_SIGNS |= {"ł": r"{\l}", "–": "--", "—": "---", "’": "'"}
_NEEDED = {"article": "journal", "inproceedings": "booktitle"}


class Reference(Strict):
    """A work to cite, such as a paper, with the subjects for which it is cited.

    Attributes:
        of: subjects for which the work is cited, such as ``dataset kth`` or ``metric crps.fair``.
        type: type of the entry in BibTeX.
        author: ``Family, Given; Family, Given``; an organisation in braces.
        booktitle: field of BibTeX, which an ``inproceedings`` needs.
        journal: field of BibTeX, which an ``article`` needs.
        pages: first and last page, ``1--20``.
        eprint: number of the preprint on arXiv.
        title, publisher, volume, number, year, note, url: field of BibTeX with this name.
    """

    of: tuple[str, ...] = ()
    type: Literal["article", "inproceedings", "misc"]
    author: str = ""
    title: str
    booktitle: str = ""
    journal: str = ""
    publisher: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    year: int | None = None
    eprint: str = ""
    note: str = ""
    url: str = ""

    @property
    def authors(self) -> list[str]:
        """All authors, as ``Family, Given``."""
        return [name.strip() for name in self.author.split(";") if name.strip()]


def load_all() -> dict[str, Reference]:
    """Read all works to cite, from all files ``references.yaml``.

    One file lies in ``config/``. The folder of a suite (benchmark) may have another one.

    Returns:
        works by BibTeX key.

    Raises:
        StpError: a file is malformed, or two files have the same key.
    """
    references: dict[str, Reference] = {}
    beside = (path.with_name(FILE.name) for path in entries("suites").values())
    for file in (FILE, *(path for path in beside if path.is_file())):
        works = load(file)
        if repeated := references.keys() & works.keys():
            raise FileError(file, f"{min(repeated)} is a key of another file, too")
        references |= works
    return references


def load(file: Path = FILE) -> dict[str, Reference]:
    """Read the works of one file, by BibTeX key.

    Args:
        file: a file ``references.yaml``; by default, that in ``config/``.

    Raises:
        StpError: the file is missing or wrong.
    """
    references = {}
    for key, value in (read_yaml(file) or {}).items():
        reference = check(Reference, value, f"{file}: {key}")
        needed = _NEEDED.get(reference.type)
        if needed and not getattr(reference, needed):
            raise FileError(file, f"{key} has no {needed}", remedy="add it, or make it a misc")
        references[str(key)] = reference
    return references


def bibtex(references: Mapping[str, Reference]) -> str:
    """Write works as BibTeX in ASCII, which every version of BibTeX can sort and print."""
    return "\n".join(_entry(key, reference) for key, reference in references.items())


def _entry(key: str, reference: Reference) -> str:
    fields = {
        "author": " and ".join(map(_tex, reference.authors)),
        # The second pair of braces keeps the capitals.
        "title": f"{{{_tex(reference.title)}}}",
        **{
            name: _tex(getattr(reference, name))
            for name in ("booktitle", "journal", "publisher", "volume", "number", "note")
        },
        "pages": reference.pages,
        "year": str(reference.year or ""),
        "eprint": reference.eprint,
        "archiveprefix": "arXiv" if reference.eprint else "",
        "howpublished": rf"\url{{{reference.url}}}" if reference.url else "",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{reference.type}{{{key},\n" + ",\n".join(lines) + "\n}\n"


def _tex(plain: str) -> str:
    """Write accents as commands, and escape signs that have a meaning in TeX."""
    letters = []
    for sign in " ".join(plain.split()):
        parts = unicodedata.normalize("NFD", sign)
        base, mark = parts[0], parts[1:2]
        if mark in _ACCENTS:
            accent = _ACCENTS[mark]
            inner = f"\\{accent}{{{base}}}" if accent.isalpha() else f"\\{accent}{base}"
            letters.append(f"{{{inner}}}")
        else:
            letters.append(_SIGNS.get(sign, sign))
    return "".join(letters)


def format_reference(reference: Reference) -> str:
    """Write a work as one line of Markdown."""
    names = [re.sub(r"[{}]", "", name) for name in reference.authors]
    if names and names[-1] == "others":
        names[-1] = "and others"
    who = "; ".join(names)
    where = reference.booktitle or reference.journal
    volume = f" {reference.volume}" if reference.volume else ""
    number = f"({reference.number})" if reference.number else ""
    pages = f", {reference.pages.replace('--', '–')}" if reference.pages else ""
    parts = [
        f"{who}{f' ({reference.year})' if reference.year else ''}" if who else "",
        f"*{reference.title}*",
        f"{where}{volume}{number}{pages}" if where else "",
        f"arXiv:{reference.eprint}" if reference.eprint else "",
        reference.note,
        f"<{reference.url}>" if reference.url else "",
    ]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."
