"""Tables 13-16: conventions and units, what may be compared, what is missing or doubtful."""

import csv
import itertools
import math
from pathlib import Path

import pytest
from latex import complaints, needs_latex
from small_store import PUBLISHED, SmallStore, convention_facts, results, table_column

from stp.collect.published import COLUMNS, read_published
from stp.core.errors import ConfigurationError, FileError
from stp.plan import config
from stp.plan.cell_key import CellKey
from stp.plan.column import by_name
from stp.plan.manifests import published_names
from stp.plan.recipes import Recipes
from stp.render.tables.demands import is_reproduced
from stp.suites.predbench.tables.reproduction import render_reproduction

ROOT = Path(__file__).parents[2]
PAPER = config.load(ROOT / "config" / "paper.yaml")
TABLES = PAPER.suite.reproduction
VIDEO = {"mse.pixel_sum": 27.63, "mae.pixel_sum": 80.0, "ssim.range2": 0.95, "psnr.per_frame": 23.0}


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    """A store whose manifest has the tables as they are configured, and no cells yet."""
    store = SmallStore(tmp_path, PUBLISHED)
    plan = store.manifest
    plan["reproduction"] = {name: table.model_dump() for name, table in TABLES.items()}
    plan["tables"]["short_term"]["columns"]["sevir"] = [table_column("CSI", "csi.mean")]
    plan["names"]["models"] |= {"earthformer": "Earthformer", "mcvd": "MCVD"}
    plan["names"]["datasets"]["sevir"] = "SEVIR"
    plan["published_names"]["models"] |= {"earthformer": "Earthformer", "mcvd": "MCVD"}
    return store


def add(store: SmallStore, model: str, dataset: str, values: dict[str, float], **more) -> None:
    scores = {name: {"mean": value, "n": 7} for name, value in values.items()}
    if "csi.mean" in scores:
        scores["csi.mean"]["thresholds"] = {t: t / 1000 for t in (16, 74, 133, 160, 181, 219)}
    store.add(model, dataset, scores, seed=0, **more)


def render(store: SmallStore) -> dict[tuple[str, ...], dict[str, str]]:
    """The lines of the CSV by dataset, model and metric."""
    out = store.folder / "results/tables/reproduction.csv"
    render_reproduction(results(store), out)
    with out.open(newline="") as lines:
        return {
            (line["dataset"], line["model"], line["metric"]): line for line in csv.DictReader(lines)
        }


def test_official_values_stand_beside_the_printed_ones(store):
    add(store, "convlstm", "moving_mnist", VIDEO, official=True)
    lines_of = render(store)
    line = lines_of["Moving-MNIST", "ConvLSTM", "MSE"]
    assert (line["table"], line["original"], line["published"]) == ("13", "29.8", "29.63")
    assert (line["ours"], line["difference"], line["comparable"]) == ("27.63", "-2", "yes")
    assert (line["convention"], line["seeds"], line["n"]) == ("mse.pixel_sum", "1", "7")
    absent = lines_of["Moving-MNIST", "TAU", "MSE"]
    assert (absent["ours"], absent["difference"]) == ("", "")
    assert absent["notes"] == "not at scale demo"
    text = (store.folder / "results/tables/reproduction.md").read_text()
    assert "| ConvLSTM | 29.80 | 29.63 | 27.630 (-2) |" in text
    assert "Tables 14, 15, 16" in text
    assert "NOT COMPARABLE" not in text


@needs_latex
def test_it_compiles(store):
    add(store, "convlstm", "moving_mnist", VIDEO)
    render(store)
    assert complaints(store.folder / "results/tables/reproduction.tex") == []


def test_other_bytes_have_no_difference_and_say_so(store):
    add(store, "convlstm", "moving_mnist", VIDEO)
    line = render(store)["Moving-MNIST", "ConvLSTM", "PSNR"]
    assert (line["ours"], line["difference"], line["comparable"]) == ("23", "", "NO")
    assert line["notes"].startswith("NOT COMPARABLE: synthetic ")
    for kind in ("md", "tex", "html"):
        text = (store.folder / f"results/tables/reproduction.{kind}").read_text()
        assert "NOT COMPARABLE" in text


