"""What a walk over import statements cannot see must not be in code that has a fingerprint.

Each of these would be a way for a change to reach a result unseen. Where one is really needed,
see to it that a fingerprint covers it (stp/plan/code.py), and name it here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from edits import is_text
from reach import ROOT, everything, fields, opinions, people

from stp.core.canonical import meaning
from stp.core.fingerprint import SHELL_OF_CORES, Sources
from stp.plan.cells import Plan
from stp.plan.code import COLLECT, RENDER

IMPORTED_BY_NAME = {
    # module -> what it imports by a name that is made at run time; covered by Plan.code
    "stp.data.prepared": {"f'stp.data.{self._renderer}'"},
    "stp.models.create": {"module_name"},
    "stp.predict.opinions": {"f'stp.opinions.measures.{measure}'"},
    "stp.predict.motion": {"f\"stp.tracks.predictors.{recipe['model']}\""},
    "stp.train.calibrated": {"f\"stp.tracks.predictors.{recipe['model']}\""},
    "stp.predict.source": {"f\"stp.predict.sources.{recipe['source']}\""},
    "stp.score.conventions": {"f'stp.metrics.{module}'"},
    "stp.features.clip_features": {"f'stp.features.networks.{options.module}'"},
    "stp.options.named": {"f'stp.train.{kind}.{name}'"},
}
UNSEEN = {
    # what -> the modules that may use it: none of these changes a result
    "__doc__": set(),
    # Names for an error; what is remembered is told apart by the code that made it.
    "__file__": {"stp.options.named", "stp.collect.empty"},
    "__import__": set(),
    "compile": set(),
    # The first only sets a variable of CUDA, the second only refuses what is too large.
    "environ": {"stp.models.compute", "stp.core.limits"},
    "eval": set(),
    "exec": set(),
    "getenv": set(),
    "getsource": set(),
    "iter_modules": {"stp.score.conventions"},  # names for an error
    "resources": set(),
    "runpy": set(),
}


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """All modules that are in some fingerprint, parsed."""
    plans = [Plan(everything()), Plan(people()), Plan(fields()), Plan(opinions())]
    artefacts = [artefact for plan in plans for artefact in plan.artefacts.values()]
    modules = {m for artefact in artefacts for m in artefact.code.modules}
    modules |= set(Sources().closure([*COLLECT, *RENDER.values()]))
    for folder in ("fetch/generators", "features/networks"):
        for path in (ROOT / "stp" / folder).glob("*.py"):
            modules |= set(Sources().closure([f"stp.{folder.replace('/', '.')}.{path.stem}"]))
    modules |= set(
        Sources().closure(["stp.features.run", "stp.features.rollout", "stp.features.videos"])
    )
    return {m: ast.parse(path_of(m).read_bytes()) for m in sorted(modules) if path_of(m).exists()}


def names(tree: ast.AST) -> Iterator[str]:
    """Every name and attribute that is used, and every name that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            # model.eval() is torch's; numpy and re have a compile of their own.
            yield "" if node.attr in ("eval", "compile") else node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (part for alias in node.names for part in alias.name.split("."))


def test_nothing_is_imported_by_an_unknown_name(trees: dict[str, ast.Module]):
    found: dict[str, set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                found.setdefault(module, set()).update(map(ast.unparse, node.args))
    assert found == IMPORTED_BY_NAME


def test_nothing_unseen_is_used(trees: dict[str, ast.Module]):
    used = {module: set(names(tree)) for module, tree in trees.items()}
    found = {
        (name, module)
        for name, allowed in UNSEEN.items()
        for module in trees
        if name in used[module] and module not in allowed
    }
    assert not found


def test_nothing_of_this_repository_but_the_package_is_imported(trees: dict[str, ast.Module]):
    """A file beside the package would be imported, but is in no fingerprint."""
    imported = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).split(".")[0])
    assert "stp" in imported
    for name in imported - {"stp"}:
        assert not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists(), name


