"""One set of pins serves pip, conda and containers."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent


def test_the_conda_environment_has_the_pins_of_the_constraints():
    spec = importlib.util.spec_from_file_location("update", ROOT / "envs" / "update.py")
    update = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(update)
    text = update.environment((ROOT / "constraints.txt").read_text())
    assert (ROOT / "envs" / "stp.yaml").read_text() == text, "run envs/update.py"
    pins = yaml.safe_load(text)["dependencies"][-1]["pip"]
    assert "torch==2.13.0" in pins


def test_every_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for kind in optional.values() for one in kind)]
    names = {name.split(">")[0].split("=")[0].split("[")[0].strip() for name in wanted}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert names - {project["name"]} <= {line.split("==")[0] for line in lines}


def test_constraints_name_no_place_of_one_machine():
    text = (ROOT / "constraints.txt").read_text()
    assert "file:" not in text and "http" not in text and "/" not in text


def test_every_rule_names_its_environment_and_its_log():
    rules = [path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")]
    blocks = re.split(r"(?m)^ *rule\b.*:\n", "\n".join(rules))[1:]
    assert len(blocks) >= 18
    for block in blocks:
        assert "    conda:" in block and "    log:" in block, block
    assert "    run:" not in "".join(rules)


def test_files_of_rules_hold_rules_and_stages_have_no_parameters():
    """What differs between runs, as the scale's configuration, would make finished work again."""
    folder = ROOT / "workflow"
    rules = {path.stem: path.read_text() for path in (folder / "rules").glob("*.smk")}
    assert len(rules) <= 12 and len((folder / "Snakefile").read_text().splitlines()) < 80
    assert not re.findall(r"(?m)^ *(def|class) ", "\n".join(rules.values()))
    for stage in ("fetch", "prepare", "train", "predict", "features", "score"):
        assert "    params:" not in rules[stage].partition("rule data:")[0], stage
    for profile in (ROOT / "profiles").glob("*/config.yaml"):
        assert "\nrerun-triggers: [mtime, params]\n" in profile.read_text(), profile


def test_importing_the_package_and_its_command_line_loads_nothing_heavy():
    code = (
        "import sys, stp, stp.cli\n"
        "print(sorted({'torch', 'numpy', 'pandas', 'zarr', 'snakemake'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
