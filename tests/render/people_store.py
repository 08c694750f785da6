"""A store of predictions of people that its stages have made, to draw figures from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from crowds import line
from figure_store import FigureStore
from small_store import cell_key, convention_facts, dataset_facts, suite
from stages import Stages

COLUMNS = {"ADE": "displacement.by_scenario", "FDE": "final_displacement.by_scenario"}
MORE = ("displacement.by_person", "final_displacement.by_person")
OPTIONS: dict[str, Any] = {"format": "trajnetpp", "step": 6, "dt": 0.4, "smooth": 0}


class PeopleStore(FigureStore):
    """Cells of people in a hall, predicted and scored.

    Args:
        folder: for all of it.
        dimension: of the cells.
        raw: folder of raw files; a hall is made up unless given.
        names: files of ``raw``, the tracks first.
        dataset: its name.
        groups: of people who walk through the hall, one after the other; the first fifth of the
            detections is none of the test.
        options: of the reader.
    """

    def __init__(
        self,
        folder: Path,
        dimension: str = "atlas_transfer",
        raw: Path | None = None,
        names: tuple[str, ...] = ("hall.ndjson",),
        dataset: str = "hall",
        groups: int = 10,
        **options: Any,
    ) -> None:
        super().__init__(folder, dimension)
        self.dataset = dataset
        self.stages = Stages(folder / "stages", raw or hall(folder, groups), context=6, horizon=8)
        options = {**OPTIONS, **options, "files": list(names[:1])}
        self.data, _ = self.stages.prepare(list(names), **options)
        for column, convention in COLUMNS.items():
            self.column(dataset, column, convention, higher_is_better=False, unit="m")
        self.manifest["conventions"] |= dict.fromkeys(MORE, convention_facts(False, unit="m"))
        self.manifest["names"]["datasets"] = {dataset: dataset}
        about = {"kind": "tracks", "domain": "people", "units": "m", "context": 6, "horizon": 8}
        self.manifest["datasets"] = {dataset: dataset_facts(**about)}
        self.manifest["steps"] = {dataset: 0.4}
        self.manifest["suite"] = suite("atlas")
        published = self.manifest["published_names"]
        published["models"] |= {"constant_velocity": "CVM", "social_force": "Sof"}

    def tested(
        self,
        model: str,
        *,
        subset: str = "atlas-paper",
        calibrated: str = "",
        trained_on: str | None = None,
        variant: str = "default",
        options: dict[str, Any] | None = None,
        horizon: int = 8,
        samples: int = 1,
        **setting: int,
    ) -> dict[str, Any]:
        """Add a cell.

        Args:
            calibrated: what the manifest says of it.
            options: parameters of the predictor.
            setting: observe, noise and people.
        """
        parts = sorted({"horizon": horizon, **setting}.items())
        names = {"suite": "atlas", "dimension": self.manifest["dimension"], "variant": variant}
        data = {"tested_on": self.dataset, "subset": subset}
        text = ",".join(f"{n}-{v}" for n, v in parts)
        key = cell_key(model, trained_on or self.dataset, **names, **data, setting=text)
        recipe = {"options": options or {}, "split": subset, "lead_times": horizon, **setting}
        made, told = self.stages.predict(
            self.data, model, **recipe, predict={"samples": samples} if samples > 1 else {}
        )
        receipt = json.loads((made / "artefact.json").read_text())
        receipt["extras"] = told
        receipt["provenance"] = {"host": "node1", "processor": "A CPU", "device": "cpu"}
        (made / "artefact.json").write_text(json.dumps(receipt))
        more = {"statistic": "mean_of_members"} if samples > 1 else {}
        scored, _ = self.stages.score(
            self.data, made, *COLUMNS.values(), *MORE, split=subset, cell=key, **more
        )
        about = {name: str(path) for name, path in zip(
            ("data", "predictions", "scores"), (self.data, made, scored), strict=True
        )}  # fmt: skip
        whose = {"source": "sample", "release": "tiny", "protocol": "tiny", "leaky": False}
        whose |= {"follows_paper": False, "bytes_of": [], "best_of": 1}
        cell = {
            **{"key": key, "kind": "tracks", **whose, "subset_note": ""},
            **{"models": [], "calibrated": calibrated, "samples": samples, **about, **more},
        }
        self.cells.append(cell)
        return cell


def hall(folder: Path, groups: int) -> Path:
    """Raw detections of people who walk through a hall in turn: first two, later three of them."""
    lines = []
    for group in range(groups):
        paths = [line(20, wobble=3 * group), np.add(line(20, (-0.4, 0.1), wobble=group), [9, 0])]
        if group % 2:
            paths.append(np.add(line(20, (0.0, 0.5), wobble=7 * group), [4, -5]))
        lines += [
            json.dumps({"track": {"f": 6 * (40 * group + step), "p": 10 * group + person, **at}})
            for step in range(20)
            for person, path in enumerate(paths)
            for at in [{"x": float(path[step][0]), "y": float(path[step][1])}]
        ]
    raw = folder / "raw"
    raw.mkdir(parents=True)
    (raw / "hall.ndjson").write_text("\n".join(lines))
    return raw
