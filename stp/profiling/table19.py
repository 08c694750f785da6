"""Count parameters and multiply-adds as PredBench did for its Table 19.

The table has twelve models for Moving-MNIST, 10 -> 10 frames of 64 x 64. The way of counting was
inferred from the printed numbers: only these choices reproduce them (parameters to every printed
digit, multiply-adds within 1 %). The table calls multiply-adds FLOPs, and prints M instead of G for
some of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stp.plan.config import Config
from stp.plan.profiled_networks import network
from stp.profiling import DATASET
from stp.profiling.measure import describe_size
from stp.profiling.published import published_complexity
from stp.profiling.size import Size, size

CHANNELS = {"convlstm": 3, "predrnnpp": 3}
"""Number of channels of frames for models that were counted with more than the one of
Moving-MNIST."""


@dataclass(frozen=True)
class Counted:
    """Size of a network, counted as in PredBench's Table 19.

    Attributes:
        parameters: number of parameters.
        multiply_adds: number of multiply-adds as the table counts them.
        how: how the table counts otherwise than this project counts one evaluation of the network
            (`stp.profiling.size`), e.g. "Table 19 counts frames of 3 channels; Moving-MNIST has 1";
            empty if both count alike.
    """

    parameters: int
    multiply_adds: int
    how: str


def as_published(recipe: Mapping[str, Any], counted_size: Size | None = None) -> Counted:
    """Count parameters and multiply-adds of a network as PredBench's Table 19 does.

    For most networks, these are the parameters and the multiply-adds of one evaluation, as
    `stp.profiling.size.size` counts them. There are three exceptions:

    - ConvLSTM and PredRNN++ are counted with frames of three channels, although those of
      Moving-MNIST have one.
    - For E3D-LSTM, the recall of memory is counted once for each frame of the window, although it
      is computed once.
    - For networks that compute a part once for all evaluations of a forecast, this part is added to
      one evaluation.

    Args:
        recipe: dict that describes the network, as for `stp.models.create`, with the frames of
            Moving-MNIST.
        counted_size: size as `stp.profiling.size.size` counts it; counted here if None.
    """
    name = recipe["model"]
    if name in CHANNELS:
        channels = CHANNELS[name]
        other = size({**recipe, "shape": [channels, *recipe["shape"][1:]]})
        return Counted(
            other.parameters,
            other.evaluation,
            f"Table 19 counts frames of {channels} channels; Moving-MNIST has {recipe['shape'][0]}",
        )
    counted_size = counted_size or size(recipe)
    if name == "e3dlstm":
        window = recipe["options"].get("window", 2)
        return Counted(
            counted_size.parameters,
            counted_size.evaluation + (window - 1) * counted_size.attention,
            f"Table 19 counts the recall of memory {window} times: the ports repeat the same query "
            "for every frame of the window, here it is computed once",
        )
    if counted_size.context:
        return Counted(
            counted_size.parameters,
            counted_size.context + counted_size.evaluation,
            "Table 19 counts one evaluation with what depends on the context alone, which here is "
            f"computed once for all {counted_size.evaluations} evaluations of a forecast",
        )
    return Counted(counted_size.parameters, counted_size.evaluation, "")


def count(config: Config) -> dict[str, Any]:
    """Count parameters and multiply-adds of the networks in PredBench's Table 19, in its order.

    Args:
        config: configuration, with the networks and the published values.

    Returns:
        by name of the model, a dict with two counts: ``size``, as this project counts
        (`stp.profiling.measure.describe_size`), and ``as_published``, as the table counts: a dict
        with the numbers ``parameters`` and ``multiply_adds``, and ``how``, the difference between
        the two ways in words (`Counted`).

    Raises:
        StpError: the published values are damaged.
    """
    counts = {}
    for name in published_complexity(config):
        recipe = network(config, name, DATASET)
        counted = size(recipe)
        as_in_table = vars(as_published(recipe, counted))
        counts[name] = {"size": describe_size(counted), "as_published": as_in_table}
    return counts
