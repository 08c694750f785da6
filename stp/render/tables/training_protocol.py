"""How every model is trained on every dataset, beside appendix D of PredBench and its release."""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.page.commands import table_command
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan import config as configuration
from stp.plan.config import Config
from stp.plan.enumeration import enumerate_cells
from stp.plan.recipes import Recipes
from stp.plan.strict import CONFIG_FOLDER, Json

FILE = CONFIG_FOLDER / "published" / "training_protocol.csv"
SCHEDULES = {
    "OneCycle": "onecycle",
    "OneCycleLR": "onecycle",
    "Cosine": "cosine",
    "constant": "constant",
    "none": "constant",
    "LinearWarmup": "linear_warmup",
    "LinearLR": "linear_warmup",
}
TERMS = {"l1_weight": "L1", "moment_weight": "CM", "decouple_beta": "DC", "change_weight": "DDR"}
"""Options of models that weigh a term beside the squared error, as appendix D calls the terms."""


def _loss(recipe: Json) -> str:
    """Write a loss as terms with weights: ``L2 + 0.1 DDR``."""
    if recipe["train"].get("loss"):
        return str(recipe["train"]["loss"])
    weights = {name: float(recipe["options"].get(key, 0)) for key, name in TERMS.items()}
    return _terms({name: weight for name, weight in weights.items() if weight})


def _terms(weights: Mapping[str, float]) -> str:
    terms = [name if weight == 1 else f"{weight:g} {name}" for name, weight in weights.items()]
    return " + ".join(["L2", *terms])


def _printed_loss(row: dict[str, str]) -> str:
    names = row["loss"].split("+")[1:]
    return _terms(dict.fromkeys(names, float(row["loss_weight"] or 1)))


def _schedule(recipe: Json) -> str:
    chosen = recipe["train"].get("schedule", "onecycle")
    return chosen if isinstance(chosen, str) else str(next(iter(chosen)))


def _setting(key: str) -> Callable[[Json], str]:
    return lambda recipe: _text(recipe["train"].get(key))


def _text(value: Any) -> str:
    """Write numbers alike, whoever wrote them: ``1e-05``, ``500000``; what is not set is none."""
    if value in (None, ""):
        return "none"
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value).lower()
    return f"{int(number)}" if number.is_integer() else f"{number:g}"


@dataclass(frozen=True)
class Setting:
    """One setting of a training.

    Attributes:
        ours: from a recipe of training.
        published: from a row of the published file.
        released: likewise, of the code that the authors released.
    """

    ours: Callable[[Json], str]
    published: Callable[[dict[str, str]], str]
    released: Callable[[dict[str, str]], str]


SETTINGS = {
    "batch size": Setting(
        _setting("batch_size"),
        lambda row: _text(row["batch_size"]),
        lambda row: _text(row["repo_base_batch"]),
    ),
    "learning rate": Setting(
        _setting("lr"), lambda row: _text(row["lr"]), lambda row: _text(row["repo_lr"])
    ),
    "optimizer": Setting(
        _setting("optimizer"),
        lambda row: _text(row["optimizer"]),
        lambda row: _text(row["repo_optimizer"]),
    ),
    "schedule": Setting(
        _schedule,
        lambda row: SCHEDULES[row["schedule"]],
        lambda row: SCHEDULES[row["repo_schedule"]],
    ),
    "epochs": Setting(
        _setting("epochs"), lambda row: _text(row["epochs"]), lambda row: _text(row["repo_epochs"])
    ),
    "iterations": Setting(
        _setting("iterations"),
        lambda row: _text(row["iterations"]),
        lambda row: _text(row["repo_iters"]),
    ),
    "loss": Setting(_loss, _printed_loss, lambda row: row["repo_loss"]),
    "weight decay": Setting(
        _setting("weight_decay"),
        lambda row: _text(row["weight_decay"]),
        lambda row: _text(row["repo_weight_decay"]),
    ),
    "clip norm": Setting(
        _setting("clip_norm"),
        lambda row: _text(row["clip_norm"]),
        lambda row: _text(row["repo_clip"]),
    ),
    "precision": Setting(
        _setting("precision"),
        lambda row: _text(row["dtype"]),
        lambda row: _text(row["repo_dtype"]).replace("bfloat", "bf"),
    ),
}
_NO_LENGTH = (("epochs", "none"), ("iterations", "none"))
HEADER = (
    "model", "dataset", "setting", "ours", "published", "differs", "released", "scale", "at scale",
)  # fmt: skip


