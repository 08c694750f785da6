"""Expand grids of evaluations, which a scale file declares as lists of datasets and settings.

An evaluation is a test of several models: what they are trained and tested on, and in which
setting.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated

from pydantic import BeforeValidator, Field

from stp.core.errors import ConfigurationError
from stp.plan.checked_config import Strict
from stp.plan.setting import setting_name


def _as_list(value: object) -> list[object] | tuple[object, ...]:
    return value if isinstance(value, list | tuple) else (value,)


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_list, json_schema_input_type=str | tuple[str, ...]),
    Field(min_length=1),
]
"""One name, or a list of names."""
Number = Annotated[int, Field(ge=1)]
FromTwo = Annotated[int, Field(ge=2)]
Numbers = Annotated[
    tuple[Number | None, ...],
    BeforeValidator(_as_list, json_schema_input_type=Number | None | tuple[Number | None, ...]),
    Field(min_length=1),
]
"""One number from 1, or a list; null for an unset value."""


class Settings(Strict):
    """Settings of evaluations: for each key one value, or a list of values.

    Attributes:
        horizon: number of frames to predict; the horizon of the tested dataset unless set.
        interval: spacing of the frames of a clip, as a multiple of the spacing in training.
        update: for models that are trained with `snapshots`: number of the update whose weights are
            used; unless set, the weights with the best validation error are used.
        intensity: for distortions: index of the intensity, from 1.
        observe: for tracks: number of observed positions; the `context` of the tested dataset
            unless set.
        noise: for tracks: standard deviation of the noise on observed positions, in millimetres.
        people: for tracks: minimum number of people in a scenario.
        components: for opinions: maximum number of principal components of a regression.
        training: for opinions: percentage of all videos used for training; all training videos
            unless set.
    """

    horizon: Numbers = (None,)
    interval: Numbers = (None,)
    update: Numbers = (None,)
    intensity: Numbers = (None,)
    observe: Annotated[
        tuple[FromTwo | None, ...],
        BeforeValidator(
            _as_list, json_schema_input_type=FromTwo | None | tuple[FromTwo | None, ...]
        ),
        Field(min_length=1),
    ] = (None,)
    noise: Numbers = (None,)
    people: Numbers = (None,)
    components: Numbers = (None,)
    training: Numbers = (None,)

    def combinations(self) -> Iterator[dict[str, int]]:
        """Yield all combinations of the listed values, as mappings without unset keys."""
        values = self.__dict__
        for chosen in product(*values.values()):
            pairs = zip(values, chosen, strict=True)
            yield {key: value for key, value in pairs if value is not None}


@dataclass(frozen=True)
class Case:
    """One evaluation of several models: datasets, subsets of clips, variant and setting.

    Attributes:
        trained_on: dataset of the training.
        tested_on: dataset of the test.
        train_subset: ``all`` training clips, or the name of a training subset of the dataset.
        subset: ``test``, the test split, or the name of a subset of the tested dataset.
        variant: named set of options of the models, such as ``default`` or ``released``.
        setting: values of further settings, by name.
        models: names of the models that are evaluated.
        keep: which forecasts are stored for pictures, while all others are only scored: a number of
            forecasts, where 0 stores none; or the names of their clips. None stores all forecasts
            before they are scored, but none of those that are read from files (``fit: read``).
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
    """An entry of `without` in a grid: evaluations that the grid leaves out.

    An evaluation is left out if it has one of the listed values for each key that is set.

    Attributes:
        trained_on: dataset of the training, or a list of datasets; any dataset unless set.
        tested_on: dataset of the test, or a list of datasets; any dataset unless set.
        train_subset: ``all`` training clips, or the name of a training subset; may be a list; any
            unless set.
        subset: ``test``, the test split, or the name of a subset; may be a list; any unless set.
        variant: variant of the models; may be a list; any unless set.
        setting: for each key a value or a list of values; null stands for evaluations in which the
            key is unset. Keys that are not given may have any value.
        models: models for which these evaluations are left out; all unless set.
    """

    trained_on: Names | None = None
    tested_on: Names | None = None
    train_subset: Names | None = None
    subset: Names | None = None
    variant: Names | None = None
    setting: Settings = Settings()
    models: Names | None = None

    def leaves_out(self, case: Case) -> bool:
        """Whether this entry leaves out an evaluation, for all or some of its models.

        The entry ``{tested_on: kth, models: [unet, fno]}``, for example, leaves out evaluations on
        ``kth`` of which ``unet`` or ``fno`` is a model. It leaves out none on other datasets.

        Args:
            case: an evaluation of several models.

        Returns:
            True if the evaluation has one of the values of each key of the entry, and the entry has
            no `models`, or has at least one model of the evaluation.
        """
        names = ("trained_on", "tested_on", "train_subset", "subset", "variant")
        chosen = {name: getattr(self, name) for name in names}
        if any(values and getattr(case, name) not in values for name, values in chosen.items()):
            return False
        of_setting = {key: getattr(self.setting, key) for key in self.setting.model_fields_set}
        if any(case.setting.get(key) not in values for key, values in of_setting.items()):
            return False
        return self.models is None or bool(set(self.models) & set(case.models))

    def models_left(self, case: Case) -> tuple[str, ...]:
        """List the models of an evaluation that remain after this entry.

        Of an evaluation of ``simvpv2``, ``unet`` and ``fno`` on ``kth``, for example, the entry
        ``{tested_on: kth, models: [unet, fno]}`` leaves ``simvpv2``, and ``{tested_on: kth}``
        leaves no model. ``{tested_on: bair}`` leaves all three, since it is about another dataset.

        Args:
            case: an evaluation of several models.

        Returns:
            names of the remaining models, in the order of the case; may be empty.
        """
        if not self.leaves_out(case):
            return case.models
        return tuple(name for name in case.models if self.models and name not in self.models)


