"""Counts of clips: from lists, from the store, and beside published numbers."""

import importlib

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.inspect.counts import count_clips, expected_counts, rows
from stp.inspect.report import describe
from stp.plan.cells import Plan
from stp.prepare.output import Clip
from stp.prepare.planned_counts import Planned

PAPER = {"scale": "paper", "dimensions": {}}


def by_split(plan, name):
    return {row.split: row for row in rows(plan, count_clips(plan, name))}


def test_counts_of_lists_beside_the_published_ones(make_plan, monkeypatch):
    clips = [Clip("test", str(i), i, 1, 20, "v") for i in range(4047)]
    promised = Planned(clips, {"val": 1628, "strict": 5}, {"hard": "its list was never released"})
    monkeypatch.setattr("stp.datasets.kth.reader.count", lambda recipe, raw: promised)
    found = by_split(make_plan(), "kth")
    assert list(found) == ["train", "val", "test", "strict", "hard"]
    assert (found["test"].counted, found["test"].published, found["test"].difference) == (
        *(4047, 4047),
        0,
    )
    assert found["train"].counted is None and found["train"].published == 7482
    assert found["train"].difference is None and not found["train"].unexplained
    assert found["hard"].note == "its list was never released"
    assert found["train"].note, "the explanation of the configuration"
    assert (found["strict"].counted, found["strict"].published) == (5, None)
    assert found["test"].source == "official"


def test_a_difference_without_an_explanation_is_marked(make_plan, monkeypatch):
    promised = Planned(numbers={"train": 10000, "val": 9999, "test": 10000})
    monkeypatch.setattr("stp.datasets.moving_mnist.reader.count", lambda recipe, raw: promised)
    found = by_split(make_plan(), "moving_mnist")
    assert found["val"].unexplained
    assert found["val"].difference == -1
    assert "moving_mnist.yaml" in found["val"].note and "10,000" in found["val"].note
    assert not found["test"].unexplained and not found["test"].note
    assert found["train"].published is None and found["train"].note


def test_an_explained_difference_says_why(make_plan, monkeypatch):
    promised = Planned(numbers={"train": 7381, "val": 1801, "test": 4043})
    monkeypatch.setattr("stp.datasets.kth.reader.count", lambda recipe, raw: promised)
    found = by_split(make_plan(), "kth")
    assert found["val"].difference == 173 and not found["val"].unexplained
    assert "1,628" in found["val"].note


def test_a_dataset_for_tests_only_has_no_other_splits(make_plan, monkeypatch):
    monkeypatch.setattr(
        "stp.datasets.kth.reader.count", lambda recipe, raw: Planned(numbers={"test": 7})
    )
    plan = make_plan(datasets={"kth": {"counts": {"train": None, "val": None, "test": 7}}})
    assert list(by_split(plan, "kth")) == ["test"]


def test_a_list_that_is_not_there_is_named(make_plan, tmp_path):
    row = by_split(make_plan(), "kth")["test"]
    assert row.counted is None and row.published == 4047
    assert "kth/00sequences.txt" in row.note and "stp fetch" in row.note


def test_a_reader_that_does_not_exist_or_cannot_count(make_plan, monkeypatch):
    plan = make_plan(datasets={"kth": {"reader": "nowhere"}})
    with pytest.raises(StpError, match="nowhere"):
        expected_counts(plan, "kth")
    assert "nowhere" in by_split(plan, "kth")["test"].note
    monkeypatch.delattr("stp.datasets.moving_mnist.reader.count")
    with pytest.raises(StpError, match="`count`"):
        expected_counts(plan, "moving_mnist")


def test_an_import_that_fails_inside_a_reader_is_not_hidden(make_plan, monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'zstd'", name="zstd")

    plan = make_plan()
    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="zstd"):
        expected_counts(plan, "kth")


