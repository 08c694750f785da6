"""What is known about a metric and its conventions: config/conventions/<name>.yaml."""

from typing import Literal

from stp.plan.strict import Name, Strict


class Seen(Strict):
    """What a distance between sets of clips is made from.

    Attributes:
        network: whose weights look at the clips, in config/weights.yaml.
        layer: of the network.
        frames: of the clips, a choice of stp.features.frames.
        module: of stp.features.networks; named like the network unless set.
        seed: of random weights; such a network needs no file, and is in no list of weights.
    """

    network: str
    layer: str
    frames: str
    module: str = ""
    seed: int | None = None

    @property
    def name(self) -> str:
        """As part of a path: ``predicted_only/i3d.logits``."""
        return f"{self.frames}/{self.network}.{self.layer}"

    @property
    def code(self) -> str:
        """The module that makes it, chosen by name."""
        return f"stp.features.networks.{self.module or self.network}"


class Metric(Strict):
    """What is known about a metric and its conventions (config/conventions/<name>.yaml).

    Attributes:
        title: what tables call it.
        unit: of its values; "1" where they have none.
        opposite: conventions whose direction is the other one.
        reason: why stp.metrics does not have it.
        higher_is_better: the direction of its conventions, except those in `opposite`; null if
            neither higher nor lower is better.
        best_at: the value at which a convention is best, such as 1 for a ratio; the closer the
            better.
        success: whether values say that what is predicted happens, or can happen: `strict` if each
            sample is right or not, `graded` if shares of it are; null if they do not say so.
        compares_sets: whether values depend on the number of clips, as distances between sets of
            clips do, so that only those of equal numbers are ranked together. Conventions in
            `features` always are.
        available: whether stp.metrics has it; if not, tables show `reason`.
        perceptual: compares what networks see, and so is scored by a job of its own, on a GPU.
        weights: the network of config/weights.yaml that a convention needs; where its
            weights are not at hand, the convention has no value.
        features: of distances between sets of clips, what each convention is made from.
        reads: files and folders that its module, or that of a network in `features`, reads or
            imports, besides what its imports name: paths in the checkout. Their content is part of
            the fingerprints.
        conventions: what each one computes, and whose it is.
    """

    title: str
    unit: str
    higher_is_better: bool | None
    opposite: tuple[str, ...] = ()
    best_at: dict[str, float] = {}
    success: Literal["strict", "graded"] | None = None
    compares_sets: bool = False
    available: bool = True
    perceptual: bool = False
    weights: dict[str, str] = {}
    features: dict[str, Seen] = {}
    reason: str = ""
    reads: tuple[str, ...] = ()
    conventions: dict[Name, str]

    def is_higher_better(self, choice: str) -> bool | None:
        """The direction of one convention; None if it is best at a value, or has none."""
        if self.higher_is_better is None or choice in self.best_at:
            return None
        return self.higher_is_better != (choice in self.opposite)

    def compares_sets_of(self, choice: str) -> bool:
        """Does the value of one convention depend on the number of clips?"""
        return self.compares_sets or choice in self.features
