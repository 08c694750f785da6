"""The mutation suite: each module is edited in a copy, and what has to be made again is compared
with expectations.yaml: nothing missing, nothing superfluous."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import edits
import pytest
import rewrites
from package_copy import copy_package
from parts import long_except
from reach import (
    ROOT,
    Expectations,
    Seen,
    Thing,
    changed,
    differences,
    downstream,
    everything,
    fields,
    look,
    opinions,
    people,
    read,
)

from stp.core.canonical import meaning
from stp.core.fingerprint import Sources
from stp.kinds import kind as kinds
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.code import COLLECT, RENDER
from stp.plan.strict import CONFIG_FOLDER

FILE = read("expectations.yaml")
NAMED = [module for entry in FILE["expectations"] for module in entry["modules"]]
REACHES = {m: entry["reaches"] for entry in FILE["expectations"] for m in entry["modules"]}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for path in sorted((ROOT / "stp").rglob("*.py"))}
LOOKING = ("stp.metrics.lpips", "stp.metrics.fvd", "stp.metrics.kvd", "stp.metrics.frechet")


class Copy:
    """A copy of the package to edit, and what the plan makes with it as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        copy_package(folder)
        self.configs = [everything(), people(), fields(), opinions()]
        self.before = self.look()
        self.expectations = Expectations(FILE["groups"], self.before.paths)

    def look(self) -> Seen:
        return look(*self.plans())

    def plans(self) -> list[Plan]:
        """Of frames, of people, of fields on the globe, and of opinions."""
        return [Plan(config, self.folder) for config in self.configs]

    def path(self, module: str) -> Path:
        return self.folder / FILES[module].relative_to(ROOT)

    @contextmanager
    def edited(self, texts: dict[str, str]) -> Iterator[None]:
        """Modules with other texts, for a while."""
        before = {self.path(module): self.path(module).read_bytes() for module in texts}
        for module, text in texts.items():
            assert text != self.path(module).read_text(), module
            self.path(module).write_text(text)
        try:
            yield
        finally:
            for path, content in before.items():
                path.write_bytes(content)

    def direct(self, module: str) -> set[Thing]:
        """The things whose own code or recipe an edit of the module is expected to change."""
        assert module in REACHES, (
            f"{module} has no expectation: say in tests/mutations/expectations.yaml what an edit "
            "of it may reach"
        )
        return self.expectations.direct(REACHES[module])

    def check(self, texts: dict[str, str]) -> None:
        """Write new texts of modules, plan, and compare with the expectations.

        Modules that are edited together must reach nothing in common by themselves.
        """
        reached = [self.direct(module) for module in texts]
        direct = set[Thing]().union(*reached)
        assert len(direct) == sum(map(len, reached)), list(texts)
        with self.edited(texts):
            after = self.look()
        report = [
            differences(changed(self.before.own, after.own), direct),
            differences(
                changed(self.before.paths, after.paths), downstream(direct, self.before.paths)
            ),
        ]
        if report != ["", ""] and len(texts) > 1:
            for module, text in texts.items():
                self.check({module: text})
        assert report == ["", ""], f"an edit of {' and '.join(texts)}:\n" + "\n".join(report)

    def independent(self, modules: list[str]) -> list[list[str]]:
        """Share out modules to groups that reach nothing in common by themselves."""
        groups: list[tuple[set[Thing], list[str]]] = []
        for module in sorted(modules, key=lambda module: -len(self.direct(module))):
            direct = self.direct(module)
            for reached, group in groups:
                if not reached & direct:
                    reached |= direct
                    group.append(module)
                    break
            else:
                groups.append((set(direct), [module]))
        return [group for _, group in groups]

    def check_unchanged(self, texts: dict[str, str]) -> None:
        """Write other texts, plan, and expect no difference; else name a module that makes one.

        All texts at once: an edit that reaches something does so whatever else is edited.
        """
        with self.edited(texts):
            after = self.look()
        if after != self.before and len(texts) > 1:
            for module, text in texts.items():
                self.check_unchanged({module: text})
        assert not differences(changed(self.before.paths, after.paths), set()), list(texts)
        assert after == self.before, list(texts)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"))


