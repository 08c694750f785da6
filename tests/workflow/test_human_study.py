"""The human study by the real Snakemake: a questionnaire of a small plan, answers, the table."""

from pathlib import Path

import pytest
from asking import csv_rows
from checkout import TABLE, Checkout
from raters import crowd, of_shares

from stp.studies.answer_key import BestOfKey, load_key

pytestmark = [pytest.mark.slow, pytest.mark.long(part="kinds")]
SCALE = "tests/workflow/human_study.yaml"
PAGE = "results/small-study/human_study/questionnaire.html"
STUDY = "results/tables/human_preferences.csv"
MADE = "results/small-study/tables/human_preferences.csv"
AGREEMENT = "results/small-study/tables/human_preferences_agreement.csv"
CONFIG = "config/human_study.yaml"


def snakemake(checkout: Checkout, target: str, *options: str):
    command = ("snakemake", "--profile", "local", "--configfile", SCALE, *options, "--", target)
    return checkout.run(*command)


@pytest.fixture(scope="module")
def checkout(tiny, tmp_path_factory) -> Checkout:
    """A checkout; data are there, and forecasts of other models."""
    checkout = Checkout.beside(tiny, tmp_path_factory.mktemp("human_study"))
    checkout.forget("persistence")
    return checkout


def test_from_the_questionnaire_to_the_table(checkout: Checkout) -> None:
    refused = snakemake(checkout, PAGE, "-n")
    assert refused.returncode != 0
    assert (
        "the scale small-study has no short-term predictions of earthformer on bair"
        in refused.stdout
    )
    assert "scales: small-study:" in refused.stdout

    checkout.edit(
        CONFIG,
        "scales:\n",
        "scales:\n"
        "  small-study: {clips: {moving_mnist: 10}, models: [persistence, context_mean]}\n",
    )
    before = checkout.receipts()
    made = snakemake(checkout, PAGE)
    assert made.returncode == 0, made.stdout
    assert "10 questions, 2 models, lossless WebP" in made.stdout
    new = checkout.receipts().keys() - before.keys()
    predicted = {Path(path).parts[3] for path in new if path.startswith("predictions/")}
    assert predicted == {"persistence", "context_mean"}, "only what raters see is made"
    assert not (checkout.folder / TABLE).exists()
    assert "Nothing to be done" in snakemake(checkout, PAGE, "-n", "--quiet", "host").stdout

    refused = snakemake(checkout, STUDY, "-n")
    assert refused.returncode != 0
    assert "results/small-study/human_study/answers: no answers" in refused.stdout
    planned = snakemake(checkout, "results/tables/all", "-n", "--quiet", "host")
    assert planned.returncode == 0, planned.stdout
    assert "human_preferences" not in planned.stdout

    folder = checkout.folder / "results/small-study/human_study"
    key = load_key(folder / "key.json", BestOfKey)
    crowd(folder / "answers", key, 12, of_shares({"persistence": 0.7, "context_mean": 0.3}))
    made = snakemake(checkout, STUDY)
    assert made.returncode == 0, made.stdout
    rows = {
        row["model"]: row for row in csv_rows(checkout.folder / STUDY) if row["dataset"] == "all"
    }
    assert rows["Persistence"]["answers"] == "120"
    assert float(rows["Persistence"]["low"]) < 0.7 < float(rows["Persistence"]["high"])
    mse = next(row for row in csv_rows(checkout.folder / AGREEMENT) if row["metric"] == "MSE")
    assert mse["answers"] == "120", mse["reason"]
    assert "Nothing to be done" in snakemake(checkout, STUDY, "-n", "--quiet", "host").stdout

    # Another questionnaire takes no answers away from the first.
    checkout.edit(CONFIG, "seed: 42", "seed: 43")
    made = snakemake(checkout, PAGE)
    assert made.returncode == 0, made.stdout
    assert load_key(folder / "key.json", BestOfKey).study != key.study
    (checkout.folder / STUDY).unlink()
    (checkout.folder / MADE).unlink()
    refused = snakemake(checkout, STUDY)
    assert refused.returncode != 0
    assert (
        f"are read with its key: results/small-study/human_study/keys/{key.study}.json"
        in refused.stdout
    )
