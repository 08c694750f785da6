"""What rules ask of tables and figures: which there are, what they are made from, how."""

import json
import re
from pathlib import Path

import pytest
import yaml

from stp.core.errors import StpError
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.suite import OF_ALL, read_suites
from stp.render.figures.kinds import KINDS
from stp.render.tables import by_name
from stp.run import workflow_files
from stp.run.cluster.site import Site
from stp.workflow.figures import Figures
from stp.workflow.jobs import Jobs
from stp.workflow.tables import Table, Tables

TINY = yaml.safe_load((Path(__file__).parent / "workflow" / "tiny.yaml").read_text())


def tables_of(scale: Path | dict, folder: Path) -> dict[str, Table]:
    """The tables of a scale, whose manifests are written to a folder."""
    plan = Plan(config.load(scale))
    manifests = workflow_files.write_manifests(plan, results=folder)
    tables = list(Tables(plan, manifests))
    assert len({table.name for table in tables}) == len(tables)
    return {table.name: table for table in tables}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    return tables_of(TINY, tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize("scale", ["fvd-demo", "scv-demo", "atlas-demo", "pvqa-demo"])
def test_every_table_of_a_suite_has_a_rule_and_a_digest(scale: str, tmp_path: Path) -> None:
    path = CONFIG_FOLDER / f"{scale}.yaml"
    tables = tables_of(path, tmp_path)
    suite = config.load(path).suite
    planned = set(config.load(path).scale.dimensions)
    made = {*suite.all_tables(), *OF_ALL} - (set(suite.dimensions) - planned)
    assert tables.keys() == made
    for table in tables.values():
        assert table.path in table.arguments, "its verb is told the file"
        assert len(table.digest) == 16 and table.about and table.data_origin
        assert table.files["table"] == table.path and table.captions


def test_every_table_of_every_suite_has_one_module() -> None:
    for suite in read_suites().values():
        of_module = {table for of in suite.dimensions.values() for table in of.tables}
        of_module |= {table for table, of in suite.tables.items() if of.from_store}
        for table in of_module - {suite.findings}:
            studied = suite.all_tables()[table].study
            assert studied or by_name.module_of(table).endswith(f".{table}")


def test_a_table_without_a_module_is_refused() -> None:
    with pytest.raises(StpError, match=r"runtimes(.|\n)*runtime\?"):
        by_name.module_of("runtimes")


def test_a_digest_knows_rows_and_no_digest_of_facts_does(tmp_path: Path) -> None:
    before = tables_of(TINY, tmp_path)
    digests = {name: table.digest for name, table in before.items()}
    manifest = tmp_path / "plan" / "short_term.json"
    content = json.loads(manifest.read_text())
    moved = {**content, "published": "/elsewhere/predbench.csv"}
    for changed, reached in ((moved, set()), ({**content, "code": "another"}, {"short_term"})):
        manifest.write_text(json.dumps(changed))
        now = {
            table.name: table.digest
            for table in Tables(Plan(config.load(TINY)), {"short_term": manifest})
        }
        differing = {name for name in now if now[name] != digests[name]}
        assert reached <= differing and bool(reached) == bool(differing)
        assert not {"model_size", "training_protocol", "model_speed"} & differing


def test_tables_that_lack_something_say_what(tables: dict[str, Table]) -> None:
    for name, missing in (("reliability", "seed"), ("human_preferences", "answers")):
        assert not tables[name].is_possible
        with pytest.raises(StpError, match=missing):
            tables[name].required_inputs(None)
    assert tables["reproduction"].is_possible and tables["model_speed"].on_demand
    without = {**TINY, "dimensions": {"short_term": {**TINY["dimensions"]["short_term"]}}}
    without["dimensions"]["short_term"] |= {"datasets": ["kth"]}
    plan = Plan(config.load(without))
    (made,) = [
        one for one in Tables(plan, {"short_term": Path("unread")}) if one.name == "reproduction"
    ]
    with pytest.raises(StpError, match="reproduction"):
        made.required_inputs(None)


def test_every_planned_figure_has_one_rule_and_a_digest(tmp_path: Path) -> None:
    plan = Plan(config.load(TINY))
    figures = Figures(plan, workflow_files.write_manifests(plan, results=tmp_path))
    rules = {rule.name: rule for rule in figures.rules}
    assert rules.keys() == {"figure_of_dimension", "figure_of_case", "render_strip", "render_movie"}
    digests = {}
    for path in figures.paths:
        dimension, kind, *_ = path.partition("/figures/")[2].split("/")
        digests[path] = figures.digest_of(dimension, Path(kind).stem)
    kinds = {Path(path).parent.name for path in digests} | {Path(path).stem for path in digests}
    assert {"leads", "strips", "movies", "ranks"} <= kinds
    assert len(set(digests.values())) > 5, "each kind has code of its own"
    movie, strip = rules["render_movie"], rules["render_strip"]
    assert [word for word in movie.outputs if word != "--out"] == list(movie.files.values())
    assert strip.outputs == ["--out", strip.files["png"]]
    of_case = rules["figure_of_case"].constraints["kind"].split("|")
    assert of_case == [name for name, kind in KINDS.items() if kind.of_case]


def test_receipts_and_logs_of_stages_have_the_wildcards_of_their_artefacts() -> None:
    plan = Plan(config.load(TINY))
    jobs = Jobs(plan, Site(), cores=2)
    for artefact in plan.artefacts.values():
        pattern = re.sub(r"\{\w+\}", "([^/]+)", jobs.receipt(artefact.stage))
        assert re.fullmatch(pattern, f"{plan.store}/{artefact.receipt}")
    score = next(a for a in plan.artefacts.values() if a.stage == "score")
    log = re.sub(r"\{\w+\}", "([^/]+)", jobs.log("results/tiny", "score"))
    assert re.fullmatch(log, f"results/tiny/logs/score/{score.folder.removeprefix('scores/')}.log")
    assert jobs.log("r", "score_perceptual").startswith("r/logs/score/{suite}/")
