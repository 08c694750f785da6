"""Cells as a scale file declares them: one evaluation of some models, or a grid of many."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from stp.core.errors import StpError
from stp.plan.checked_config import Strict
from stp.plan.setting import setting_name


def _listed(value: Any) -> Any:
    """One value is a list of one."""
    return value if isinstance(value, list | tuple) else (value,)


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_listed, json_schema_input_type=str | tuple[str, ...]),
    Field(min_length=1),
]
"""One name, or several."""
Number = Annotated[int, Field(ge=1)]
FromTwo = Annotated[int, Field(ge=2)]
Numbers = Annotated[
    tuple[Number | None, ...],
    BeforeValidator(_listed, json_schema_input_type=Number | None | tuple[Number | None, ...]),
    Field(min_length=1),
]
"""One number from 1, or several; null: it is not set."""


class Settings(Strict):
    """What else distinguishes evaluations: for each key one value, or a list of values.

    Attributes:
        horizon: number of frames to predict; that of the tested dataset unless set.
        interval: frames between consecutive frames, in those of the training.
        update: of models that are trained with `snapshots`: the number of updates after which the
            weights were kept that forecast; the best ones of the validation unless set.
        intensity: of distortions: which of their intensities, from 1.
        observe: of tracks: observed positions; those of the tested dataset unless set.
        noise: of tracks: standard deviation of noise on observed positions, in millimetres.
        people: of tracks: people that a scenario has at least.
        components: of opinions: principal components that a regression has at most.
        training: of opinions: per cent of all videos that are learnt from; all training videos
            unless set.
    """

    horizon: Numbers = (None,)
    interval: Numbers = (None,)
    update: Numbers = (None,)
    intensity: Numbers = (None,)
    observe: Annotated[
        tuple[FromTwo | None, ...],
        BeforeValidator(
            _listed, json_schema_input_type=FromTwo | None | tuple[FromTwo | None, ...]
        ),
        Field(min_length=1),
    ] = (None,)
    noise: Numbers = (None,)
    people: Numbers = (None,)
    components: Numbers = (None,)
    training: Numbers = (None,)

    def combinations(self) -> Iterator[dict[str, int]]:
        """The product of all lists; what is not set is left out."""
        values = self.__dict__
        for chosen in product(*values.values()):
            pairs = zip(values, chosen, strict=True)
            yield {key: value for key, value in pairs if value is not None}


@dataclass(frozen=True)
class Case:
    """One evaluation of trained models.

    Attributes:
        trained_on: the dataset of training.
        tested_on: the dataset of the test.
        train_subset: all training clips, or a training subset that the dataset declares.
        subset: the test split, or a subset that the tested dataset declares.
        variant: of the models; see `stp.plan.model.Variant`.
        setting: what else distinguishes it: name -> value.
        models: that are evaluated.
        keep: store this many forecasts (0: none), for pictures, and score all while they are made:
            for those that are too large to be stored. Names of clips: those of these clips. None:
            all are stored first. Scores are the same.
    """

    trained_on: str
    tested_on: str
    train_subset: str
    subset: str
    variant: str
    setting: dict[str, int]
    models: tuple[str, ...]
    keep: int | tuple[str, ...] | None = None

    def __str__(self) -> str:
        tested = f"{self.trained_on} -> {self.tested_on}, {self.subset}"
        return f"{tested}, {setting_name(self.setting)}" if self.setting else tested


class Combinations(Strict):
    """Combinations of a grid that are left out: those that match every key that is set here.

    Attributes:
        trained_on, tested_on, train_subset, subset, variant: one value, or any of several.
        setting: of each key likewise; null matches where it is not set.
        models: only these are left out of them; all unless set.
    """

    trained_on: Names | None = None
    tested_on: Names | None = None
    train_subset: Names | None = None
    subset: Names | None = None
    variant: Names | None = None
    setting: Settings = Settings()
    models: Names | None = None

    def matches(self, case: Case) -> bool:
        """Is a case among them, for some of its models?"""
        names = ("trained_on", "tested_on", "train_subset", "subset", "variant")
        wanted = {name: getattr(self, name) for name in names}
        if any(values and getattr(case, name) not in values for name, values in wanted.items()):
            return False
        of_setting = {key: getattr(self.setting, key) for key in self.setting.model_fields_set}
        if any(case.setting.get(key) not in values for key, values in of_setting.items()):
            return False
        return self.models is None or bool(set(self.models) & set(case.models))

    def out_of(self, case: Case) -> tuple[str, ...]:
        """The models of a case that are not left out."""
        if not self.matches(case):
            return case.models
        return tuple(name for name in case.models if self.models and name not in self.models)


class Grid(Strict):
    """Evaluations of trained models: the product of everything that is a list.

    Attributes:
        trained_on, train_subset, subset, variant, keep: as of a `Case`; all but the last may be
            lists.
        tested_on: likewise; the dataset of the training unless set.
        setting: what else distinguishes evaluations; each part may be a list.
        models: of those of the dimension, if not all of them.
        without: combinations that are left out.
    """

    trained_on: Names
    train_subset: Names = ("all",)
    tested_on: Names | None = None
    subset: Names = ("test",)
    setting: Settings = Settings()
    variant: Names = ("default",)
    models: tuple[str, ...] = ()
    keep: Annotated[int, Field(ge=0)] | Names | None = None
    without: tuple[Combinations, ...] = ()

    def cases(self, models: tuple[str, ...], where: str) -> list[Case]:
        """All evaluations, in the order of the lists: those of a subset together.

        Args:
            models: those of the dimension.
            where: the entry stands, for errors.

        Raises:
            StpError: something is left out that is not there, or nothing is left.
        """
        found = [
            Case(trained, tested, train_subset, subset, variant, setting, self.models or models,
                 self.keep)
            for subset, train_subset, variant, trained in product(
                self.subset, self.train_subset, self.variant, self.trained_on
            )
            for tested in self.tested_on or (trained,)
            for setting in self.setting.combinations()
        ]  # fmt: skip
        for number, out in enumerate(self.without):
            if not any(out.matches(case) for case in found):
                raise StpError(
                    f"{where}.without.{number} matches no combination of its grid",
                    expected=f"some of {_some(found)}",
                    remedy="correct it, or take it out",
                )
            found = [case for case in _narrowed(found, out) if case.models]
        if not found:
            raise StpError(
                f"{where}: `without` leaves no combination of the grid",
                expected="at least one evaluation",
                remedy="take the entry out, or leave out less",
            )
        return found


def _narrowed(cases: Iterable[Case], out: Combinations) -> Iterator[Case]:
    for case in cases:
        yield Case(**{**vars(case), "models": out.out_of(case)})


def _some(cases: list[Case]) -> str:
    """The first few as text."""
    shown = "; ".join(map(str, cases[:3]))
    return shown if len(cases) <= 3 else f"{shown}; ... ({len(cases)} in all)"
