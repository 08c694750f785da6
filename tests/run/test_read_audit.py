"""What a core reads besides what its fingerprint knows ends its job, by name, or is declared.

Each case is a model in a copy of the package, run in a process of its own.
"""

import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest
from parts import long_except

ROOT = Path(__file__).parents[2]
RUN = """
import importlib, json, sys
from stp.core.fingerprint import Sources
from stp.run.read_audit import ReadAudit

given = json.loads(sys.argv[1])
for name in given["before"]:
    importlib.import_module(name)
audit = ReadAudit(
    what="train of mine on kth",
    modules=list(Sources().closure(["stp.models.mine"])),
    folders=given["folders"],
    declared=given["declared"],
    entries=["config/models/mine.yaml", "config/datasets/kth.yaml"],
    environment=given["environment"],
)
audit = ReadAudit(**json.loads(json.dumps(audit.as_json())))  # as ranks are told
core = audit.watch(lambda: importlib.import_module("stp.models.mine"))
print(audit.watch(core.run))
"""


@dataclass
class Copy:
    """A copy of the package to put a model into, and a folder beside it."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(
        self,
        model: str,
        *,
        folders: tuple = (),
        declared: tuple = (),
        before: tuple = (),
        environment: dict | None = None,
        run: str = RUN,
        **more,
    ) -> subprocess.CompletedProcess[str]:
        """Run a model with ``run()`` where imports find what lies beside the checkout."""
        self.write("checkout/stp/models/mine.py", model)
        given = {
            "folders": [str(self.folder / name) for name in folders],
            "declared": [str(self.folder / "checkout" / name) for name in declared],
            "before": list(before),
            "environment": environment or {},
        }
        return subprocess.run(
            [sys.executable, "-c", run, json.dumps(given)],
            env={
                "PYTHONPATH": f"{self.folder / 'checkout'}:{self.folder / 'beside'}",
                "HOME": str(self.folder / "home"),
                **more,
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    for name in ("core", "run"):
        ignored = shutil.ignore_patterns("__pycache__", "cluster", "costs")
        shutil.copytree(ROOT / "stp" / name, folder / "stp" / name, ignore=ignored)
    shutil.copy(ROOT / "stp" / "__init__.py", folder / "stp")
    (folder / "stp" / "models").mkdir()
    (folder / "stp" / "models" / "__init__.py").write_text('"""Models."""\n')
    return folder


@pytest.fixture
def copy(tmp_path, package) -> Copy:
    shutil.copytree(package, tmp_path / "checkout")
    return Copy(tmp_path)


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It ended with an error that has these words, and says what to do."""
    assert done.returncode != 0, done.stdout
    last = done.stderr[done.stderr.rindex("StpError: ") :]
    for word in ("train of mine on kth", "remedy:", *words):
        assert word in last, done.stderr


def test_a_module_beside_the_repository(copy):
    copy.write("beside/helpers.py", "FACTOR = 3\n")
    for model in ("import helpers\ndef run(): ...", "def run():\n    import helpers"):
        done = copy.run(model)
        refused(
            done,
            "beside/helpers.py is read by stp.models.mine",
            "config/models/mine.yaml",
        )


def test_a_module_that_another_one_beside_imports(copy):
    copy.write("checkout/helpers/first.py", "import second")
    copy.write("beside/second.py", "")
    model = "import helpers.first\ndef run(): ...\n"
    refused(copy.run(model), "helpers/first.py is read by stp.models.mine")
    done = copy.run(model, declared=("helpers/first.py",))
    refused(done, "beside/second.py is read by helpers.first")


@pytest.mark.parametrize(
    "line",
    [
        "open(PATH).read()",
        "open(PATH, 'r+b').read()",
        "__import__('pathlib').Path(PATH).read_text()",
        "__import__('os').open(PATH, 0)",
        "__import__('json').load(open(PATH))",
        "[*map(open, [PATH])]",
        "__import__('concurrent.futures').futures.ThreadPoolExecutor().submit(open, PATH).result()",
    ],
)
@pytest.mark.parametrize(
    "name",
    long_except(["table.json"], ["table.json", "notes.txt", "query.sql"], part="processes"),
)
def test_a_file_beside_a_model(copy, line, name):
    copy.write(f"checkout/stp/models/{name}", "{}")
    model = f"PATH = __file__.replace('mine.py', {name!r})\ndef run():\n    {line}\n    return 5\n"
    refused(copy.run(model), f"stp/models/{name} is read")
    done = copy.run(model, declared=(f"stp/models/{name}",))
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def test_a_file_that_is_read_and_whose_error_is_swallowed(copy):
    copy.write("beside/table.json", "{}")
    model = """
def run():
    try:
        return open("beside/table.json").read()
    except Exception:
        return "a default"
"""
    refused(copy.run(model), "beside/table.json is read by stp.models.mine")


def test_a_module_of_the_package_by_a_computed_name(copy):
    model = """
import importlib
NAME = "journal"
def run():
    return importlib.import_module("stp.core." + NAME).__name__
"""
    refused(copy.run(model), "stp/core/journal.py is read by stp.models.mine")
    done = copy.run(f"import stp.core.journal\n{model}")
    assert (done.returncode, done.stdout) == (0, "stp.core.journal\n"), done.stderr


