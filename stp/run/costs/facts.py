"""Facts about clips, files and networks for estimates, from the configuration or assumed."""

import math
from typing import Any, NamedTuple

from stp.core.receipts import read_receipt
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict
from stp.plan.dataset import Dataset
from stp.plan.model import Size

SPLITS = ("train", "val", "test")
MB = 1e6
FLOAT = 4


class Clips(Strict):
    """Numbers of clips that are assumed for a dataset without counts.

    Attributes:
        train, val, test: number of training, validation or test clips.
    """

    train: int
    val: int
    test: int


class Unknown(Strict):
    """Assumptions where the configuration has no value (config/costs.yaml).

    Attributes:
        clips: numbers of clips of a dataset whose configuration has no counts.
        size: size of a network whose configuration has none.
    """

    clips: Clips
    size: Size


class Fact(NamedTuple):
    """A value, and what was assumed where the configuration has no number.

    Attributes:
        value: a number, a dict of numbers, or a `Size`.
        assumed: a text for each assumption, such as "9,000 train clips of NAME assumed"; empty
            without assumptions.
    """

    value: Any
    assumed: tuple[str, ...] = ()


class Facts:
    """Numbers of clips, sizes of files and costs of networks, from which job costs are estimated.

    Args:
        plan: the plan.
        unknown: assumptions for missing values.
    """

    def __init__(self, plan: Plan, unknown: Unknown) -> None:
        self.plan, self.unknown = plan, unknown
        self._clips: dict[str, Fact] = {}
        self._counted: dict[str, dict[str, Any]] = {}
        self._sizes: dict[tuple[str, str], Fact] = {}

    def preparation_counts(self, data: Artefact) -> dict[str, Any]:
        """Read what the preparation of a dataset counted: clips by split, frames, and more.

        Args:
            data: the dataset's prepared data.

        Returns:
            counts by name, such as ``clips`` and ``frames``; empty if the dataset is not prepared.
        """
        if data.folder not in self._counted:
            receipt = read_receipt(self.plan.store / data.folder)
            self._counted[data.folder] = receipt.extras if receipt else {}
        return self._counted[data.folder]

    def clips(self, data: Artefact) -> Fact:
        """Find the numbers of clips of a dataset.

        They were counted when the dataset was prepared. If it is not prepared, they are taken from
        the options of its reader, else from the declared counts, else they are assumed. A subset
        without a count is assumed to be as large as the test split.

        Args:
            data: the dataset's prepared data, which need not exist yet.

        Returns:
            a `Fact` whose value maps each split and each subset to its number of clips.
        """
        name = data.recipe["dataset"]
        if name not in self._clips:
            dataset = self.plan.config.datasets[name]
            options, counts = data.recipe["options"], dataset.counts
            chosen = {**(options.get("clips") or {}), "train": options.get("clips_per_epoch")}
            clips, assumed = {}, []
            counted = self.preparation_counts(data).get("clips") or {}
            for split in SPLITS:
                number = counted.get(split)
                number = chosen.get(split) if number is None else number
                number = counts.by_split[split] if number is None else number
                if number is None:
                    number = getattr(self.unknown.clips, split)
                    assumed.append(f"{number:,} {split} clips of {name} assumed")
                clips[split] = number
            for subset, about in dataset.subsets.items():
                of_subset = counted.get(subset, about.clips)
                clips[subset] = clips["test"] if of_subset is None else of_subset
            self._clips[name] = Fact(clips, tuple(assumed))
        return self._clips[name]

    def size(self, model: str, dataset: str) -> Fact:
        """Find the number of parameters, the multiply-adds and the memory of a network.

        Numbers in the scale file override those in the model's own file. In both, numbers for the
        dataset override those for all datasets.

        Args:
            model: name of the model.
            dataset: name of the dataset that it is trained on.

        Returns:
            a `Fact` whose value is a `Size`.
        """
        if (model, dataset) not in self._sizes:
            facts: dict[str, Any] = {}
            for settings in (
                self.plan.config.models[model],
                self.plan.config.scale.models.get(model),
            ):
                if settings is None:
                    continue
                layers = [settings.size]
                if dataset in settings.datasets:
                    layers.append(settings.datasets[dataset].size)
                for layer in layers:
                    layer_facts = layer.model_dump(exclude_unset=True)
                    if "gmacs" in layer_facts:  # for another width, as are related facts
                        for part in ("once_gmacs", "activations_mb"):
                            facts.pop(part, None)
                    facts |= layer_facts
            facts = {key: value for key, value in facts.items() if value is not None}
            default = self.unknown.size
            assumed: tuple[str, ...] = ()
            if "gmacs" not in facts:
                assumed = (f"{default.gmacs:g} G multiply-adds of {model} assumed",)
            self._sizes[model, dataset] = Fact(default.model_copy(update=facts), assumed)
        return self._sizes[model, dataset]

    def raw_mb(self, raw: Raw) -> Fact:
        """Find the size of a release's raw files.

        Args:
            raw: the raw files, which need not exist yet.

        Returns:
            a `Fact` whose value is the size in MB; if it is unknown, the size of the prepared data.
        """
        release = raw.declared
        if release.files and all(file.bytes is not None for file in release.files):
            return Fact(sum(file.bytes or 0 for file in release.files) / MB)
        if release.raw_gb is not None:
            return Fact(release.raw_gb * 1000)
        if raw.dataset not in self.plan.config.datasets:  # raw files of a model, not of a dataset
            return Fact(0.0, (f"raw {raw.dataset} assumed to be small",))
        prepared = self.prepared_mb(self.plan.data(raw.dataset))
        if release.generator:
            return Fact(prepared)
        return Fact(prepared, (f"raw {raw.dataset} assumed as large as prepared",))

    def prepared_mb(self, data: Artefact) -> float:
        """Estimate the size of all prepared frames of a dataset, in MB.

        If the number of frames is not known, it is taken to be the number of clips times their
        length.

        Args:
            data: the dataset's prepared data, which need not exist yet.
        """
        dataset, options = self.plan.config.datasets[data.recipe["dataset"]], data.recipe["options"]
        frames = self.preparation_counts(data).get("frames", dataset.counts.frames)
        if frames is not None:
            return frames * stored_frame_mb(dataset)
        clips = self.clips(data).value
        stored = [s for s in SPLITS if not (dataset.virtual_clips and s == "train")]
        span = options.get("span") or dataset.context + dataset.horizon
        return sum(clips[split] for split in stored) * span * stored_frame_mb(dataset)


def stored_frame_mb(dataset: Dataset) -> float:
    """Compute the size of a prepared frame in MB: one byte per value for video, else four."""
    return math.prod(dataset.shape) * (1 if dataset.units == "1" else FLOAT) / MB
