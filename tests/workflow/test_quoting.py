"""What a folder or a setting is called is never run: shell lines quote all that they are given."""

import json
import re
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, TABLE, Checkout

RULES = [ROOT / "workflow" / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]
FOLDER = "ä b'c\"d $(touch owned) `touch owned` & ;touch owned; $HOME #"
"""What a checkout or a store may be called."""
SCALE = "tests/workflow/tiny.yaml"


def shell_lines(text: str) -> list[str]:
    """The shell commands of rules: strings below ``shell:``, and those of ``shell(...)``."""
    found = re.findall(r'shell\(("(?:[^"\\]|\\.)*")\)', text)
    inside = False
    for line in text.splitlines():
        if inside and line.strip().startswith('"'):
            found.append(line.strip())
            continue
        inside = line.strip() == "shell:"
        assert not re.match(r"\s*shell:\s*\S", line), "a command begins on a line of its own"
    return found


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_every_placeholder_of_a_shell_line_is_quoted(path: Path):
    lines = shell_lines(path.read_text())
    assert (
        lines
        or "rule" not in path.read_text().replace("rules", "")
        or "shell" not in (path.read_text())
    )
    for line in lines:
        for placeholder in re.findall(r"(?<!\{)\{([^{}]*)\}", line):
            assert placeholder.endswith(":q"), f"{path.name}: {{{placeholder}}} in {line}"
        assert "$(" not in line, f"{path.name}: {line}: pass what is computed as a parameter"


@pytest.mark.slow
@pytest.mark.long(part="kinds")
def test_a_checkout_and_a_store_with_any_name(tmp_path: Path):
    checkout = Checkout.create(tmp_path / FOLDER / "checkout", tmp_path / FOLDER / "shared")
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    scale["dimensions"] = {"short_term": {"models": ["persistence"], "datasets": ["enso"]}}
    path.write_text(yaml.safe_dump(scale))
    checkout.make()
    assert "Persistence" in (checkout.folder / TABLE).read_text()
    (receipt,) = (checkout.store / "scores").rglob("artefact.json")
    assert json.loads(receipt.read_text())["stage"] == "score"
    further = ["results/tables/findings.csv", "results/tiny/report/index.html"]
    checkout.succeed("snakemake", "--profile", "local", "--configfile", SCALE, "--", *further)
    for name in further:
        assert (checkout.folder / name).stat().st_size > 1000
    checkout.succeed("stp", "query", "SELECT count(*) FROM scores")
    assert not list(tmp_path.rglob("owned"))