def test_everything_of_a_package(copy):
    """``from package import *`` reaches all modules of it: edits of each are seen."""
    copy.write("checkout/stp/models/parts/__init__.py", "__all__ = ['deep']\n")
    copy.write("checkout/stp/models/parts/deep.py", "X = 2\n")
    model = "from stp.models.parts import *\ndef run():\n    return deep.X\n"
    done = copy.run(model)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_a_compiled_module_that_is_not_installed(copy):
    """Python's own loader opens it, so only its import is heard."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    folder = Path(sysconfig.get_path("platstdlib").replace(sys.prefix, sys.base_prefix))
    compiled = folder / "lib-dynload" / f"_heapq{suffix}"
    shutil.copy(compiled, copy.folder / f"_heapq{suffix}")
    model = """
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
def run():
    path = PATH
    spec = spec_from_file_location("_heapq", path, loader=ExtensionFileLoader("_heapq", path))
    return module_from_spec(spec).__name__
""".replace("PATH", repr(str(copy.folder / f"_heapq{suffix}")))
    refused(copy.run(model), f"_heapq{suffix} is read by stp.models.mine")


@pytest.mark.long(part="processes")
def test_machine_code_of_a_loop(copy):
    """What one process compiles, the next one reads: beside the source, or where it is told to."""
    model = """
from stp.core.compiled import compiled
@compiled
def twice(x):
    return 2 * x
def run():
    return twice(3)
"""
    for where in ({}, {"NUMBA_CACHE_DIR": str(copy.folder / "elsewhere")}):
        for _ in range(2):
            done = copy.run(model, **where)
            assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
    assert list(copy.folder.glob("elsewhere/*/mine.twice*.nbi"))
    (made,) = copy.folder.glob("checkout/stp/models/__pycache__/mine.twice*.nbi")
    other = made.rename(made.with_name("other.twice.nbi"))
    done = copy.run(f"def run():\n    open({str(other)!r}, 'rb')")
    refused(done, "stp/models/other.py is read by stp.models.mine")


def test_a_core_sees_the_variables_that_its_model_declares_and_no_other(copy):
    model = "import os\ndef run():\n    return os.environ.get('FACTOR'), 'HOME' in os.environ\n"
    done = copy.run(model, FACTOR="3")
    assert (done.returncode, done.stdout) == (0, "(None, True)\n"), done.stderr
    done = copy.run(model, environment={"FACTOR": "4"}, FACTOR="3")
    assert (done.returncode, done.stdout) == (0, "('4', True)\n"), done.stderr


def test_what_belongs_to_a_job_is_read(copy):
    """Inputs, what it wrote itself, installed packages, and variables that libraries ask for."""
    copy.write("inputs/data.txt", "1")
    model = """
import os, tempfile, wave, pathlib
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
def run():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "own.txt"
        path.write_text("2")
        try:
            open("beside/nothing.json")
        except FileNotFoundError:
            pass
        return open("inputs/data.txt").read() + path.read_text() + open("/etc/passwd").read(0)
"""
    done = copy.run(model, folders=("inputs",))
    assert (done.returncode, done.stdout) == (0, "12\n"), done.stderr


def test_what_the_shell_reads_meanwhile_is_its_own(copy):
    """Progress, heartbeats of the lease: in the core's thread or in another one."""
    copy.write("beside/state.json", "{}")
    copy.write(
        "checkout/stp/run/shell.py",
        "import os\ndef report():\n    os.environ.get('HOME')\n"
        "    return open('beside/state.json').read()\n",
    )
    model = """
import sys, threading
def run():
    shell = sys.modules["stp.run." + "shell"]
    thread = threading.Thread(target=shell.report)
    thread.start()
    thread.join()
    return shell.report()
"""
    done = copy.run(model, before=("stp.run.shell",))
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr


def test_what_a_core_reads_while_the_shell_imports_it(copy):
    """The shell's function is around it, and not inside."""
    copy.write("beside/state.json", "{}")
    copy.write("checkout/stp/run/shell.py", "def call(work):\n    return work()\n")
    model = """
import sys
def read():
    return open("beside/state.json").read()
def run():
    return RUN
"""
    for run in ("read()", "sys.modules['stp.run.' + 'shell'].call(read)"):
        done = copy.run(model.replace("RUN", run), before=("stp.run.shell",))
        if run == "read()":
            refused(done, "beside/state.json is read by stp.models.mine")
        else:  # as progress that writes down what it hears
            assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr
    around = RUN.replace(
        "lambda: importlib", "lambda: sys.modules['stp.run.shell'].call(lambda: importlib"
    )
    around = around.replace('("stp.models.mine"))\nprint', '("stp.models.mine")))\nprint')
    done = copy.run(
        'TEXT = open("beside/state.json").read()', before=("stp.run.shell",), run=around
    )
    refused(done, "beside/state.json is read by stp.models.mine")


def test_a_traceback_that_shows_lines_of_another_module(copy):
    copy.write("beside/other.py", "def f():\n    raise ValueError\n")
    model = """
import sys, traceback
def run():
    try:
        sys.modules["other"].f()
    except ValueError:
        return len(traceback.format_exc()) > 0
"""
    done = copy.run(model, before=("other",))
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


POOL = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

def read(path):
    return Path(path).read_text()

def enter(path):
    if path:
        read(path)

def run():
    with ProcessPoolExecutor(1, get_context(START), enter, (FIRST,)) as pool:
        WORK
"""


def test_a_file_that_a_forked_process_of_the_core_reads(copy):
    """As the workers of prepare_workers. What a spawned process reads is unseen."""
    copy.write("beside/table.json", "{}")
    work = "return pool.submit(read, 'beside/table.json').result()"
    model = POOL.replace("START", "'fork'").replace("FIRST", "''").replace("WORK", work)
    done = copy.run(model)
    refused(done, "beside/table.json is read by stp.models.mine", "config/models/mine.yaml")
    allowed = copy.run(model, folders=("beside",))
    assert allowed.returncode == 0, allowed.stderr
