"""An edit while a job runs: its result is refused where the edit could have changed it."""

import re

import pytest
from fake_store import TINY
from package_copy import copy_package

from stp.core.errors import StpError
from stp.plan import config
from stp.plan.cells import Plan
from stp.run.source_changes import refuse_if_changed


@pytest.fixture
def begun(tmp_path) -> Plan:
    """The tiny plan as it was when a job began, of a copy of the package."""
    copy_package(tmp_path)
    return Plan(config.load(TINY), tmp_path)


def edit(plan: Plan, module: str) -> None:
    """Give a module of the plan's package another meaning."""
    path = plan.source.joinpath(*module.split(".")).with_suffix(".py")
    path.write_text(path.read_text() + "\nCHANGED = 1\n")


def artefact(plan: Plan, stage: str, model: str = "convlstm"):
    """The artefact of a stage, a model and Moving-MNIST."""
    return next(
        one
        for one in plan.artefacts.values()
        if one.work == f"{stage} {model}" and one.dataset == "moving_mnist"
    )


def test_code_that_is_as_it_was_is_published(begun):
    for one in begun.artefacts.values():
        refuse_if_changed(begun, one)


@pytest.mark.parametrize("module", ["stp.models.convlstm", "stp.train.run", "stp.data.prepared"])
def test_an_edit_of_its_own_code_is_refused_and_named(begun, module):
    assert module in artefact(begun, "train").code.modules
    edit(begun, module)
    with pytest.raises(StpError, match=rf"convlstm.*: {re.escape(module)}\n"):
        refuse_if_changed(begun, artefact(begun, "train"))


def test_a_module_that_is_reached_only_now_is_an_edit(begun):
    path = begun.source / "stp/models/convlstm.py"
    path.write_text(path.read_text() + "\nfrom stp.models import simvpv2\n")
    with pytest.raises(StpError, match=r"stp\.models\.convlstm, .*stp\.models\.simvpv2"):
        refuse_if_changed(begun, artefact(begun, "train"))


def test_an_edit_of_other_code_is_no_reason(begun):
    """Comments, another model, and what its data were prepared with."""
    path = begun.source / "stp/models/convlstm.py"
    path.write_text(path.read_text() + "\n# Longer.\n")
    edit(begun, "stp.models.simvpv2")
    edit(begun, "stp.datasets.moving_mnist.reader")
    refuse_if_changed(begun, artefact(begun, "train"))
    with pytest.raises(StpError, match=r"stp\.models\.simvpv2"):
        refuse_if_changed(begun, artefact(begun, "train", "simvpv2"))


def test_a_file_that_it_declares_to_read_counts(tmp_path):
    copy_package(tmp_path)
    table = tmp_path / "config" / "table.csv"
    table.parent.mkdir()
    table.write_text("1\n")
    known = config.load(TINY)
    declared = known.models["convlstm"].model_copy(update={"reads": ["config/table.csv"]})
    models = {**known.models, "convlstm": declared}
    begun = Plan(known.model_copy(update={"models": models}), tmp_path)
    refuse_if_changed(begun, artefact(begun, "train"))
    table.write_text("2\n")
    with pytest.raises(StpError, match="convlstm"):
        refuse_if_changed(begun, artefact(begun, "train"))
