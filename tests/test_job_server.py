"""Jobs of a local run are children of one process, where that makes no difference but time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stp import job_client, job_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no server elsewhere")

ROOT = Path(__file__).parents[1]
IN_PROCESSES = pytest.mark.long(part="processes")


@pytest.fixture(scope="module")
def scale_file(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("scale") / "served.yaml"
    path.write_text((ROOT / "config/demo.yaml").read_text())
    return path


@pytest.fixture(scope="module")
def environment(scale_file) -> Iterator[dict[str, str]]:
    """That of a job, whose run has started a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(job_client.ADDRESS, "")  # as it was, afterwards
        patch.chdir(ROOT)
        stop = job_server.start(scale_file)
        assert stop is not None
        try:
            while not Path(os.environ[job_client.ADDRESS]).exists():
                time.sleep(0.05)
            yield {**os.environ, **job_server.THREADS}
        finally:
            stop()


def stp(*words: str, **environment: str) -> tuple[int, str, str, bool]:
    """Run a verb: exit status, what it prints on both outputs, and whether a server did it.

    A process that imports the verbs runs them itself; Python tells what it imports.
    """
    command = [sys.executable, "-X", "importtime", "-m", "stp", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = done.stderr.splitlines(keepends=True)
    imports = [line for line in lines if line.startswith("import time:")]
    said = "".join(line for line in lines if line not in imports)
    alone = any(line.split("|")[-1].strip() == "stp.cli" for line in imports)
    return done.returncode, done.stdout, said, not alone


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["plan", "--list", "--configfile"], marks=IN_PROCESSES),  # prints much
        ["train", "no_such_model", "--configfile"],  # fails
        pytest.param(["--version", "--configfile"], marks=IN_PROCESSES),  # a wrong call
    ],
)
def test_a_child_does_what_a_process_of_its_own_does(environment, scale_file, words):
    alone = {k: v for k, v in environment.items() if k != job_client.ADDRESS}
    *answer, served = stp(*words, str(scale_file), **environment)
    *expected, still_served = stp(*words, str(scale_file), **alone)
    assert (served, still_served) == (True, False)
    assert answer == expected


def is_served(folder: Path = ROOT, **environment: str) -> bool:
    """Whether the server does the work of a process that asks it, and then does nothing itself."""
    code = (
        "import sys; from stp.job_client import hand_over_job;"
        "sys.argv = ['stp', 'list', 'models', '--help']; sys.exit(hand_over_job() is None)"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment).returncode == 0


def test_what_would_be_another_process_is_one(environment, tmp_path, scale_file):
    assert is_served(**environment)
    assert is_served(**{**environment, "PATH": f"/nowhere:{environment['PATH']}"})
    assert not is_served(**{**environment, "OMP_NUM_THREADS": "2"})
    assert not is_served(**{**environment, "STP_STORE_DIR": str(tmp_path)})
    assert not is_served(tmp_path, **environment)
    assert not is_served(**{**environment, job_client.ADDRESS: str(tmp_path / "gone")})
    before = scale_file.stat()
    scale_file.write_text(scale_file.read_text() + "# edited\n")
    try:
        assert not is_served(**environment)
    finally:
        scale_file.write_text(scale_file.read_text().removesuffix("# edited\n"))
        os.utime(scale_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert is_served(**environment)


def test_a_child_has_the_folder_files_and_environment_of_the_job(environment, tmp_path):
    """Its temporary files go where the job's do, and what it prints into the job's files."""
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "stp", "list", "models"], cwd=ROOT, stdout=out,
            env={**environment, "TMPDIR": str(tmp_path)},
        )  # fmt: skip
    assert done.returncode == 0
    assert "convlstm" in (tmp_path / "out").read_text()


def waiting(environment: dict[str, str], scale_file: Path) -> tuple[subprocess.Popen[str], int]:
    """A verb that waits for its input, and its child of the server."""
    fifo, out = scale_file.with_name("fifo.json"), scale_file.with_name("x.parquet")
    if not fifo.exists():
        os.mkfifo(fifo)
    before = children_of_servers(environment)
    process = subprocess.Popen(
        [sys.executable, "-m", "stp", "collect", str(fifo), "--out", str(out)],
        cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not (new := children_of_servers(environment) - before):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.2)  # until it reads
    return process, new.pop()


def children_of_servers(environment: dict[str, str]) -> set[int]:
    """Processes whose parent is the server of a socket."""
    servers, parents = set(), {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
        if environment[job_client.ADDRESS] in words:
            servers.add(int(folder.name))
    return {child for child, parent in parents.items() if parent in servers}


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_reach_the_child(environment, scale_file, sent, status):
    process, child = waiting(environment, scale_file)
    process.send_signal(sent)
    assert process.wait(30) == status
    assert not Path(f"/proc/{child}/fd/0").exists()


def test_a_child_ends_with_its_job(environment, scale_file):
    process, child = waiting(environment, scale_file)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}/fd/0").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_job_whose_child_is_killed_has_failed(environment, scale_file):
    process, child = waiting(environment, scale_file)
    os.kill(child, signal.SIGKILL)
    assert process.wait(30) == job_client.KILLED


def test_the_server_ends_with_the_run(tmp_path):
    """However the run ends: its pipe closes."""
    code = (
        "import os, sys; from pathlib import Path; from stp import job_client, job_server;"
        "job_server.start(Path(sys.argv[1])); print(os.environ[job_client.ADDRESS], flush=True);"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, "config/demo.yaml"]
    run = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    environment = {job_client.ADDRESS: run.stdout.readline().strip()}
    run.kill()
    run.wait()
    deadline = time.monotonic() + 60
    while any(
        environment[job_client.ADDRESS] in (folder / "cmdline").read_text(errors="replace")
        for folder in Path("/proc").glob("[0-9]*")
        if (folder / "cmdline").exists()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.05)
