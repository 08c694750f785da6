"""People through the same workflow: calibrated, released, predicted, scored, in a table."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from checkout import Checkout

from stp.tracks import generators

pytestmark = pytest.mark.slow
TABLE = "results/tables/atlas_transfer.csv"
CONFIG = "tests/workflow/tiny_atlas.yaml"
LAST = Counter(["collect_atlas_transfer", "render_atlas_transfer"])


def write_hall(raw: Path) -> None:
    """Groups meet in a hall, again and again, and one person comes late each time."""
    raw.mkdir(parents=True, exist_ok=True)
    lines = []
    for turn in range(6):
        met = generators.groups_meeting(size=2, speed=1.0 + 0.1 * turn).decimated(4)
        noise = np.random.default_rng(turn).normal(0, 0.02, met.position.shape)
        for frame, person, (x, y) in zip(met.frame, met.person, met.position + noise, strict=True):
            if person == 4 and turn % 2 and frame < 24:
                continue
            number, when = 10 * turn + int(person), 1000 * turn + int(frame / 4) * 10
            lines.append(json.dumps({"track": {"f": when, "p": number, "x": x, "y": y}}))
    (raw / "hall.ndjson").write_text("\n".join(lines) + "\n")
    (raw / "pillars.txt").write_text("7 3 0.5\n7 -3 0.5\n")


class People(Checkout):
    """A checkout with a hall."""

    def snakemake(self, *options: str, config: str = CONFIG, targets=(), **environment: str):  # type: ignore[no-untyped-def]
        return super().snakemake(
            *options, config=config, targets=targets or (TABLE,), STP_RAW_MIRROR="", **environment
        )

    def rows(self) -> list[dict[str, str]]:
        return csv_rows(self.folder / TABLE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> People:
    folder = tmp_path_factory.mktemp("people")
    write_hall(folder / "shared" / "raw")
    checkout = People.create(folder / "first", folder / "shared")
    checkout.make()
    return checkout


@pytest.fixture
def clone(finished, tmp_path) -> People:
    """A fresh clone next to the finished store."""
    return People.create(tmp_path / "clone", finished.shared)


def test_the_table(finished):
    lengths = ", observe 6, predict 8 (3.2 s)"
    rows = {(row["model"], row["dataset"]): row for row in finished.rows()}
    assert set(rows) == {
        ("Constant velocity", f"Hall, strict-relaxed{lengths}"),
        ("Karamouzas, calibrated on Hall", f"Hall, strict{lengths}"),
        ("Karamouzas, calibrated on ETH by the authors of Atlas", f"Hall, atlas-paper{lengths}"),
    }
    for row in rows.values():
        ade, fde = (
            float(row[f"{name}.by_scenario"]) for name in ("displacement", "final_displacement")
        )
        assert 0 < ade < fde < 1 and int(row["n"]) > 10
        assert (row["source"], row["comparable"]) == ("own", "NO")
    numbers = {row["dataset"].removesuffix(lengths): int(row["n"]) for row in rows.values()}
    # Somebody comes late, and the others are scored nevertheless.
    assert numbers["Hall, strict-relaxed"] > numbers["Hall, strict"]


def test_all_is_in_the_store(finished):
    kinds = Counter(path.partition("/")[0] for path in finished.receipts())
    assert kinds == {"data": 1, "models": 1, "predictions": 3, "scores": 3}
    (folder,) = (finished.store / "models").rglob("trials.parquet")
    found = json.loads((folder.parent / "parameters.json").read_text())
    assert 0.001 <= found["strength"] <= 30


def test_a_second_run_has_nothing_to_do(finished):
    before = finished.receipts()
    assert finished.planned() == Counter()
    assert finished.receipts() == before


@pytest.mark.long(part="reruns")
def test_an_edited_predictor_reaches_its_own_cells(clone):
    assert clone.planned() == LAST
    clone.edit("stp/tracks/predictors/karamouzas.py")
    mine = {"train karamouzas": 1, "predict_atlas_transfer karamouzas": 2}
    scored = {"score_atlas_transfer karamouzas": 2}
    assert clone.planned() == LAST + Counter(mine | scored)


@pytest.mark.long(part="kinds")
def test_the_leak_is_measured_from_the_store(finished):
    """What a protocol shows of the future, with the verb of docs/human_motion.md."""
    words = ("stp", "check", "leak", "hall", "--configfile", CONFIG)
    done = finished.run(*words, "--format", "json", STP_RAW_MIRROR="")
    found = json.loads(done.stdout[done.stdout.index("{") :])
    observed = {one["protocol"]: one["observed"] for one in found["leaks"]}
    assert observed == {
        "atlas-paper": pytest.approx(0.4), "strict": 0.0, "strict-relaxed": 0.0,
    }  # fmt: skip
    assert found["parameters"]["social_force"] == "default" and found["source"] == "own"
    assert "hall" in finished.run(*words, STP_RAW_MIRROR="").stdout


@pytest.mark.long(part="reruns")
def test_a_damaged_file_stops_with_one_message(tmp_path):
    checkout = People.create(tmp_path / "copy", tmp_path / "shared")
    write_hall(tmp_path / "shared" / "raw")
    path = tmp_path / "shared" / "raw" / "hall.ndjson"
    path.write_text(path.read_text().replace('"x":', '"ex":', 1))
    done = checkout.snakemake()
    assert done.returncode != 0
    (said,) = {line for line in done.stdout.splitlines() if "stp: error:" in line}
    assert "hall.ndjson" in said
    assert not checkout.receipts() and not (checkout.folder / TABLE).exists()