def test_each_module_has_one_expectation_and_each_expectation_a_module():
    assert not set(FILES) - set(NAMED), "say in expectations.yaml what an edit of them may reach"
    assert not set(NAMED) - set(FILES), "take them out of expectations.yaml"
    assert len(NAMED) == len(set(NAMED))


@pytest.mark.parametrize("quarter", long_except([0], range(4), part="reruns"))
def test_another_meaning_reaches_what_is_expected(copy: Copy, quarter: int):
    """Each plan is made after edits of modules that reach different things: each thing tells
    whether its module, and nothing else, has reached it."""
    texts = {m: copy.path(m).read_text() for m in FILES if REACHES.get(m, True)}
    groups = copy.independent(list(texts))
    assert len(texts) > 350 and len(groups) < len(texts) / 3
    for group in groups[quarter::4]:
        copy.check({module: edits.append(texts[module]) for module in group})


@pytest.mark.parametrize("module", [module for module in FILES if REACHES.get(module, True)])
def test_another_constant_or_operator_is_another_meaning(module: str):
    """What changes the meaning of a module reaches the same."""
    text = FILES[module].read_text()
    inside = edits.change_inside(text)
    assert inside is None or meaning(inside.encode()).hash != meaning(text.encode()).hash


@pytest.mark.long(part="reruns")
def test_another_meaning_of_what_makes_no_result_reaches_nothing(copy: Copy):
    texts = {module: copy.path(module).read_text() for module in FILES if not REACHES[module]}
    assert len(texts) > 100
    copy.check_unchanged({module: edits.append(text) for module, text in texts.items()})
    inside = {module: edits.change_inside(text) for module, text in texts.items()}
    copy.check_unchanged({module: text for module, text in inside.items() if text is not None})


@pytest.mark.long(part="reruns")
def test_other_words_and_another_form_reach_nothing(copy: Copy):
    texts = {module: copy.path(module).read_text() for module in FILES}
    copy.check_unchanged(
        {
            module: rewrites.comment(rewrites.reword(rewrites.reprint(text)))
            for module, text in texts.items()
        }
    )


def test_code_that_generates_raw_files_reaches_nothing_where_official_files_are_used(copy: Copy):
    scale = read("everything.yaml")
    # config/datasets: official releases; but one that stands in the scale file alone
    scale["datasets"] = {"mine": scale["datasets"]["mine"]}
    official = config.load(scale)
    before = look(Plan(official, copy.folder))
    module = "stp.fetch.generators.kth"
    with copy.edited({module: edits.append(copy.path(module).read_text())}):
        assert look(Plan(official, copy.folder)) == before


def test_the_file_of_a_model_still_to_come_reaches_its_own_cells(copy: Copy, tmp_path: Path):
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    shutil.copy(folder / "models" / "tau.yaml", folder / "models" / "unwritten.yaml")
    scale = read("everything.yaml")
    scale["dimensions"]["short_term"]["models"].append("unwritten")
    planned = config.load(scale, folder)
    new = copy.folder / "stp" / "models" / "unwritten.py"
    before = look(Plan(planned, copy.folder))
    new.write_text("class Model: ...\n")
    after = look(Plan(planned, copy.folder))
    new.unlink()
    direct = {t for t in before.paths if t.model == "unwritten" and t.stage in ("train", "predict")}
    assert len(direct) == 2 * 3  # stages, datasets
    assert changed(before.own, after.own) == direct
    assert changed(before.paths, after.paths) == downstream(direct, before.paths)


