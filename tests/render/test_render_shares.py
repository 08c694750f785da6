"""Headings and notes say whose bytes, under which protocol, and of which share of the cells."""

from dataclasses import replace

from stp.page.data_origin import count_kinds
from stp.page.figure_style import origin_note
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import StoredCell

KEY = ("predbench", "short_term", "convlstm", "default", "kth", "all", "kth", "test", "horizon-1")
OURS = StoredCell(
    key=CellKey(*KEY, None),
    kind="frames",
    source="synthetic",
    release="digits",
    protocol="demo",
    leaky=False,
    best_of=1,
    data="",
    models=(),
    predictions=None,
    scores="",
)
THEIRS = replace(
    OURS, source="official", protocol="paper", official_paper_protocol=True, comparable=True
)
DEMO = "synthetic data, demo protocol: not comparable with published values"


def test_one_kind_is_said_without_numbers():
    assert count_kinds(["a", "a"], "cells") == "a"
    assert count_kinds([], "cells") == ""
    assert origin_note([OURS, OURS]) == DEMO


def test_of_several_kinds_each_has_its_share_most_first():
    assert (
        count_kinds(["b", "a", "c", "c"], "rows")
        == "2 of 4 rows: c; 1 of 4 rows: a; 1 of 4 rows: b"
    )
    assert origin_note([THEIRS, OURS, OURS]) == (
        f"2 of 3 cells: {DEMO}; 1 of 3 cells: official data, paper protocol"
    )


def test_sampled_files_behind_the_paper_are_not_called_incomparable():
    sample = replace(THEIRS, source="sample", official_paper_protocol=False)
    by_counts = replace(THEIRS, bytes_known_by="counts", lacking="INCOMPLETE RELEASE")
    assert origin_note([by_counts]) == (
        "official data, known by counts, paper protocol, incomplete release"
    )
    assert origin_note([sample]) == (
        "sample data, paper protocol: the very files that the paper's numbers were made from"
    )
