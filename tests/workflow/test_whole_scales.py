"""Whole scales, as people run them: all models on each domain, and all dimensions of the demo."""

from collections import Counter
from pathlib import Path

import pytest
import yaml
from checkout import Checkout
from test_docs_commands import commands_about

from stp.core import exit_codes

pytestmark = pytest.mark.slow

A_DATASET_OF_EACH_DOMAIN = ["moving_mnist", "bair", "kitti", "taxibj", "weatherbench"]
"""Motion trajectory, robot action, driving scene, traffic flow, weather."""


def make(checkout: Checkout, config: str, *targets: str) -> None:
    checkout.make(config=config, targets=targets, STP_RAW_MIRROR="")


def scored(checkout: Checkout) -> Counter[tuple[str, str, str]]:
    """Number of mean values, by dimension, dataset of the training and model."""
    found = checkout.ask(
        "select dimension, trained_on, model, count(value) from scores"
        " where statistic = 'mean' and lead is null group by all"
    )
    return Counter({(dimension, data, model): n for dimension, data, model, n in found})


@pytest.mark.long(part="wide")
def test_all_models_run_on_each_domain(tmp_path: Path) -> None:
    """config/wide.yaml with fewer datasets: each network trains, predicts and is scored."""
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    path = checkout.folder / "config/wide.yaml"
    scale = yaml.safe_load(path.read_text())
    short = scale["dimensions"]["short_term"]
    models = set(short["models"])
    domains = {
        yaml.safe_load((checkout.folder / f"config/datasets/{name}.yaml").read_text())["domain"]
        for name in short["datasets"]
    }
    short["datasets"] = A_DATASET_OF_EACH_DOMAIN
    scale["dimensions"] = {"short_term": short}
    path.write_text(yaml.safe_dump(scale))
    make(checkout, "config/wide.yaml", "results/tables/short_term.csv")
    found = scored(checkout)
    assert {name for _, _, name in found} == models
    for name in A_DATASET_OF_EACH_DOMAIN:
        lacking = {model for model in models if not found["short_term", name, model]}
        assert not lacking, f"no value on {name}: {lacking}"
    reached = {d for (d,) in checkout.ask("select distinct domain from datasets")}
    assert reached == domains


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The command of the demo's own comment: four tables, and all figures that it plans."""
    folder = tmp_path_factory.mktemp("demo")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    make(checkout, "config/demo.yaml", "results/tables/all", "results/demo/figures/all")
    return checkout


@pytest.mark.long(part="dimensions")
def test_the_demo_in_all_dimensions(demo: Checkout) -> None:
    checkout = demo
    scale = yaml.safe_load((checkout.folder / "config/demo.yaml").read_text())
    found = scored(checkout)
    for name, dimension in scale["dimensions"].items():
        assert (checkout.folder / f"results/tables/{name}.csv").is_file()
        trained = {data for of, data, _ in found if of == name}
        asked = {
            data
            for cell in dimension.get("cells", [{"trained_on": dimension.get("datasets", [])}])
            for data in (
                [cell["trained_on"]] if isinstance(cell["trained_on"], str) else cell["trained_on"]
            )
        }
        assert trained == asked, name
        for data in asked:
            assert {m for of, on, m in found if (of, on) == (name, data)} == set(
                dimension["models"]
            )
    figures = checkout.folder / "results/demo/figures"
    for name in scale["dimensions"]:
        drawn = [path for path in figures.glob(f"{name}/**/*.png") if path.stat().st_size > 1000]
        assert drawn, f"no figure of {name}"


@pytest.mark.long(part="dimensions")
@pytest.mark.parametrize(
    "words", [*commands_about("demo"), *commands_about("chaosbench")], ids=" ".join
)
def test_a_command_of_a_page_about_the_demo_succeeds(
    demo: Checkout, words: tuple[str, ...]
) -> None:
    done = demo.run(*words, STP_RAW_MIRROR="")
    # Another processor may print another number than the page, and find another difference.
    may_find_nothing = words[1] == "trace" or any(word.startswith("--fail-if") for word in words)
    assert done.returncode in ([0, exit_codes.NOTHING] if may_find_nothing else [0]), done.stdout
