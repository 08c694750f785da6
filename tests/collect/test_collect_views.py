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
import pytest
import small_store
from scipy.stats import spearmanr
from small_store import SmallStore, convention_facts, table_column
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


def test_a_value_stands_beside_its_interval(store: SmallStore) -> None:
    store.add("convlstm", "moving_mnist", ssim(0.9, low=0.8, high=0.95, leads=[0.95, 0.85]), seed=1)
    ask = built(store)
    columns = "value, ci95_low, ci95_high, n, clusters"
    (row,) = ask(f"SELECT {columns} FROM overall WHERE convention = 'ssim.range2'")
    assert row == (0.9, 0.8, 0.95, 200, 20)
    assert ask("SELECT lead, value FROM by_lead ORDER BY lead") == [(1, 0.95), (2, 0.85)]


def test_seeds_are_ranked_together_and_ties_share(store: SmallStore) -> None:
    for seed, value in enumerate((0.5, 1.0)):
        store.add("convlstm", "moving_mnist", ssim(value), seed=seed)
    store.add("persistence", "moving_mnist", ssim(0.75))
    store.add("climatology", "moving_mnist", ssim(0.95))
    store.add("simvpv2", "moving_mnist", ssim(None, reason="diverged"), seed=0)
    ask = built(store)
    found = ask(
        "SELECT model, rank, ranked, seeds, value, round(seed_sd, 4), best_model FROM leaderboard "
        "WHERE convention = 'ssim.range2' ORDER BY rank, model"
    )
    assert found == [
        ("climatology", 1, 3, 0, 0.95, None, "climatology"),
        ("convlstm", 2, 3, 2, 0.75, 0.3536, "climatology"),
        ("persistence", 2, 3, 0, 0.75, None, "climatology"),
        ("simvpv2", None, 3, 1, None, None, None),
    ]


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


def test_lower_and_nearer_to_a_value_can_be_better(store: SmallStore) -> None:
    known = store.manifest["conventions"]
    known["mse.pixel_sum"] = convention_facts(False)
    known["frequency_bias.mean"] = convention_facts(best_at=1.0)
    for model, error, bias in (("persistence", 3.0, 0.5), ("climatology", 1.0, 2.0)):
        values = {"mse.pixel_sum": {"mean": error}, "frequency_bias.mean": {"mean": bias}}
        store.add(model, "moving_mnist", {**ssim(0.5), **values})
    ask = built(store)
    best = dict(ask("SELECT convention, best_model FROM leaderboard WHERE rank = 1"))
    assert best["mse.pixel_sum"] == "climatology"
    assert best["frequency_bias.mean"] == "persistence", "0.5 is nearer to 1 than 2"