@dataclass(frozen=True)
class Training:
    """How one model is trained on one dataset: texts by setting.

    Attributes:
        model, dataset: titles.
        ours: under config/paper.yaml.
        published: in appendix D.
        released: in the configurations of the released code.
        released_otherwise: what the release has otherwise than the paper, in words.
        at_scale: at the scale at hand; None if nothing of it is trained there.
    """

    model: str
    dataset: str
    ours: dict[str, str]
    published: dict[str, str]
    released: dict[str, str]
    released_otherwise: str
    at_scale: dict[str, str] | None

    @property
    def differs(self) -> list[str]:
        """Settings that ours has otherwise than the paper."""
        return [name for name in SETTINGS if self.ours[name] != self.published[name]]

    @property
    def changed(self) -> dict[str, str]:
        """What the scale at hand has otherwise than config/paper.yaml."""
        scale = self.at_scale or {}
        return {
            name: text
            for name, text in scale.items()
            # Who counts iterations has no epochs, and the other way round.
            if text != self.ours[name] and (name, text) not in _NO_LENGTH
        }


def trainings(config: Config, file: Path = FILE) -> list[Training]:
    """Compare all trainings of appendix D, in its order: models, then datasets.

    Args:
        config: of the scale at hand.
        file: the published settings.

    Raises:
        StpError: a row names a model or dataset that is not known, or has an unknown value.
    """
    paper = configuration.load(CONFIG_FOLDER / "paper.yaml")
    papers, scale = Recipes(paper), Recipes(config)
    models = {
        model.published_name or model.title: name
        for name, model in paper.models.items()
        if model.fit != "external"  # it may be called like a model of the paper
    }
    datasets = {dataset.published_name: name for name, dataset in paper.datasets.items()}
    trained = {(cell.model, cell.trained_on) for cell, _ in enumerate_cells(config)}
    found = []
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            try:
                model, dataset = models[row["model"]], datasets[row["dataset"]]
                published = {name: one.published(row) for name, one in SETTINGS.items()}
                released = {name: one.released(row) for name, one in SETTINGS.items()}
            except (KeyError, ValueError) as error:
                raise StpError(
                    f"{file}: a row of {row.get('model')!r} on {row.get('dataset')!r}: {error}",
                    expected="published names of models and datasets, known schedules, numbers",
                    remedy="mend the file",
                ) from None
            recipe = papers.train(model, dataset, None)
            here = scale.train(model, dataset, None) if (model, dataset) in trained else None
            found.append(
                Training(
                    paper.models[model].title,
                    paper.datasets[dataset].title,
                    {name: one.ours(recipe) for name, one in SETTINGS.items()},
                    published,
                    released,
                    row["paper_vs_repo_diff"],
                    here and {name: one.ours(here) for name, one in SETTINGS.items()},
                )
            )
    return found


def write(config: Config, out: Path) -> list[Training]:
    """Write the table as ``<name>.csv`` (a row per setting), ``.md``, ``.tex`` and ``.html``.

    Raises:
        StpError: the published settings cannot be read, or the disk refuses.
    """
    found = trainings(config)
    scale = config.scale.scale
    write_all({out: _csv(found, scale), **texts(_grid(found, scale, out.stem), out.parent)})
    return found


