"""Views for everyday questions: who leads, how much is convention, what is behind a number."""

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import asking
import duckdb
import numpy as np
import pytest
import small_store
from scipy.stats import spearmanr
from small_store import PUBLISHED, SmallStore, convention_facts, table_column
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.questions import QUESTIONS
from stp.render.tables import schema_page

PAGE = Path(__file__).parents[2] / "docs" / "results_store.md"
Ask = Callable[..., list[tuple[Any, ...]]]


def built(store: SmallStore) -> Ask:
    """A function that asks the database of a store."""
    return partial(asking.ask, small_store.built(store))


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path)


def ssim(value: float | None, **more: Any) -> dict[str, Any]:
    return {"ssim.range2": {"mean": value, **more}}


CONVENTION_PAIRS: dict[str, dict[str, tuple[float | None, float]]] = {
    "moves": {"persistence": (0.9, 0.5), "climatology": (0.8, 0.7), "context_mean": (0.7, 0.6)},
    # Persistence has no value in the first one.
    "gap": {"persistence": (None, 9.0), "convlstm": (3.0, 1.0), "simvpv2": (3.0, 2.0),
            "tau": (3.0, 3.0), "mau": (1.0, 4.0)},
    # SimVPv2 shares the first place in one, and another is the first by name.
    "shared": {"convlstm": (0.5, 0.9), "simvpv2": (0.8, 0.9)},
}  # fmt: skip
"""Dataset -> model -> SSIM in the conventions ``ssim.range2`` and ``ssim.range1``."""


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Asks a store in which each question has a dataset of its own."""
    store = SmallStore(tmp_path_factory.mktemp("views"))
    datasets = ("interval", "seeds", "directions", "sources", "best_of", "sets", *CONVENTION_PAIRS)
    store.manifest["tables"]["short_term"]["columns"] |= {
        name: [table_column("SSIM", "ssim.range2")] for name in datasets
    }
    store.manifest["conventions"] |= {
        "ssim.range1": convention_facts(True),
        "mse.pixel_sum": convention_facts(False),
        "frequency_bias.mean": convention_facts(best_at=1.0),
        **{name: convention_facts(False, compares_sets=True) for name in ("fvd.a", "fvd.b")},
    }
    store.add("convlstm", "interval", ssim(0.9, low=0.8, high=0.95, leads=[0.95, 0.85]), seed=1)
    for seed, value in enumerate((0.5, 1.0)):
        store.add("convlstm", "seeds", ssim(value), seed=seed)
    store.add("persistence", "seeds", ssim(0.75))
    store.add("climatology", "seeds", ssim(0.95))
    store.add("simvpv2", "seeds", ssim(None, reason="diverged"), seed=0)
    for model, error, bias in (("persistence", 3.0, 0.5), ("climatology", 1.0, 2.0)):
        values = {"mse.pixel_sum": {"mean": error}, "frequency_bias.mean": {"mean": bias}}
        store.add(model, "directions", {**ssim(0.5), **values})
    store.add("persistence", "sources", ssim(0.7))
    store.add("climatology", "sources", ssim(0.8), official=True)
    store.add("persistence", "best_of", ssim(0.7))
    store.add("climatology", "best_of", ssim(0.8))
    store.add("mcvd", "best_of", ssim(0.9), seed=0, best_of=10)
    for dataset, pairs in CONVENTION_PAIRS.items():
        for model, (first, second) in pairs.items():
            reason = {"reason": "not a number"} if first is None else {}
            store.add(model, dataset, {**ssim(first, **reason), "ssim.range1": {"mean": second}})
    clips = {"convlstm": 200, "simvpv2": 200, "tau": 100, "mau": 100}
    for place, (model, n) in enumerate(clips.items()):
        distances = {name: {"mean": float(place), "n": n} for name in ("fvd.a", "fvd.b")}
        store.add(model, "sets", ssim(0.9) | distances)
    return built(store)


def test_a_value_stands_beside_its_interval(ask: Ask) -> None:
    columns = "value, ci95_low, ci95_high, n, clusters"
    (row,) = ask(f"SELECT {columns} FROM overall WHERE tested_on = 'interval'")
    assert row == (0.9, 0.8, 0.95, 200, 20)
    leads = ask("SELECT lead, value FROM by_lead WHERE tested_on = 'interval' ORDER BY lead")
    assert leads == [(1, 0.95), (2, 0.85)]


def test_seeds_are_ranked_together_and_ties_share(ask: Ask) -> None:
    assert ask(
        "SELECT model, rank, ranked, seeds, value, round(seed_sd, 4), best_model FROM leaderboard "
        "WHERE tested_on = 'seeds' ORDER BY rank, model"
    ) == [
        ("climatology", 1, 3, 0, 0.95, None, "climatology"),
        ("convlstm", 2, 3, 2, 0.75, 0.3536, "climatology"),
        ("persistence", 2, 3, 0, 0.75, None, "climatology"),
        ("simvpv2", None, 3, 1, None, None, None),
    ]


def test_lower_and_nearer_to_a_value_can_be_better(ask: Ask) -> None:
    of_rank_1 = "WHERE rank = 1 AND tested_on = 'directions'"
    best = dict(ask(f"SELECT convention, best_model FROM leaderboard {of_rank_1}"))
    assert best["mse.pixel_sum"] == "climatology"
    assert best["frequency_bias.mean"] == "persistence", "0.5 is nearer to 1 than 2"


def test_synthetic_and_official_data_are_never_ranked_together(ask: Ask) -> None:
    ranks = ask("SELECT source, rank, ranked FROM leaderboard WHERE tested_on = 'sources'")
    assert sorted(ranks) == [("official", 1, 1), ("synthetic", 1, 1)]


def test_the_best_of_many_forecasts_is_ranked_apart(ask: Ask) -> None:
    of_test = "WHERE tested_on = 'best_of'"
    rows = ask(f"SELECT model, best_of, rank, ranked FROM leaderboard {of_test} ORDER BY model")
    assert rows == [("climatology", 1, 1, 2), ("mcvd", 10, 1, 1), ("persistence", 1, 2, 2)]
    assert ask(f"SELECT model, rank, models FROM ranks {of_test} ORDER BY model") == [
        ("climatology", 1, 2), ("mcvd", 1, 1), ("persistence", 2, 2),
    ]  # fmt: skip
    assert ask(f"SELECT model, other FROM comparisons {of_test}") == [
        ("climatology", "persistence")
    ]


@pytest.mark.parametrize(
    ("dataset", "moves"),
    [
        ("moves", (2, 3, "climatology", "persistence", True)),
        # A model without a value in one of them moves nobody; equal models share the mean place.
        ("gap", (3, 4, "mau", "convlstm", True)),
    ],
)
def test_how_much_of_a_ranking_is_convention(
    ask: Ask, dataset: str, moves: tuple[object, ...]
) -> None:
    (row,) = ask(
        "SELECT convention, other, models, rank_correlation, relative_difference, largest_move, "
        "moved, best_model, other_best_model, another_wins FROM convention_effects "
        f"WHERE tested_on = '{dataset}'"
    )
    pairs = [pair for pair in CONVENTION_PAIRS[dataset].values() if pair[0] is not None]
    twos, ones = zip(*pairs, strict=True)
    assert row[:3] == ("ssim.range1", "ssim.range2", len(pairs))
    changes = np.median([abs(two - one) / one for one, two in zip(ones, twos, strict=True)])
    assert row[3:5] == pytest.approx((spearmanr(ones, twos).statistic, changes))
    assert row[5:] == moves


def test_a_model_that_is_best_by_both_conventions_wins_by_both(ask: Ask) -> None:
    assert ask(
        "SELECT best_model, other_best_model, another_wins FROM convention_effects "
        "WHERE tested_on = 'shared'"
    ) == [("simvpv2", "simvpv2", False)]


def test_distances_of_sets_are_compared_at_equal_n(ask: Ask) -> None:
    assert ask(
        "SELECT set_size, models, best_model, rank_correlation FROM convention_effects "
        "WHERE tested_on = 'sets' ORDER BY ALL"
    ) == [(100, 2, "tau", 1.0), (200, 2, "convlstm", 1.0)]


def test_the_verb_explains_a_table(ask: Ask) -> None:
    (database,) = ask.args  # type: ignore[attr-defined]
    arguments = ["--database", str(database)]
    shown = CliRunner().invoke(app, ["list", "store", "leaderboard", *arguments])
    assert "rank" in shown.output and "best_model" in shown.output
    assert "leaderboard" in CliRunner().invoke(app, ["list", "store", *arguments]).output
    wrong = CliRunner().invoke(app, ["list", "store", "leaderbord", *arguments])
    assert wrong.exit_code != 0 and "leaderboard" in str(wrong.exception)


def test_errors_grow_with_lead_time_in_sums_where_no_means_were_scored(store: SmallStore) -> None:
    known = store.manifest["conventions"]
    for convention in ("mse.pixel_mean", "mse.pixel_sum"):
        known[convention] = convention_facts(False)
    columns = store.manifest["tables"]["short_term"]["columns"]
    columns["kth"] = columns["moving_mnist"] = [table_column("MSE", "mse.pixel_sum")]
    sums = {"mse.pixel_sum": {"mean": 3.0, "leads": [2.0, 4.0]}}
    store.add("persistence", "moving_mnist", sums)
    store.add("persistence", "kth", {**sums, "mse.pixel_mean": {"mean": 0.3, "leads": [0.2, 0.4]}})
    (question,) = (one for one in QUESTIONS if "lead time" in one.asked)
    grown = [(row[2], *row[-3:]) for row in built(store)(question.sql)]
    assert grown == [
        ("kth", "mse.pixel_mean", 1, 0.2),
        ("kth", "mse.pixel_mean", 2, 0.4),
        ("moving_mnist", "mse.pixel_sum", 1, 2.0),
        ("moving_mnist", "mse.pixel_sum", 2, 4.0),
    ]


def test_differences_to_printed_values_need_the_papers_bytes(store: SmallStore) -> None:
    store.manifest["published"] = str(PUBLISHED)
    store.add("convlstm", "moving_mnist", ssim(0.9300), seed=1, official=True)
    store.add("simvpv2", "moving_mnist", ssim(0.5), seed=1)
    ask = built(store)
    of_model = {model: rest for model, *rest in ask(
        "SELECT model, value, published, difference, why_none FROM deltas WHERE metric = 'SSIM'"
    )}  # fmt: skip
    assert of_model["convlstm"][:3] == [0.93, 0.929, pytest.approx(0.001)]
    assert of_model["simvpv2"][:3] == [0.5, 0.9404, None]
    assert "synthetic data" in of_model["simvpv2"][3]


def test_a_number_leads_to_its_artefacts_and_raw_files(store: SmallStore) -> None:
    cell = store.add("convlstm", "moving_mnist", ssim(0.9), seed=1)
    receipt = Path(cell["data"], "artefact.json")
    lock = "raw/moving_mnist/digits.lock.json"
    attempt = {"attempt": 1, "how": "killed", "host": "node1", "time": 10.0, "ended": 25.0}
    text = json.loads(receipt.read_text()) | {"inputs": {"raw": lock}, "attempts": [attempt]}
    receipt.write_text(json.dumps(text))
    path = Path(store.manifest["store"], lock)
    path.parent.mkdir(parents=True)
    file = {"bytes": 12, "sha256": "ab" * 32}
    locked = {"dataset": "moving_mnist", "release": "digits", "source": "synthetic"}
    path.write_text(json.dumps({**locked, "files": {"digits.gz": file}}))
    ask = built(store)
    assert [step for (step,) in ask("SELECT step FROM lineage ORDER BY step")] == [1, 2, 3, 5]
    (row,) = ask("SELECT r.file, r.sha256 FROM lineage l JOIN raw_files r ON r.lock = l.raw_lock")
    assert row == ("digits.gz", "ab" * 32)
    assert ask("SELECT how, host, seconds FROM attempts") == [("killed", "node1", 15.0)]
    assert ask("SELECT train_seconds, train_host FROM cost") == [(90.0, "node1")]


def test_all_trained_models_of_a_cell_are_known(store: SmallStore) -> None:
    """One for each of three lead times, the last on another machine; persistence has none."""
    cell = store.add("convlstm", "moving_mnist", ssim(0.9), seed=1, further_leads=(2, 3))
    for number, folder in enumerate(cell["models"], start=1):
        receipt = Path(folder, "artefact.json")
        text = json.loads(receipt.read_text())
        text["files"] = {"model.pt": {"bytes": 10**number, "sha256": ""}}
        text["provenance"] |= {"host": "node2", "device": "H200"} if number == 3 else {}
        receipt.write_text(json.dumps(text))
    store.add("persistence", "moving_mnist", ssim(0.5))
    ask = built(store)
    assert ask("SELECT model, model_folders FROM cells ORDER BY model") == [
        ("convlstm", cell["models"]),
        ("persistence", []),
    ]
    found = ask("SELECT step, path FROM lineage WHERE model = 'convlstm' ORDER BY ALL")
    assert [step for step, _ in found] == [1, 2, 2, 2, 3, 5]
    assert {path for step, path in found if step == 2} == {
        "/".join(Path(folder).parts[-3:]) for folder in cell["models"]
    }
    assert ask(
        "SELECT model, train_seconds, train_host, train_device, model_bytes FROM cost ORDER BY 1"
    ) == [
        ("convlstm", 270.0, "node1, node2", "H200, cpu", 1110),
        ("persistence", None, None, None, 0),
    ]


def test_features_are_known_and_those_of_observed_clips_shared(store: SmallStore) -> None:
    """What a network saw of the test clips serves two cells; of a third nothing is kept."""
    observed, predicted = "moving_mnist/i3d.logits", "convlstm/i3d.logits"
    store.add("convlstm", "moving_mnist", ssim(0.9), features=(observed, predicted))
    store.add("climatology", "moving_mnist", ssim(0.7), features=(observed,))
    store.add("persistence", "moving_mnist", ssim(0.5))
    ask = built(store)
    folder = {path: f"{path}/f000000000000000" for path in (observed, predicted)}
    assert ask("SELECT model, path FROM lineage WHERE stage = 'features' ORDER BY ALL") == [
        ("climatology", folder[observed]),
        ("convlstm", folder[predicted]),
        ("convlstm", folder[observed]),
    ]
    assert ask("SELECT DISTINCT step FROM lineage WHERE stage = 'features'") == [(4,)]
    assert ask("SELECT model, features_seconds FROM cost ORDER BY model") == [
        ("climatology", 90.0),
        ("convlstm", 180.0),
        ("persistence", None),
    ]
    assert ask("SELECT count(*) FROM artefacts WHERE stage = 'features'") == [(2,)]


def test_coverage_counts_cells_and_names_what_has_no_value(store: SmallStore) -> None:
    for seed in (0, 1):
        store.add("convlstm", "moving_mnist", ssim(0.9), seed=seed)
    ask = built(store)
    columns = "cells, seeds, conventions, without_value, source"
    assert ask(f"SELECT {columns} FROM coverage") == [(2, 2, 1, ["lpips.alex"], "synthetic")]


def test_the_page_is_what_the_database_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == schema_page.page(), (
        "run: stp list store --page docs/results_store.md"
    )


def test_the_ten_questions_have_answers_and_every_sql_block_of_the_page_runs(
    store: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asks for KTH, nuScenes and TAU, which the store has."""
    columns = store.manifest["tables"]["short_term"]["columns"]
    shown = [table_column("SSIM", "ssim.range2"), table_column("LPIPS", "lpips.alex")]
    columns["nuscenes"] = columns["kth"] = shown
    store.add("persistence", "kth", ssim(0.5))
    store.add("convlstm", "kth", ssim(0.75), seed=1)
    store.add("tau", "nuscenes", ssim(0.9), seed=1)
    ask = built(store)
    blocks = re.findall(r"\*\*(.*?)\*\*.*?```sql\n(.*?)```", PAGE.read_text(), flags=re.S)
    wins, degrades, cost, comes_from, missing, *others = (ask(query) for _, query in blocks)
    assert len(others) == 5
    # LPIPS has no weights here; each of these has one cluster, so there is a rank and no interval.
    assert [row[:2] + row[4:6] for row in wins] == [
        ("ssim.range2", 1, "convlstm", 0.75),
        ("ssim.range2", 2, "persistence", 0.5),
    ]
    assert degrades == []  # a store of one dimension
    # Four artefacts of 90 s each.
    stages = ["model", "predictions", "prepare", "score"]
    assert [row[:4] for row in cost] == [("tau", stage, 1, 0.025) for stage in stages]
    assert [row[:3] for row in comes_from] == [
        (0.75, 1, "prepare"),
        (0.75, 2, "model"),
        (0.75, 3, "predictions"),
        (0.75, 5, "score"),
    ]
    assert [row[2:3] + row[5:] for row in missing] == [
        ("kth", "convlstm", 1, 0, [], ["lpips.alex"]),
        ("kth", "persistence", 1, 0, [], ["lpips.alex"]),
        ("nuscenes", "tau", 1, 0, [], ["lpips.alex"]),
    ]
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), flags=re.S)
    assert len(queries) == 12, "ten questions, COPY and EXPORT"
    monkeypatch.chdir(store.folder)
    for query in set(queries) - {query for _, query in blocks}:
        ask(query)
    copied = duckdb.sql("SELECT count(*) FROM 'overall.parquet'").fetchall()
    assert copied == ask("SELECT count(*) FROM overall")
    exported = {path.stem for path in (store.folder / "exported").glob("*.parquet")}
    assert exported >= {"cells", "score_kinds", "score_rows", "missing", "artefacts"}


