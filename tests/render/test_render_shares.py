"""Headings and notes say whose bytes, under which protocol, and of which share of the cells."""

from stp.page.figure_style import whose
from stp.page.shares import shares

OURS = {"source": "synthetic", "protocol": "demo", "leaky": False}
OURS |= {"bytes_known_by": None, "lacking": None}
OURS |= {"official_paper_protocol": False, "comparable": False}
THEIRS = {**OURS, "source": "official", "protocol": "paper"}
THEIRS |= {"official_paper_protocol": True, "comparable": True}
DEMO = "synthetic bytes, demo protocol: not comparable with published values"


def test_one_kind_is_said_without_numbers():
    assert shares(["a", "a"], "cells") == "a"
    assert shares([], "cells") == ""
    assert whose([OURS, OURS]) == DEMO


def test_of_several_kinds_each_has_its_share_most_first():
    assert shares(["b", "a", "c", "c"], "rows") == "2 of 4 rows: c; 1 of 4 rows: a; 1 of 4 rows: b"
    assert whose([THEIRS, OURS, OURS]) == (
        f"2 of 3 cells: {DEMO}; 1 of 3 cells: official bytes, paper protocol"
    )


def test_sampled_files_behind_the_paper_are_not_called_incomparable():
    sample = {**THEIRS, "source": "sample", "official_paper_protocol": False}
    by_counts = {**THEIRS, "bytes_known_by": "counts", "lacking": "INCOMPLETE RELEASE"}
    assert whose([by_counts]) == (
        "official bytes, known by counts, paper protocol, incomplete release"
    )
    assert whose([sample]) == (
        "sample bytes, paper protocol: the very files that the paper's numbers were made from"
    )