def reached_by_luck(module: str, tree: ast.Module) -> Iterator[str]:
    """Modules of the package that a module uses by their full name, and imports nowhere."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.split(".")[0]
                bound[alias.asname or name] = name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.name != "*"
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    reached = Sources().closure([module])
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            used = ".".join([bound.get(first, ""), *rest])
            if used.startswith("stp.") and path_of(used).exists() and used not in reached:
                yield used


def test_modules_are_imported_where_they_are_used(trees: dict[str, ast.Module]):
    """``stp.data.x`` works without an import of it if somebody else has imported it: unseen."""
    found = {module: list(reached_by_luck(module, tree)) for module, tree in trees.items()}
    assert not {module: used for module, used in found.items() if used}


def texts(node: ast.AST | None) -> bool:
    """Whether a text stands anywhere in a piece of code."""
    return node is not None and any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def test_errors_are_chosen_without_text(trees: dict[str, ast.Module]):
    """Texts inside raise do not count; so no text may say what is raised."""
    found = set()
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                chosen = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if texts(chosen) or texts(node.cause):
                    found.add((module, ast.unparse(node)))
    assert not found


SAID = {
    # what exceptions say, and where it goes: to another error, to a choice between raising this
    # exception or another one, or to pages of what is missing; never into a score
    "stp.collect.scores": {"problems.append(problem)"},
    "stp.core.disk": {"str(error)"},
    "stp.human_study.answers": {
        "problems.append(f'{path}, line {number}: {error}')",
        "problems.append(f'{path}, line {reader.line_num}: {error}')",
        "problems.append(f'{path}: {error}')",
        "{error}",
    },
    "stp.human_study.pair_key": {"error.errors", "error.errors()", "error.errors()[0]"},
    "stp.models.compute": {"str(error)"},
    "stp.models.create": {"error.name"},
    "stp.prepare.moving_mnist": {
        "Planned(numbers=numbers, unknown={'test': error.what})",
        "error.what",
    },
    "stp.render.tables.paper_table": {"_why_missing(plan, cell, failures, problem)"},
}


def told_by_exceptions(tree: ast.Module) -> set[str]:
    """Code that takes something from an exception, other than to raise it again."""
    used: set[str] = set()
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        raised = {
            id(part)
            for node in ast.walk(handler)
            if isinstance(node, ast.Raise)
            for part in ast.walk(node)
        }
        used |= {
            ast.unparse(node)
            for node in ast.walk(handler)
            if isinstance(node, (ast.Call, ast.Attribute, ast.FormattedValue, ast.Subscript))
            and id(node) not in raised
            and not ast.unparse(node).startswith("isinstance(")
            and any(isinstance(p, ast.Name) and p.id == handler.name for p in ast.walk(node))
        }
    return used


def test_no_text_of_an_exception_becomes_a_result(trees: dict[str, ast.Module]):
    """Texts inside raise do not count; so what an exception says may only be raised again."""
    found = {module: told_by_exceptions(tree) for module, tree in trees.items()}
    assert {module: used for module, used in found.items() if used} == SAID


def test_what_counts_nowhere_computes_nothing():
    """Errors, and how work is handed over: classes of data, and functions that return no data."""
    for module in SHELL_OF_CORES:
        tree = ast.parse(path_of(module).read_bytes())
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                is_error = any(ast.unparse(base).endswith("Exception") for base in node.bases)
                inner = [s for s in node.body if not isinstance(s, ast.AnnAssign)]
                assert is_error or all(is_text(s) for s in inner), f"{module}.{node.name}"
            elif isinstance(node, ast.FunctionDef):
                returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
                constant = all(isinstance(v, ast.Constant) for v in returned)
                assert constant or (module, node.name) == ("stp.core.errors", "nearest")
            else:
                told = isinstance(node, (ast.Import, ast.ImportFrom)) or is_text(node)
                names_a_type = re.match(r"\w+ = (Callable|Mapping)\[", ast.unparse(node))
                assert told or names_a_type, module
        imported = {m for _, m, _ in meaning(path_of(module).read_bytes()).imports}
        assert not {name for name in imported if name.startswith("stp")}


def test_suggestions_are_for_errors_alone(trees: dict[str, ast.Module]):
    """``nearest`` chooses a text, and counts nowhere."""
    for module, tree in trees.items():
        nodes = list(ast.walk(tree))
        imported = {
            alias.name
            for n in nodes
            if isinstance(n, ast.ImportFrom) and n.module == "stp.core.errors"
            for alias in n.names
        }
        if "nearest" not in imported:
            continue
        raised = {id(p) for n in nodes if isinstance(n, ast.Raise) for p in ast.walk(n)}
        called = {id(n) for n in nodes if isinstance(n, ast.Name) and n.id == "nearest"}
        assert called <= raised, module


def test_every_folder_of_the_package_has_an_init():
    for path in (ROOT / "stp").rglob("*.py"):
        assert (path.parent / "__init__.py").exists(), path.parent


def test_the_package_has_no_files_but_modules():
    """Data files, templates and compiled modules are in no fingerprint (yet)."""
    files = [p for p in (ROOT / "stp").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    # Only the shell reads these, for people: a map, and the page of a questionnaire.
    shown = {
        "render/pictures/coastline.npz",
        *(f"human_study/{name}" for name in ("page.css", "page.html", "page.js", "bicubic.js")),
    }
    others = {p.relative_to(ROOT / "stp").as_posix() for p in files if p.suffix != ".py"}
    # Rules name the files of the report as their inputs.
    parts = {name for name in others if name.startswith("report/page/")}
    assert others - parts == shown