@pytest.mark.parametrize(
    ("module", "old", "new", "reached"),
    [
        # The constants of SSIM: scores of the datasets that have it.
        ("stp.metrics.ssim", "(0.03 *", "(0.035 *", {"score": 36, "predict": 1}),
        # A default that no recipe sets counts by the module that has it.
        ("stp.score.jackknife", "FEWEST_CLUSTERS = 10", "FEWEST_CLUSTERS = 9", {"score": 82}),
    ],
)
def test_a_constant_of_a_metric_reaches_scores_and_tables(
    copy: Copy, module: str, old: str, new: str, reached: dict[str, int]
):
    text = copy.path(module).read_text()
    assert old in text
    with copy.edited({module: text.replace(old, new, 1)}):
        after = copy.look()
    found = Counter(thing.stage for thing in changed(copy.before.paths, after.paths))
    assert found == Counter({**reached, "tables": 1})


# The suite itself


def test_the_flow_of_the_architecture_follows_by_itself():
    things = [
        Thing("raw", "kth"),
        Thing("prepare", "kth"),
        Thing("prepare", "enso"),
        Thing("train", "kth", "convlstm", "seed-0"),
        Thing("predict", "kth", "convlstm", "seed-0"),
        Thing("predict", "kth", "simvpv2", "seed-0"),
        Thing("score", "kth", "convlstm", "seed-0"),
        Thing("tables"),
    ]
    raw, kth, enso, train, predict, other, score, tables = things
    assert downstream([raw], things) == set(things) - {enso}
    assert downstream([kth], things) == set(things) - {raw, enso}
    assert downstream([train], things) == {train, predict, score, tables}
    assert downstream([other], things) == {other, tables} - {tables}
    assert downstream([score], things) == {score, tables}


def test_a_difference_is_named_in_both_directions():
    lost, extra = Thing("train", "kth", "convlstm", "seed-0"), Thing("prepare", "enso")
    report = differences({extra}, {lost})
    assert "not reached, but should be: train kth convlstm seed-0" in report
    assert "reached, but should not be: prepare enso" in report


def test_the_plan_has_everything_there_is_code_for(copy: Copy):
    """Otherwise an edit could reach what nobody looks at."""
    made = [artefact for plan in copy.plans() for artefact in plan.artefacts.values()]
    planned = {module for artefact in made for module in artefact.code.modules}
    # No weights of networks that look at frames are at hand, so these have no jobs.
    looking = {m for m in FILES if m.startswith(("stp.metrics.networks", *LOOKING))}
    for folder in ("models", "prepare", "metrics", "tracks.predictors", "opinions.measures"):
        # Packages that only define names are in no fingerprint.
        modules = {m for m in FILES if m.startswith(f"stp.{folder}.") and REACHES[m]} - looking
        assert modules <= planned, (
            f"add them to everything{{,_people,_fields,_opinions}}.yaml: {modules - planned}"
        )


def test_the_core_that_runs_is_a_root_of_the_fingerprint(copy: Copy):
    made = [artefact for plan in copy.plans() for artefact in plan.artefacts.values()]
    assert all(artefact.core in artefact.code.modules for artefact in made)


def test_every_name_of_a_kind_is_a_module_that_runs():
    for kind in (kinds.find(name) for name in kinds.names()):
        assert set(kind.modules) <= FILES.keys() and kind.models in FILES


def test_nothing_of_the_shell_is_in_a_fingerprint():
    """Cores never import it; else each edit of it would make everything again."""
    shell = {m for m, reaches in REACHES.items() if not reaches}
    # Cores as well, but without weights no network looks, so an edit of them reaches nothing.
    of_videos = ("stp.options.videos", "stp.metrics.frame_features", "stp.opinions.dependence")
    networks = ("stp.metrics.networks", "stp.metrics.lpips", "stp.core.file_identity")
    looking = ("stp.features.", "stp.options.features", *of_videos, *networks)
    shell -= {m for m in shell if m.startswith(looking)}
    roots = [
        *COLLECT,
        *RENDER.values(),
        *(m for name in kinds.names() for m in kinds.find(name).modules),
    ]
    assert not shell & set(Sources().closure(roots))
