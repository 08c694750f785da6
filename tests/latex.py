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


def latex_problems(source: str) -> list[str]:
    """What would stop LaTeX: open braces and environments, signs without escape, odd rows."""
    found: list[str] = []
    body = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in source.splitlines())
    open_environments: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            open_environments.append(name)
        elif not open_environments or open_environments.pop() != name:
            found.append(f"{name} ends before it begins")
    found += [f"{name} does not end" for name in open_environments]
    plain = re.sub(r"\\([\\{}$&#%_ ]|[a-zA-Z]+|,)", " ", body)  # commands and escaped signs
    depth = 0
    for sign in plain:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            found.append("a brace closes nothing")
            depth = 0
    found += ["a brace stays open"] if depth else []
    found += ["a dollar stays open"] if plain.count("$") % 2 else []
    found += [f"sign {sign!r}" for sign in re.sub(r"\$[^$]*\$", "", plain) if sign in "#^_~"]
    found += [f"letter {sign!r}" for sign in body if ord(sign) >= 0x180]
    for spec, rows in re.findall(
        r"\\begin\{tabular\}\{((?:[lr]|@\{\\ \})+)\}(.*?)\\end\{tabular\}", body, flags=re.DOTALL
    ):
        spec = spec.replace(r"@{\ }", "")
        for row in re.split(r"\\\\(?![a-zA-Z])\n", rows):
            cells = len(re.findall(r"(?<!\\)&", row)) + 1 + row.count(r"\multicolumn{2}")
            if re.sub(r"\\(toprule|midrule|bottomrule)", "", row).strip() and cells != len(spec):
                found.append(f"{cells} cells instead of {len(spec)}: {row}")
            if re.match(r"\s*[\[*]", row):
                found.append(f"an option of the row before: {row}")
    return found
