"""The rules that measure networks and render Table 19, in real runs of Snakemake."""

import json
from pathlib import Path

import pytest
from checkout import Checkout

pytestmark = pytest.mark.slow
MEASURED = "results/profile/small_convnet/taxibj.json"
SCALE = "tests/workflow/tiny.yaml"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    folder: Path = tmp_path_factory.mktemp("profile")
    return Checkout.create(folder / "copy", folder / "shared")


def ask(checkout: Checkout, *words: str) -> str:
    return checkout.succeed("snakemake", "--profile", "local", "--configfile", SCALE, *words)


def planned(checkout: Checkout, target: str = MEASURED) -> int:
    """How many measurements Snakemake would make."""
    told = ask(checkout, "-n", "--quiet", "host", "--", target)
    return told.count("rule profile:")


def test_the_tables_need_the_twelve_networks_or_nothing_and_nothing_prepared(checkout):
    tables = [f"results/tables/model_{name}.csv" for name in ("speed", "size")]
    told = ask(checkout, "-n", "--quiet", "host", "--", *tables)
    assert told.count("rule profile:") == 12 and told.count("rule render_model_speed:") == 1
    assert told.count("rule render_model_size:") == 1 and told.count("rule table:") == 2
    assert "rule prepare:" not in told and "rule train:" not in told


@pytest.mark.long(part="kinds")
def test_a_network_is_measured_again_only_when_its_code_changes(checkout):
    ask(checkout, "--", MEASURED)
    found = json.loads((checkout.folder / MEASURED).read_text())
    assert found["network"]["shape"] == [2, 32, 32] and found["size"]["parameters"] == 90_104
    assert planned(checkout) == 0, "it is there"
    checkout.edit("stp/models/tau.py")
    assert planned(checkout) == 0, "another network"
    checkout.edit("stp/models/small_convnet.py")
    assert planned(checkout) == 1
    checkout.restore("stp/models/small_convnet.py")


def test_an_unknown_network_is_one_clear_error(checkout):
    done = checkout.run(
        "snakemake", "--profile", "local", "--configfile", SCALE, "--",
        "results/profile/convlsmt/taxibj.json",
    )  # fmt: skip
    assert done.returncode != 0 and "'convlsmt'" in done.stdout and "convlstm?" in done.stdout