class Grid(Strict):
    """Evaluations of trained models: all combinations of the listed values.

    Attributes:
        trained_on: dataset of the training, or a list of datasets.
        train_subset: ``all`` training clips, or the name of a training subset; may be a list.
        tested_on: dataset of the test, or a list of datasets; the dataset of the training unless
            set.
        subset: ``test``, the test split, or the name of a subset of the tested dataset; may be a
            list.
        setting: further settings; each of them may be a list.
        variant: variant of the models, a named set of options; may be a list.
        models: names of the models to evaluate; all models of the dimension unless set.
        keep: which forecasts to store for pictures: a number of forecasts, where 0 stores none; or
            the names of their clips. Set it if all forecasts together are too large to store: all
            others are then only scored, while they are computed or read. Unless set, all forecasts
            are stored before they are scored, but none of those that are read from files
            (`fit: read`).
        without: combinations of the values above that are left out.
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
        """List all evaluations of the grid, without those that are left out.

        Evaluations of the same subset follow one another.

        Args:
            models: names of the dimension's models.
            where: place of the grid in the scale file, for errors, e.g.
                ``dimensions.short_term.cells.0``.

        Raises:
            ConfigurationError: an entry of `without` leaves nothing out, or nothing is left.
        """
        cases = [
            Case(trained, tested, train_subset, subset, variant, setting, self.models or models,
                 self.keep)
            for subset, train_subset, variant, trained in product(
                self.subset, self.train_subset, self.variant, self.trained_on
            )
            for tested in self.tested_on or (trained,)
            for setting in self.setting.combinations()
        ]  # fmt: skip
        for number, out in enumerate(self.without):
            if not any(out.leaves_out(case) for case in cases):
                raise ConfigurationError(
                    f"{where}.without.{number} matches no combination of its grid",
                    expected=f"some of {_abbreviate_cases(cases)}",
                )
            cases = [case for case in _exclude_models(cases, out) if case.models]
        if not cases:
            raise ConfigurationError(
                f"{where}: `without` leaves no combination of the grid",
            )
        return cases


def _exclude_models(cases: Iterable[Case], out: Combinations) -> Iterator[Case]:
    for case in cases:
        yield Case(**{**vars(case), "models": out.models_left(case)})


def _abbreviate_cases(cases: list[Case]) -> str:
    text = "; ".join(map(str, cases[:3]))
    return text if len(cases) <= 3 else f"{text}; ... ({len(cases)} in all)"
