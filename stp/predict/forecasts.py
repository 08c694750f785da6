"""Compute forecasts of the clips of a split, for `stp.predict.run` and `stp.score.rollout`.

Both compute in the same batches, so their forecasts are equal to the last bit.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zarr
from torch import Tensor

from stp.core.errors import StpError
from stp.core.job import Extras, Recipe
from stp.data.prepared import Clips, Prepared
from stp.models import weights
from stp.models.compute import Compute
from stp.models.create import create
from stp.models.model import ForecastModel, file_of, require_parts
from stp.models.normalisation import Normalisation
from stp.options.predict import PredictOptions
from stp.predict.output import create_predictions, lead_numbers


class Forecasts:
    """Forecasts of the clips of a split by a model.

    Either one network forecasts all lead times, or each lead time has its own network, or each
    member has one, trained with different seeds. Frames are normalised with the constants of the
    training data.

    A model with ``needs_lead_times`` is told the lead times and forecasts only these. Any other
    model forecasts all lead times up to the last one, of which the wanted ones are kept. If the
    recipe has ``interpolated``, forecasts between the model's lead times are interpolated linearly.

    Args:
        recipe: recipe with model, lead times, split and further settings (`stp.predict.run.run`).
        data: the prepared data.
        inputs: folders of the trained model (``model``), or of the models for each lead time
            (``model-lead-<lead>``) or member (``model-member-<member>``, from 0); empty if the
            model is not fitted.
        compute: device and precision.

    Attributes:
        clips: clips of the split.
        members: number of forecasts of each clip.
        batch_size: number of clips in a batch.
        leads: lead times, int64 (T,), ascending from 1.
        channels: indices of those channels of the data that the network forecasts, int64 (C,).
        shape: shape of all forecasts: clips, members, lead times, channels, height and width.
        normalisation: normalisation of the training data.
        networks: the network, or one for each lead time or member.
        has_parts: whether the forecasts of a batch can be computed some lead times at a time
            (`parts_of`), which needs less memory.

    Raises:
        StpError: a bad recipe, a model that is damaged or belongs to another recipe, data of
            another shape, clips that are too short, or several samples of a deterministic model.
    """

    def __init__(
        self,
        recipe: Recipe,
        data: Prepared,
        inputs: Mapping[str, Path],
        compute: Compute,
    ) -> None:
        options = PredictOptions.from_recipe(recipe["predict"])
        self.recipe, self.data, self.compute = recipe, data, compute
        self.clips = data.clips(recipe["split"], interval=recipe.get("interval", 1))
        self.members, self.batch_size = options.members, options.batch_size
        _check(recipe, data, self.clips)
        self.leads = lead_numbers(recipe)
        self._computed = lead_numbers({**recipe, "interpolated": False})
        self._of_network = data.select_channels(recipe.get("channels", ()))
        self._context = self._of_network.clips(recipe["split"], interval=recipe.get("interval", 1))
        self.channels = self._of_network.channels
        if recipe.get("per_lead"):
            folders: list[Path | None] = [inputs[f"model-lead-{lead}"] for lead in self._computed]
        elif options.trainings > 1:
            folders = [inputs[f"model-member-{member}"] for member in range(self.members)]
        else:
            folders = [inputs.get("model")]
        network_of = {**recipe, "shape": list(self._of_network.shape)}
        models = [_model(network_of, self._of_network, folder) for folder in folders]
        self.networks = [network.to(compute.device).eval() for network, _ in models]
        self.normalisation = models[0][1]
        every_lead = len(self._computed) == recipe["lead_times"] and not recipe.get("per_lead")
        self.has_parts = every_lead and self.networks[0].has_parts
        self._is_sampled = self.networks[0].is_sampled
        # The network of each member, unless each lead time has its own.
        self._of_member = self.networks if options.trainings > 1 else self.networks * self.members
        if options.samples > 1 and not self._is_sampled:
            raise StpError(
                f"{recipe['model']}: predict.samples is {options.samples}, but all forecasts of a "
                "clip are the same",
                expected="a model that draws its forecasts (is_sampled), such as mcvd",
                remedy="remove predict.samples from its configuration",
            )
        self.shape = (len(self.clips), self.members, len(self.leads), *self._of_network.shape)

    def __len__(self) -> int:
        return len(self.clips)

    def batches(self) -> Iterator[np.ndarray]:
        """Indices of the clips of each batch, in order."""
        for start in range(0, len(self), self.batch_size):
            yield np.arange(start, min(start + self.batch_size, len(self)))

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Compute the forecasts of a batch, in the dataset's units and unclipped.

        Args:
            rows: indices of the batch's clips.

        Returns:
            forecasts, float32 (clips, members, lead times, C, H, W).

        Raises:
            StpError: a value is not finite.
        """
        return self._finite(self._forecast(rows), rows)

    def _finite(self, forecasts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if not np.isfinite(forecasts).all():
            name = self.clips.index["clip"].iloc[rows[0]]
            raise StpError(
                f"{self.recipe['model']} on {self.data.attrs.get('dataset')}: forecasts of the "
                f"{len(rows)} samples from {name!r} on are not all finite",
                remedy=self._why_not_finite(rows),
            )
        return forecasts

    def _why_not_finite(self, rows: np.ndarray) -> str:
        """The remedy in the error about values that are not finite."""
        weights = [w for network in self.networks for w in network.state_dict().values()]
        if not all(bool(w.isfinite().all()) for w in weights):
            return "train the model again: its weights are not finite"
        with torch.inference_mode():
            frames, _ = self._arguments(rows)
        if not bool(frames.isfinite().all()):
            return "look at the data (`stp draw clips`): context frames are not finite"
        less = "" if self.compute.used == "float32" else ", or predict in float32"
        return (
            "its weights and context are finite: look for a logarithm, a root, a division or a "
            f"growing feedback in {file_of(self.networks[0])}{less}"
        )

    @torch.inference_mode()
    def _forecast(self, rows: np.ndarray) -> np.ndarray:
        frames, arguments = self._arguments(rows)
        forecasts = np.empty((len(rows), *self.shape[1:]), np.float32)
        for member in range(self.members):
            with self.compute.autocast():
                forecast = self._of_all_leads(self._of_member[member], frames, arguments[member])
            forecasts[:, member] = self._in_units(forecast)
        return forecasts

    def parts_of(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the forecasts of a batch in parts of consecutive lead times.

        Requires ``has_parts``. Only one part is in memory, whatever the number of lead times.

        Args:
            rows: indices of the batch's clips.

        Yields:
            parts, float32 (clips, members, some lead times, C, H, W).

        Raises:
            StpError: a value is not finite.
        """
        with torch.inference_mode():
            frames, arguments = self._arguments(rows)
            leads = self.recipe["lead_times"]
            members = [
                require_parts(
                    network,
                    network.parts(frames, leads, **own),
                    frames,
                    leads,
                )
                for network, own in zip(self._of_member, arguments, strict=True)
            ]
        done = 0
        while done < leads:
            with torch.inference_mode(), self.compute.autocast():
                part = np.stack([self._in_units(next(member)) for member in members], axis=1)
            done += part.shape[2]
            yield self._finite(part, rows)

    def _arguments(self, rows: np.ndarray) -> tuple[Tensor, list[dict[str, Any]]]:
        """Normalised context of a batch, and further arguments of the model by member."""
        device, recipe, network = self.compute.device, self.recipe, self.networks[0]
        context = self._context.read(rows, length=recipe["context"])
        frames = self.normalisation.apply_(torch.from_numpy(context).to(device))
        extra: dict[str, Any] = {}
        if network.needs_phase:
            extra["phase"] = torch.from_numpy(self.clips.phases(rows)).to(device)
            extra["interval"] = recipe.get("interval", 1)
        members = range(self.members)
        return frames, [extra | ({"member": m} if self._is_sampled else {}) for m in members]

    def _in_units(self, forecast: Tensor) -> np.ndarray:
        return np.asarray(self.normalisation.undo(forecast.float()).cpu().numpy())

    def _of_all_leads(
        self, network: ForecastModel, frames: Tensor, extra: dict[str, Any]
    ) -> Tensor:
        """Normalised forecasts of a member at all lead times, (B, T, C, H, W)."""
        computed = self._of_own_leads(network, frames, extra)
        if not self.recipe.get("interpolated"):
            return computed
        return interpolate_leads(computed, self._computed, self.leads)

    def _of_own_leads(
        self, network: ForecastModel, frames: Tensor, extra: dict[str, Any]
    ) -> Tensor:
        """Normalised forecasts of a member at the lead times that networks compute."""
        computed = self._computed
        if self.recipe.get("per_lead"):
            # As in training, a network with ``leads`` is given its own lead time.
            takes_lead = network.needs_lead_times and network.leads
            own = [{"lead_times": [lead]} if takes_lead else {} for lead in computed.tolist()]
            each = zip(self.networks, own, strict=True)
            return torch.cat([of_one(frames, 1, **extra, **lead) for of_one, lead in each], dim=1)
        forecast: Tensor
        if network.needs_lead_times:
            forecast = network(frames, len(computed), lead_times=computed.tolist(), **extra)
            return forecast
        forecast = network(frames, int(computed[-1]), **extra)
        return forecast if forecast.shape[1] == len(computed) else forecast[:, computed - 1]

    def describe(self) -> Extras:
        """Facts for the receipt: device, precision, samples, lead times and normalisation."""
        return {
            **self.compute.describe(),
            "samples": len(self),
            **({"members": self.members} if self.members > 1 else {}),
            "lead_times": self.recipe["lead_times"],
            **({"leads": self.leads.tolist()} if "leads" in self.recipe else {}),
            "normalisation": {
                "offset": self.normalisation.offset,
                "scale": self.normalisation.scale,
            },
        }

    def create(self, out: Path, numbers: np.ndarray) -> zarr.Array[Any]:
        """Create an empty store for the forecasts of some clips.

        Args:
            out: folder of the store.
            numbers: indices of the clips in the split.

        Returns:
            the empty array, (sample, [member,] lead, channel, y, x).
        """
        return create_predictions(out, self.recipe, self._of_network.attrs, self.shape[1:], numbers)


def interpolate_leads(forecasts: Tensor, leads: np.ndarray, targets: np.ndarray) -> Tensor:
    """Interpolate linearly between lead times.

    Args:
        forecasts: predicted frames, (B, T, C, H, W).
        leads: lead times of the forecasts, ascending, (T,).
        targets: lead times of the result, within the range of ``leads``, (L,).

    Returns:
        interpolated frames, (B, L, C, H, W).
    """
    positions = np.interp(targets, leads, np.arange(len(leads)))
    below = np.floor(positions).astype(np.int64)
    above = np.ceil(positions).astype(np.int64)
    share = torch.as_tensor(positions - below, dtype=forecasts.dtype, device=forecasts.device)
    weights = share[:, None, None, None]
    interpolated: Tensor = torch.lerp(forecasts[:, below], forecasts[:, above], weights)
    return interpolated


def _model(
    recipe: Recipe, data: Prepared, trained: Path | None
) -> tuple[ForecastModel, Normalisation]:
    """The model with its weights, and the normalisation of its training data."""
    model = create(recipe)
    if trained is not None:
        update = recipe.get("update")
        name = weights.MODEL if update is None else weights.snapshot_name(update)
        state, normalisation = weights.load(Path(trained) / name, recipe)
        model.load_state_dict(state)
        return model, normalisation
    if model.state_dict():
        raise StpError(
            f"{recipe['model']} has to be fitted, but no trained model was given",
            expected="an input named model",
            remedy="correct fit in the configuration of the model",
        )
    return model, Normalisation.of(data.attrs)


def _check(recipe: Recipe, data: Prepared, clips: Clips) -> None:
    if recipe["shape"] != list(data.shape):
        raise StpError(
            f"{data.folder}: frames have shape {list(data.shape)}",
            expected=f"{recipe['shape']}, that of the training data",
            remedy="test on data with the same channels, height and width",
        )
    if recipe["context"] != data.context:
        raise StpError(
            f"{data.folder}: clips have {data.context} context frames",
            expected=f"{recipe['context']}, those of the training data",
            remedy="prepare the data with the same context",
        )
    if clips.virtual or not len(clips):
        raise StpError(
            f"{data.folder}: the {recipe['split']} split has no stored clips",
            expected="clips that can be compared with forecasts",
            remedy="predict another split",
        )
    shortest = int(clips.index["length"].min())
    if shortest < recipe["context"] + lead_numbers(recipe)[-1]:
        raise StpError(
            f"{data.folder}: the shortest {recipe['split']} clip has {shortest} frames",
            expected=f"{recipe['context']} context frames and {recipe['lead_times']} lead times",
            remedy="prepare longer windows (option span), or ask for fewer lead times",
        )
