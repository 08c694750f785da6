"""One small file says what differs from site to site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
import yte
from fake_slurm import answer

from stp.core.errors import StpError
from stp.run.cluster.site import Site

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "site.example.yaml"
PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"


@pytest.fixture
def write(monkeypatch, tmp_path):
    """Write a site file and name it in STP_SITE."""

    def write(text: str) -> Path:
        path = tmp_path / f"site{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text)
        monkeypatch.setenv("STP_SITE", str(path))
        return path

    return write


def profile() -> dict:
    with PROFILE.open() as file:
        return yte.process_yaml(file, require_use_yte=True)


def test_the_example_changes_nothing(write):
    write(EXAMPLE.read_text())
    assert Site.load() == Site()


def test_the_example_shows_every_key_with_its_default(write):
    shown = re.sub(r"(?m)^( *)# ([a-z_]+: )", r"\1\2", EXAMPLE.read_text())
    write(shown)
    assert Site.load() == Site()
    keys = yaml.safe_load(shown)
    assert set(keys) == set(Site.model_fields)
    assert set(keys["cpu"]) == set(Site().cpu.model_dump())
    assert set(keys["gpu"]) == set(Site().gpu.model_dump())


def test_the_profile_takes_over_what_the_site_says(write):
    write("accounting: off\njobs: 7\nretries: 4\nfirst_status_seconds: 5\n")
    keys = profile()
    assert keys["executor"] == "slurm"
    assert (keys["jobs"], keys["retries"]) == (7, 4)
    assert keys["slurm-status-command"] == "squeue"
    assert keys["slurm-init-seconds-before-status-checks"] == 5
    assert keys["group-components"]["small-kth"] == 10


def test_accounting_is_asked_for_unless_stated(write, monkeypatch, tmp_path):
    answer(
        monkeypatch, tmp_path / "bin",
        scontrol="AccountingStorageType = accounting_storage/slurmdbd",
    )  # fmt: skip
    write("jobs: 1\n")
    assert profile()["slurm-status-command"] == "sacct"
    write("accounting: off\n")
    assert profile()["slurm-status-command"] == "squeue"
    write("accounting: on\n")
    assert profile()["slurm-status-command"] == "sacct"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("partion: gpu\n", "partion"),
        ("gpu: {request: gpux}\n", r"gpu\.request .*'gpux'"),
        ("gpu: {type: 'a 100'}\n", r"gpu\.type .*'a 100'"),
        ("requeues: -1\n", "requeues .*-1"),
        ("gpu: [\n", ""),
    ],
)
def test_mistakes_are_named_with_their_file(write, text, problem):
    path = write(text)
    with pytest.raises(StpError, match=problem) as error:
        Site.load()
    assert str(path) in str(error.value)


def test_a_missing_file_is_an_error_only_if_it_was_named(monkeypatch, tmp_path):
    monkeypatch.setenv("STP_SITE", str(tmp_path / "nowhere.yaml"))
    with pytest.raises(StpError, match=r"site\.example\.yaml"):
        Site.load()


def test_scratch_is_used_inside_slurm_jobs_only(write):
    write("scratch: /scratch/$SLURM_JOB_ID\n")
    setup = Site.load().job_setup()
    assert 'export TMPDIR="/scratch/$SLURM_JOB_ID"' in setup
    assert setup.startswith('if [ -n "${SLURM_JOB_ID:-}" ]')
    assert Site().job_setup() == ""


SNAKEFILE = """
from pathlib import Path
from stp.run.cluster.site import Site
shell.prefix(Site.load().shell_prefix(Path("/opt/it's $(here) {x}/bin")))

rule all:
    output: "told.txt"
    shell: '''printf '%s\\n' "$TMPDIR" "$PATH" > {output}; touch "$TMPDIR"/written'''
"""


@pytest.mark.long(part="processes")
@pytest.mark.parametrize("scratch", ["/scratch/$SLURM_JOB_ID", "/scratch/${SLURM_JOB_ID}/a b"])
def test_snakemake_runs_rules_with_scratch_and_without(write, tmp_path, scratch):
    """Through the formatting that Snakemake does to a prefix, in a Slurm job and elsewhere."""
    path = f"{tmp_path}{scratch}"
    write(f"scratch: {path}\n")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    for job in ("4711", None):
        environment = {k: v for k, v in os.environ.items() if k != "SLURM_JOB_ID"}
        environment |= {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
        environment |= {"SLURM_JOB_ID": job} if job else {}
        command = [sys.executable, "-m", "snakemake", "-c1", "--forceall"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        folder, *found = (tmp_path / "told.txt").read_text().splitlines()
        meant = path.replace("${SLURM_JOB_ID}", "4711").replace("$SLURM_JOB_ID", "4711")
        assert folder == (meant if job else str(tmp_path))
        assert (Path(folder) / "written").is_file()
        assert "\n".join(found).endswith(":/opt/it's $(here) {x}/bin")


def test_every_line_of_the_example_works_once_its_comment_sign_is_gone(write):
    """Each alone, with its default or, where that is nothing, the value that its comment names."""
    named = {"type": "a100", "scratch": "/scratch/$SLURM_JOB_ID", "image": "stp.sif"}
    section, tried = "", set()
    for line in EXAMPLE.read_text().splitlines():
        if re.match(r"[a-z]+:$", line):
            section = line
        found = re.match(r"( *)# ([a-z_]+): ([^#]*)", line)
        if found is None:
            continue
        indent, key, value = found.groups()
        value = named.get(key, value.strip())
        value = {"null": "90" if key.startswith("max_") else "something"}.get(value, value)
        inside = f"{section}\n  " if indent else ""
        write(f"{inside}{key}: {value}\n")
        site = Site.load()
        holder = getattr(site, section.rstrip(":")) if indent else site
        assert key in holder.model_fields_set
        assert site.shell_prefix(Path("/bin")).format() == (
            f'export PATH="$PATH":/bin; {site.job_setup()}'
        )
        assert site.profile()["slurm-requeue"]
        tried.add(key)
    fields = {*Site.model_fields, *Site().cpu.model_dump(), *Site().gpu.model_dump()}
    assert tried == fields - {"cpu", "gpu"}