def test_misprints_are_marked_and_no_difference_is_taken_to_them(store):
    add(store, "mcvd", "moving_mnist", VIDEO, official=True)
    lines_of = render(store)
    assert lines_of["Moving-MNIST", "MCVD", "MSE"]["difference"] == ""
    assert "MSE and MAE columns are swapped" in lines_of["Moving-MNIST", "MCVD", "MSE"]["notes"]
    assert float(lines_of["Moving-MNIST", "MCVD", "SSIM"]["difference"]) == pytest.approx(
        0.95 - 0.6312
    )
    text = (store.folder / "results/tables/reproduction.md").read_text()
    assert "| MCVD | 164.89† | 164.60† |" in text


def test_ours_that_are_equal_as_printed_are_equally_good(store):
    store.manifest["conventions"]["mse.pixel_sum"] = convention_facts(False)
    for model, error in (("convlstm", 27.63001), ("predrnn", 27.63002), ("tau", 27.64)):
        store.manifest["names"]["models"][model] = model
        store.manifest["published_names"]["models"] |= {"predrnn": "PredRNNv1", "tau": "TAU"}
        add(store, model, "moving_mnist", VIDEO | {"mse.pixel_sum": error})
    render(store)
    text = (store.folder / "results/tables/reproduction.md").read_text()
    assert text.count("**27.630**") == 2 and text.count("*27.640*") == 1


def test_columns_are_in_the_units_of_the_paper(store):
    """Table 15 prints sums over pixels of frames in 0..1, Table 16 means over pixels of 0..255."""
    enso = {"mse.pixel_mean": 0.195, "mae.pixel_mean": 0.313, "rmse.per_frame": 0.42}
    enso |= {"nino34.correlation": 0.7, "nino34.correlation_weighted": 2.1, "nino34.rmse": 0.5}
    add(store, "earthformer", "enso", enso, official=True)
    sevir = {"mse.pixel_mean": 229.0, "mae.pixel_mean": 6.7, "csi.mean": 0.44}
    add(store, "earthformer", "sevir", sevir, official=True)
    lines_of = render(store)
    assert [line["table"] for line in lines_of.values()] == ["15"] * 5 + ["16"] * 9
    ours = {(key[0], key[2]): line["ours"] for key, line in lines_of.items()}
    assert float(ours["ICAR-ENSO", "MSE"]) == pytest.approx(0.3140, rel=1e-3)
    assert float(ours["ICAR-ENSO", "MAE"]) == pytest.approx(13.48, rel=1e-3)
    assert float(ours["SEVIR", "MAE"]) == pytest.approx(255 * 6.7)
    assert (ours["SEVIR", "CSI-74"], ours["SEVIR", "CSI-M"]) == ("0.074", "0.44")
    compared = {key[2]: line["difference"] for key, line in lines_of.items() if line["difference"]}
    assert float(compared.pop("MSE")) == pytest.approx(229 - 229.57)
    # Not those of Table 15, whose headings are lost in print, nor the MAE of Table 16.
    assert list(compared) == [f"CSI-{level}" for level in (16, 74, 133, 160, 181, 219, "M")]
    assert "not certain" in lines_of["SEVIR", "Earthformer", "MAE"]["notes"]


def test_the_factors_of_enso_are_those_of_its_published_scaling():
    dataset = PAPER.datasets["enso"]
    scale = dataset.releases["official"].prepare["normalisation"]["scale"]
    columns, pixels = by_name(TABLES["enso"].columns), math.prod(dataset.shape)
    assert columns["MSE"].factor == pytest.approx(pixels / scale**2, rel=1e-7)
    assert columns["MAE"].factor == pytest.approx(pixels / scale, rel=1e-7)


