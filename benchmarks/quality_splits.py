"""What a study of opinions costs: features of 300 made-up videos, 100 splits with regressions.

Videos of the four sizes are made and prepared first, which is not measured. Each stage runs as its
job does, in a process of its own on one thread: CPU time, and peak memory of the process. Synthetic
features are random numbers, as many as SqueezeNet gives. The networks of the paper have random
weights, which take as long; they look at a few videos of each size. The results are printed as
JSON.

    python benchmarks/quality_splits.py --weights results/weights
    python benchmarks/quality_splits.py --videos 20 --networks        # those of the paper alone
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn

from stp.core.file_identity import identify
from stp.core.job import Job, report_nothing
from stp.datasets.pvqa import generator as pvqa
from stp.features import videos
from stp.metrics.networks.inception import Inception
from stp.metrics.networks.maps import open_feature_maps
from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.resnet import ResNet50
from stp.metrics.networks.state import read_state
from stp.metrics.networks.trunks import vgg_layers
from stp.models.compute import set_up_compute
from stp.opinions import regression
from stp.opinions.prepared import open_database
from stp.options.quality import COMPONENTS
from stp.predict import opinions
from stp.prepare import opinions as preparing

REGRESSIONS = ("linear", "ridge", "nested")
VIDEOS = 300
CONTEXT, HORIZON = 4, 16
PARTS = ("mcs", "rfd")
PAPERS: dict[str, Callable[[], nn.Module]] = {
    "vgg19": lambda: nn.ModuleDict({"features": nn.Sequential(*vgg_layers(2, 2, 4, 4, 4))}),
    "resnet50": ResNet50,
    "inception": Inception,
}
"""The networks of the paper."""
FILES = {"squeezenet": "squeezenet1_1_features.pth", "alexnet": "alexnet_features.pth"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, default=Path(), help="folder of weights")
    parser.add_argument("--videos", type=int, default=VIDEOS, help="default: 300")
    parser.add_argument("--networks", nargs="*", default=list(FILES), help="default: both")
    options = parser.parse_args()
    networks = {name: options.weights / FILES[name] for name in options.networks}
    found: dict[str, object] = {"videos": options.videos}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = prepared(root, options.videos)
        found["synthetic features"] = {kind: apart(splits_of_random, kind) for kind in REGRESSIONS}
        for name, weights in networks.items():
            about = {"features": apart(look, root, data, name, weights)}
            about["CPU s per video, by size"] = apart(by_size, data, name, weights)["value"]
            for kind in REGRESSIONS:
                about[f"100 splits, {kind}"] = apart(predict, root, data, name, kind)
            found[name] = about
            print(json.dumps({name: about}), file=sys.stderr, flush=True)
        for name in PAPERS:
            found[f"{name}, CPU s per video, by size"] = apart(by_size, data, name, None)
    print(json.dumps(found, indent=1))


def apart(function: Callable[..., Any], *given: Any) -> dict[str, Any]:
    """Run in a process of its own: CPU seconds, peak memory, and what it returns."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(sender, function, *given))
    process.start()
    try:
        return dict(receiver.recv())
    finally:
        process.join()


def _measured(sender: Connection, function: Callable[..., Any], *given: Any) -> None:
    began = time.process_time()
    value = function(*given)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    made = {"CPU s": round(time.process_time() - began, 1), "peak MiB": round(peak)}
    sender.send(made if value is None else {**made, "value": value})


def prepared(root: Path, count: int) -> Path:
    """Generate and prepare the videos; the folder of the prepared data."""
    raw, out = root / "raw", root / "data"
    raw.mkdir()
    out.mkdir()
    pvqa.generate(raw, {"folder": "pvqa", "videos": count}, report_nothing)
    files = {
        str(path.relative_to(raw)): {name: identify(path)[name] for name in ("bytes", "sha256")}
        for path in sorted(raw.rglob("*.*"))
        if path.is_file()
    }
    lock = root / "raw.lock.json"
    lock.write_text(json.dumps({"files": files}))
    recipe = {
        **{"dataset": "pvqa", "source": "synthetic", "release": "synthetic", "kind": "opinions"},
        **{"context": CONTEXT, "horizon": HORIZON, "options": {"folder": "pvqa", "splits": 100}},
    }
    preparing.run(Job(recipe, {"raw": lock}, out, out, {"raw_roots": [str(raw)]}))
    return out


def look(root: Path, data: Path, network: str, weights: Path) -> None:
    """The job of stage features."""
    out = root / network
    out.mkdir()
    recipe = {
        "network": network,
        "weights": {"sha256": identify(weights)["sha256"]},
        "context": CONTEXT,
    }
    runtime = {"weights": {network: str(weights)}, "device": "cpu"}
    videos.run(Job(recipe, {"data": data}, out, out, runtime))


def by_size(data: Path, network: str, weights: Path | None) -> dict[str, float]:
    """CPU seconds of one video, mean of up to three of each size; weights may be random."""
    taken: dict[str, list[float]] = {}
    with set_up_compute("cpu", 1, "float32") as compute, torch.inference_mode():
        state = read_state(weights) if weights else draw(PAPERS[network](), 0).state_dict()
        network_maps = open_feature_maps(network, state, compute.device)
        for video in open_database(data, CONTEXT).videos():
            height, width = video.predicted.shape[1:3]
            own = taken.setdefault(f"{width} x {height}", [])
            if len(own) < 3:
                began = time.process_time()
                videos.features_of(video, network_maps, CONTEXT, {})
                own.append(time.process_time() - began)
    return {size: round(float(np.mean(own)), 2) for size, own in taken.items()}


def predict(root: Path, data: Path, network: str, kind: str) -> None:
    """The job of stage predict, on the published splits."""
    out = root / f"{network}-{kind}"
    out.mkdir()
    recipe = {
        **{"model": f"{network}_mcs_rfd", "source": "network_features", "context": CONTEXT},
        **{"split": "published", "predict": {"regression": kind, "parts": PARTS}},
    }
    inputs = {"data": data, "features": root / network}
    opinions.run(Job(recipe, inputs, out, out, {}))


def splits_of_random(kind: str) -> None:
    """100 splits of random features."""
    random = np.random.default_rng(0)
    gram = regression.products(random.normal(size=(VIDEOS, 2 * (CONTEXT + HORIZON) * 512)))
    observed = random.uniform(20, 80, VIDEOS)
    for _ in range(100):
        test, training = np.split(random.permutation(VIDEOS), [VIDEOS // 5])
        regression.predict(kind, gram, training, observed[training], test, COMPONENTS)


if __name__ == "__main__":
    main()