def test_another_scale_is_not_compared_with_the_paper(make_plan):
    plan = make_plan(datasets={"moving_mnist": {"release": "synthetic"}})
    found = by_split(plan, "moving_mnist")
    assert found["test"].counted == 10000 and found["test"].source == "synthetic"
    assert all(row.published is None and row.difference is None for row in found.values())


def test_prepared_data_are_counted_in_their_index(make_plan, publish):
    plan = make_plan(datasets={"kth": {"release": "synthetic"}})
    publish(plan, "kth")
    found = by_split(plan, "kth")
    assert {split: row.prepared for split, row in found.items()} == {
        **{"train": 2, "val": 1, "test": 2},
        "strict": 1,
    }
    assert found["test"].counted is None and found["test"].ours == 2
    assert not found["test"].note, "why lists are missing does not matter any more"


def test_virtual_clips_of_prepared_data(make_plan, publish):
    plan = make_plan(datasets={"moving_mnist": {"release": "synthetic"}})
    options = {"renderer": "moving_digits", "array": "frames", "clips_per_epoch": 77, "seed": 1}
    publish(plan, "moving_mnist", virtual={"train": options})
    assert by_split(plan, "moving_mnist")["train"].prepared == 77


def test_damaged_prepared_data_are_an_error(make_plan, publish):
    plan = make_plan()
    folder = publish(plan, "kth")
    index = folder / "index.parquet"
    index.write_bytes(b"x" * index.stat().st_size)
    with pytest.raises(StpError, match=r"index\.parquet"):
        count_clips(plan, "kth")


def test_moving_mnist_without_a_number_of_test_clips(make_plan, tmp_path):
    plan = make_plan(datasets={"moving_mnist": {"prepare": {"clips": {"test": None}}}})
    found = by_split(plan, "moving_mnist")
    assert found["test"].counted is None and "mnist_test_seq.npy" in found["test"].note
    assert found["val"].counted == 10000
    published = tmp_path / "raw" / "mnist" / "mnist_test_seq.npy"
    published.parent.mkdir(parents=True)
    np.save(published, np.zeros((20, 3, 64, 64), np.uint8))
    assert by_split(plan, "moving_mnist")["test"].counted == 3


@pytest.mark.sample_bytes
@pytest.mark.long(part="kinds")
def test_every_difference_of_the_paper_is_explained(raw_mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.setenv("STP_RAW_MIRROR", str(raw_mirror))
    plan = Plan.load(PAPER)
    counts, _ = describe(plan, [], leakage=False)
    assert {row.dataset for row in counts} == set(plan.config.datasets)
    known = {(row.dataset, row.split): row.counted for row in counts}
    assert known["kth", "train"] == 7381 and known["moving_mnist", "test"] == 10000
    assert [f"{row.dataset} {row.split}" for row in counts if row.unexplained] == []
    # The configuration's counts, which estimates and the docs use, are those of the readers.
    stale = [f"{row.dataset} {row.split}: {row.note}" for row in counts if ".yaml says" in row.note]
    assert stale == []
    # A split without a number says why.
    assert all(row.note for row in counts if row.counted is None)


@pytest.mark.sample_bytes
@pytest.mark.parametrize(
    ("name", "clips", "clusters"),
    [("human36m", (8235, 8582), None), ("bridge", None, (3335, 3500))],
)
def test_the_known_leakage_is_found(name, clips, clusters, raw_mirror, tmp_path, monkeypatch):
    """Measured on the published lists by other means.

    BridgeData's lists have 3,336 of 3,501 trajectories in common; one of them has fewer frames than
    a clip.
    """
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_MIRROR", str(raw_mirror))
    plan = Plan.load(PAPER)
    _, leaks = describe(plan, [name], leakage=True)
    found = {(one.split, one.against): one for one in leaks[name].shared}
    test = found["test", "train"]
    if clips:
        assert (test.overlapping, test.clips) == clips
    if clusters:
        assert (test.shared_clusters, test.clusters) == clusters
    strict = [one for (split, _), one in found.items() if split == "strict"]
    assert strict and all(one.clips and one.same_cluster == 0 for one in strict)