def _csv(found: list[Training], scale: str) -> str:
    lines: list[list[Any]] = [list(HEADER)]
    for one in found:
        for name in SETTINGS:
            differs = "yes" if name in one.differs else "no"
            both = [one.ours[name], one.published[name], differs, one.released[name]]
            here = one.at_scale[name] if one.at_scale else ""
            lines.append([one.model, one.dataset, name, *both, scale, here])
    return csv_text(lines)


def _grid(found: list[Training], scale: str, name: str) -> Grid:
    differing = [one for one in found if one.differs]
    is_paper = not any(one.changed for one in found)
    sections = [
        _section([one for one in found if one.model == model], scale, is_paper)
        for model in dict.fromkeys(one.model for one in found)
    ]
    return Grid(
        name=name,
        title="Training protocol of all models on all datasets",
        intro=[
            "As config/paper.yaml trains them, compared setting by setting with appendix D of the "
            f"PredBench paper: {len(found)} trainings, {len(found) - len(differing)} as printed, "
            f"{len(differing)} otherwise.",
            "Where the paper and its release differ, ours is the paper's. Schedules have the "
            "details of the released configurations, since the paper prints their names only; "
            "`config/models` has them.",
            *([] if is_paper else [_about_scale(found, scale)]),
        ],
        sections=sections,
        warnings=[]
        if not differing
        else ["Not as printed: " + ", ".join(f"{one.model} on {one.dataset}" for one in differing)],
        legend=[
            *(["≠: not as the paper prints it, in parentheses"] if differing else []),
            "loss: L2 is the mean squared error, L1 the mean absolute one, CM the moments of "
            "PhyDNet's filters, DC the decoupling of PredRNNv2, DDR TAU's differential divergence; "
            "of MCVD, L2 is that of the noise",
            "released otherwise: printed value vs that of the released configuration (batch sizes "
            "there are per GPU or those that learning rates are meant for)",
            "The table of TAU is printed with its columns in another order than its header; it is "
            "read in the order in which it equals that of SimVPv2.",
        ],
        made_from=f"Made by `{table_command(scale, name)}` from "
        "`config/` and `config/published/training_protocol.csv`.",
    )


def _about_scale(found: list[Training], scale: str) -> str:
    here = sum(one.at_scale is not None for one in found)
    return (
        f"The scale {scale} trains {here} of them, and otherwise than the paper: its last column "
        "says how. Its numbers are not the paper's."
    )


def _section(found: list[Training], scale: str, is_paper: bool) -> Section:
    columns = ["batch size", "learning rate", "optimizer", "schedule", "trained for", "loss"]
    columns += ["weight decay", "clip norm", "precision"]
    others = ["released otherwise", *([] if is_paper else [f"at scale {scale}"])]
    rows: list[list[str | Item]] = []
    for one in found:
        row: list[str | Item] = [one.dataset, *(_item(one, name) for name in columns)]
        row.append(one.released_otherwise)
        if not is_paper:
            changes = ", ".join(f"{name} {text}" for name, text in one.changed.items())
            row.append(changes or ("as the paper" if one.at_scale else "–"))
        rows.append(row)
    numeric = [name in ("batch size", "learning rate", "weight decay") for name in columns]
    return Section(
        title=found[0].model,
        columns=["dataset", *columns, *others],
        rows=rows,
        numeric=[False, *numeric, *(False for _ in others)],
    )


def _item(one: Training, name: str) -> Item:
    if name == "trained for":
        name = "epochs" if one.ours["epochs"] != "none" else "iterations"
        differs = any(key in one.differs for key in ("epochs", "iterations"))
        return _marked(f"{int(one.ours[name]):,} {name}", _length(one.published), differs)
    return _marked(one.ours[name], one.published[name], name in one.differs)


def _length(settings: dict[str, str]) -> str:
    name = "epochs" if settings["epochs"] != "none" else "iterations"
    return f"{settings[name]} {name}"


def _marked(ours: str, published: str, differs: bool) -> Item:
    return Item(ours, mark="≠", aside=published) if differs else Item(ours)