def test_every_column_is_printed_and_scored():
    recipes = Recipes(PAPER)
    published = read_published(PUBLISHED)
    models = []
    for dataset, table in TABLES.items():
        printed = {(v.model, v.metric, v.run) for v in published if v.table == table.table}
        models.append({model for model, _, _ in printed})
        names, runs = {column.name for column in table.columns}, {"original", "ours"}
        assert printed == set(itertools.product(models[-1], names, runs))
        scored = recipes.conventions(dataset)
        assert {column.convention for column in table.columns} <= set(scored)
    assert list(map(len, models)) == [12, 10, 1, 1]


def test_the_magnitudes_that_decide_the_units_of_tables_15_and_16():
    """A pooled root mean square error is at least the mean of those of frames (Table 6)."""
    printed = read_published(PUBLISHED)

    def value(table, dataset, metric, run):
        (lines_of,) = (
            one.value
            for one in printed
            if (one.table, one.tested_on, one.metric, one.run, one.model)
            == (table, dataset, metric, run, "Earthformer")
        )
        return lines_of

    for name, dataset in (("enso", "ICAR-ENSO"), ("sevir", "SEVIR")):
        table, columns = TABLES[name].table, by_name(TABLES[name].columns)
        factor = columns["MSE"].factor
        pooled = math.sqrt(value(table, dataset, "MSE", "ours") / factor)
        per_frame = value("weather", dataset, "RMSE", "")
        assert per_frame <= pooled < 1.25 * per_frame
        mean_absolute = value(table, dataset, "MAE", "ours") / columns["MAE"].factor
        assert mean_absolute < per_frame
    assert math.sqrt(value("T16_repro_sevir", "SEVIR", "MSE", "ours") / 384**2) * 255 < 12.85


def test_a_scale_without_these_cells_is_refused(store):
    add(store, "persistence", "moving_mnist", VIDEO)
    add(store, "convlstm", "moving_mnist", VIDEO, subset="hard")
    with pytest.raises(ConfigurationError, match=r"short_term\.json"):
        render(store)


def test_which_cells_are_of_these_tables():
    tables = {name: table.table for name, table in TABLES.items()}
    names = published_names(PAPER)
    models = {(value.table, value.model) for value in read_published(PUBLISHED)}

    def of(model: str, dataset: str, subset: str = "test", variant: str = "default") -> bool:
        cell = ("predbench", "short_term", model, variant, dataset, "all", dataset, subset)
        key = CellKey(*cell, "horizon-10", None)
        return is_reproduced(key, tables, models, names)

    assert of("tau", "moving_mnist") and of("earthformer", "sevir") and of("predrnnpp", "human36m")
    assert not of("tau", "sevir") and not of("persistence", "moving_mnist")
    assert not of("tau", "human36m", "strict") and not of("tau", "kth")
    assert not of("earthformer", "human36m"), "Table 14 has ten models"
    assert not of("tau", "moving_mnist", variant="small"), "the paper has no such variant"


def test_a_variant_of_a_model_is_not_what_is_printed(store):
    add(store, "convlstm", "moving_mnist", VIDEO | {"mse.pixel_sum": 11.0}, variant="small")
    add(store, "convlstm", "moving_mnist", VIDEO, official=True)
    line = render(store)["Moving-MNIST", "ConvLSTM", "MSE"]
    assert (line["ours"], line["comparable"]) == ("27.63", "yes")


def test_an_incomplete_published_table_is_refused(store, tmp_path):
    file = tmp_path / "published.csv"
    file.write_text(
        f"{','.join(COLUMNS)}\n{TABLES['moving_mnist'].table},,TAU,,,,,,ours,MSE,25,25,\n"
    )
    store.manifest["published"] = str(file)
    store.manifest["names"]["models"]["tau"] = store.manifest["published_names"]["models"][
        "tau"
    ] = "TAU"
    add(store, "tau", "moving_mnist", VIDEO)
    with pytest.raises(FileError, match=r"published\.csv.*T13_repro_mmnist"):
        render(store)