def test_answers_have_a_row_for_each_variant_subset_and_setting(store: SmallStore) -> None:
    store.manifest["tables"]["short_term"]["columns"]["kth"] = [table_column("SSIM", "ssim.range2")]
    values: dict[tuple[str, ...], float] = {}
    for model, variant in product(("convlstm", "simvpv2"), ("default", "small")):
        for subset, more in (("test", ""), ("other", "+interval-1"), ("other", "+interval-3")):
            for horizon in ("horizon-10", "horizon-20"):
                place = (model, variant, subset, horizon + more)
                values[place] = 1 / (2 + len(values))
                for seed in (1, 2):
                    about = {"variant": variant, "subset": subset, "setting": horizon + more}
                    store.add(model, "kth", ssim(values[place]), seed=seed, **about)
    ask = built(store)
    wins, degrades = (ask(question.sql) for question in QUESTIONS[:2])
    assert (len(wins), len(degrades)) == (len(values), len(values) / 3)
    found = {(row[4], row[10], row[12], row[13]): row[5] for row in wins}
    assert found == pytest.approx(values)
    for model, _, _, _, base, value, decline, _, variant, setting, _ in degrades:
        before = values[model, variant, "other", setting.replace("interval-3", "interval-1")]
        after = values[model, variant, "other", setting]
        assert [base, value, decline] == pytest.approx([before, after, (before - after) / before])