def test_made_up_and_official_bytes_are_never_ranked_together(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", ssim(0.7))
    store.add("climatology", "moving_mnist", ssim(0.8), official=True)
    ask = built(store)
    ranks = ask("SELECT source, rank, ranked FROM leaderboard WHERE convention = 'ssim.range2'")
    assert sorted(ranks) == [("official", 1, 1), ("synthetic", 1, 1)]


def test_the_best_of_many_forecasts_is_ranked_apart(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", ssim(0.7))
    store.add("climatology", "moving_mnist", ssim(0.8))
    store.add("mcvd", "moving_mnist", ssim(0.9), seed=0, best_of=10)
    ask = built(store)
    of_ssim = "WHERE convention = 'ssim.range2'"
    found = ask(f"SELECT model, best_of, rank, ranked FROM leaderboard {of_ssim} ORDER BY model")
    assert found == [("climatology", 1, 1, 2), ("mcvd", 10, 1, 1), ("persistence", 1, 2, 2)]
    assert ask(f"SELECT model, rank, models FROM ranks {of_ssim} ORDER BY model") == [
        ("climatology", 1, 2), ("mcvd", 1, 1), ("persistence", 2, 2),
    ]  # fmt: skip
    assert ask(f"SELECT model, other FROM comparisons {of_ssim}") == [
        ("climatology", "persistence")
    ]


def test_differences_to_printed_values_need_the_papers_bytes(store: SmallStore) -> None:
    store.add("convlstm", "moving_mnist", ssim(0.9300), seed=1, official=True)
    store.add("simvpv2", "moving_mnist", ssim(0.5), seed=1)
    ask = built(store)
    found = {model: rest for model, *rest in ask(
        "SELECT model, value, published, difference, why_none FROM deltas WHERE metric = 'SSIM'"
    )}  # fmt: skip
    assert found["convlstm"][:3] == [0.93, 0.929, pytest.approx(0.001)]
    assert found["simvpv2"][:3] == [0.5, 0.9404, None]
    assert found["simvpv2"][3].startswith("not comparable: synthetic data")


def test_how_much_of_a_ranking_is_convention(store: SmallStore) -> None:
    known = store.manifest["conventions"]
    known["ssim.range1"] = dict(known["ssim.range2"])
    values = {"persistence": (0.9, 0.5), "climatology": (0.8, 0.7), "context_mean": (0.7, 0.6)}
    for model, (first, second) in values.items():
        scores = {"ssim.range2": {"mean": first}, "ssim.range1": {"mean": second}}
        store.add(model, "moving_mnist", scores)
    ask = built(store)
    (row,) = ask(
        "SELECT convention, other, models, rank_correlation, largest_move, moved, another_wins, "
        "relative_difference FROM convention_effects"
    )
    ones, twos = zip(*((second, first) for first, second in values.values()), strict=True)
    assert row[:3] == ("ssim.range1", "ssim.range2", 3)
    assert row[3] == pytest.approx(spearmanr(ones, twos).statistic)
    assert row[4:7] == (2, 3, True)
    changes = sorted(abs(first - second) / second for first, second in values.values())
    assert row[7] == pytest.approx(changes[1])


def test_conventions_are_compared_over_the_models_that_both_rank(store: SmallStore) -> None:
    """A model without a value in one of them moves nobody; equal models share the mean place."""
    per_frame = {"persistence": None, "convlstm": 3.0, "simvpv2": 3.0, "tau": 3.0, "mau": 1.0}
    pooled = {"persistence": 9.0, "convlstm": 1.0, "simvpv2": 2.0, "tau": 3.0, "mau": 4.0}
    store.manifest["conventions"]["ssim.range1"] = convention_facts(True)
    for model, value in per_frame.items():
        scores = {"ssim.range1": {"mean": pooled[model]}, "ssim.range2": {"mean": value}}
        scores["ssim.range2"] |= {"reason": "not a number"} if value is None else {}
        store.add(model, "moving_mnist", scores)
    ask = built(store)
    (row,) = ask(
        "SELECT models, rank_correlation, largest_move, moved, best_model, other_best_model, "
        "another_wins FROM convention_effects"
    )
    ones, twos = (
        [of[model] for model in per_frame if model != "persistence"] for of in (pooled, per_frame)
    )
    assert row[0] == 4
    assert row[1] == pytest.approx(spearmanr(ones, twos).statistic)
    assert row[2:] == (3, 4, "mau", "convlstm", True)


def test_a_model_that_is_best_by_both_conventions_wins_by_both(store: SmallStore) -> None:
    """SimVPv2 shares the first place in one, and another is the first by name."""
    store.manifest["conventions"]["ssim.range1"] = convention_facts(True)
    for model, one, two in (("convlstm", 0.9, 0.5), ("simvpv2", 0.9, 0.8)):
        store.add(
            model, "moving_mnist", {"ssim.range1": {"mean": one}, "ssim.range2": {"mean": two}}
        )
    assert built(store)(
        "SELECT best_model, other_best_model, another_wins FROM convention_effects"
    ) == [("simvpv2", "simvpv2", False)]


def test_distances_of_sets_are_compared_at_equal_n(store: SmallStore) -> None:
    store.manifest["conventions"] |= {
        name: convention_facts(False, compares_sets=True) for name in ("fvd.a", "fvd.b")
    }
    clips = {"convlstm": 200, "simvpv2": 200, "tau": 100, "mau": 100}
    for place, (model, n) in enumerate(clips.items()):
        scores = {name: {"mean": float(place), "n": n} for name in ("fvd.a", "fvd.b")}
        store.add(model, "moving_mnist", ssim(0.9) | scores)
    assert built(store)(
        "SELECT set_size, models, best_model, rank_correlation FROM convention_effects ORDER BY ALL"
    ) == [(100, 2, "tau", 1.0), (200, 2, "convlstm", 1.0)]


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


def test_every_sql_block_of_the_page_runs(
    store: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("convlstm", "moving_mnist", ssim(0.9), seed=1)
    ask = built(store)
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), flags=re.S)
    assert len(queries) == 12, "ten questions, COPY and EXPORT"
    monkeypatch.chdir(store.folder)
    for query in queries:
        ask(query)
    copied = duckdb.sql("SELECT count(*) FROM 'overall.parquet'").fetchall()
    assert copied == ask("SELECT count(*) FROM overall")
    exported = {path.stem for path in (store.folder / "exported").glob("*.parquet")}
    assert exported >= {"cells", "score_kinds", "score_rows", "missing", "artefacts"}


def test_the_ten_questions_have_answers(store: SmallStore) -> None:
    """The page asks for KTH, nuScenes and TAU; here these words stand for what the store has."""
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


def test_the_verb_explains_a_table(store: SmallStore) -> None:
    store.add("convlstm", "moving_mnist", ssim(0.9), seed=1)
    built(store)
    database = ["--database", str(store.folder / "results.duckdb")]
    shown = CliRunner().invoke(app, ["list", "store", "leaderboard", *database])
    assert "rank" in shown.output and "best_model" in shown.output
    assert "leaderboard" in CliRunner().invoke(app, ["list", "store", *database]).output
    wrong = CliRunner().invoke(app, ["list", "store", "leaderbord", *database])
    assert wrong.exit_code != 0 and "did you mean leaderboard?" in str(wrong.exception)
