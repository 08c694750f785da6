"""A LaTeX compiler for snippets of tables: what docs/tables.md tells to load, and nothing else."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tables.md").read_text()


def _missing() -> str:
    """What is not installed, if anything."""
    if shutil.which("pdflatex") is None:
        return "needs pdflatex (apt-get install texlive-latex-recommended)"
    done = subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "needs booktabs (texlive-latex-recommended)"


needs_latex = pytest.mark.skipif(bool(_missing()), reason=_missing() or "installed")


def document(name: str) -> str:
    """The document of docs/tables.md, with the table of this name."""
    (example,) = re.findall(r"```latex\n(.*?)```", PAGE, re.DOTALL)
    assert example.count(r"\input{short_term}") == 1
    return example.replace(r"\input{short_term}", rf"\input{{{name}}}")


def complaints(snippet: Path) -> list[str]:
    """Compile a document with a snippet; what LaTeX says against it: nothing, if all is well.

    Besides errors: signs that no font has, labels that are there twice, and tables that are higher
    than a page, of which the end is lost.
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(snippet, folder)
        Path(folder, "paper.tex").write_text(document(snippet.stem), encoding="utf-8")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-file-line-error", "-no-shell-escape",
             "paper.tex"],
            cwd=folder, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        lines = Path(folder, "paper.log").read_text(encoding="latin-1").splitlines()
        found = [
            line
            for line in lines
            if re.match(r"\S+\.tex:\d+: |! ", line)
            or re.search(r"Missing character|multiply.defined|Float too large", line)
        ]
        if done.returncode and not found:
            found = lines[-5:]
        made = Path(folder, "paper.pdf").is_file()
    return found if made or found else ["no pages"]
