"""Every LaTeX snippet can be pasted as it is: packages, captions, labels, and whose bytes."""

import re

import pytest
from hostile import HOSTILE
from latex import complaints, latex_problems, needs_latex
from small_store import PUBLISHED, SmallStore, built, results
from test_render_formats import GRID

from stp.inspect.facts import table as facts
from stp.page.formats import latex
from stp.page.grid import Grid, Item, Section
from stp.plan import config as configuration
from stp.plan.cells import Plan
from stp.render.tables.paper_table import render_table
from stp.render.tables.reliability import render_reliability

DEMO = configuration.CONFIG_FOLDER / "demo.yaml"


@pytest.fixture(scope="module")
def snippets(tmp_path_factory) -> dict[str, str]:
    """The snippets of several tables, by their names."""
    folder = tmp_path_factory.mktemp("snippets")
    store = SmallStore(folder, PUBLISHED)
    for seed, value in enumerate([0.5, 0.75, 0.5, 0.25]):
        store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": value, "n": 4}}, seed=seed)
    render_table(store.write(), built(store), folder / "short_term.csv")
    render_reliability(results(store), folder / "reliability.csv")
    facts.write(Plan.load(DEMO), folder / "training_protocol.csv")
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.tex"))}


@needs_latex
@pytest.mark.parametrize("name", ["short_term", "reliability", "training_protocol"])
def test_a_snippet_compiles_with_the_packages_that_the_page_names(snippets, name, tmp_path):
    """Those of other tables compile in the tests of each: `complaints` is the compiler."""
    (tmp_path / f"{name}.tex").write_text(snippets[name])
    assert complaints(tmp_path / f"{name}.tex") == []


@needs_latex
def test_every_sign_compiles(tmp_path):
    """All of Latin scripts, all that tables use beyond them, and one that nobody foresaw."""
    latin = [chr(code) for code in range(0x21, 0x180) if chr(code).isprintable()]
    signs = [*latin, *latex._SIGNS, "漢"]
    rows = [[sign, f"{sign}a {sign}", f"a `{sign}` b"] for sign in signs]
    sections = [
        Section(title=f"Part {at} {''.join(row[0] for row in rows[at : at + 5])}",
                columns=["↑ %", "a_b", "#1"], rows=rows[at : at + 40], numeric=[False, True, False],
                notes=[" ".join(row[0] for row in rows[at : at + 40])])
        for at in range(0, len(rows), 40)
    ]  # fmt: skip
    for grid in (GRID, Grid("signs", "Signs ± & %", ["~ \\ {"], sections, warnings=["_^#"])):
        (tmp_path / f"{grid.name}.tex").write_text(latex.text(grid))
        assert complaints(tmp_path / f"{grid.name}.tex") == []


OF_PEOPLE_WHO_TRY = Grid(
    "hostile",
    HOSTILE,
    [HOSTILE],
    [Section(title=HOSTILE, intro=[HOSTILE], columns=["model", HOSTILE], numeric=[False, True],
             rows=[[HOSTILE, Item(HOSTILE, rank=1, mark="†", aside=HOSTILE)]], notes=[HOSTILE])],
    warnings=[HOSTILE], legend=[HOSTILE], made_from=HOSTILE,
)  # fmt: skip


def test_titles_that_look_like_code_are_text():
    source = latex.text(OF_PEOPLE_WHO_TRY)
    assert latex_problems(source) == []
    read = [line for line in source.splitlines() if not line.startswith("%")]
    assert not any(r"\input" in line for line in read)


@needs_latex
def test_titles_that_look_like_code_compile(tmp_path):
    (tmp_path / "hostile.tex").write_text(latex.text(OF_PEOPLE_WHO_TRY))
    assert complaints(tmp_path / "hostile.tex") == []


@pytest.mark.parametrize("name", ["short_term", "reliability", "training_protocol"])
def test_a_snippet_can_be_pasted(snippets, name):
    source = snippets[name]
    assert latex_problems(source) == []
    assert r"\usepackage{booktabs,graphicx}" in source
    # Nothing of a preamble is in it, but as a comment.
    assert not re.search(r"^\\(documentclass|usepackage|begin\{document\})", source, re.MULTILINE)
    floats = re.findall(r"\\begin\{table\}.*?\\end\{table\}", source, re.DOTALL)
    labels = [label for one in floats for label in re.findall(r"\\label\{([^}]*)\}", one)]
    assert floats and len(labels) == len(floats) == len(set(labels))
    assert all(re.fullmatch(r"tab:[a-z0-9-]+", label) for label in labels)
    for one in floats:
        assert one.count(r"\caption{") == 1
        assert one.index(r"\caption{") < one.index(r"\label{"), "or \\ref is wrong"
    if name != "training_protocol":
        for caption in re.findall(r"\\caption\{(.*)\}\n", source):
            assert "NOT COMPARABLE" in caption and "synthetic data, demo protocol" in caption
