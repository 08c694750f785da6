"""How much faster are our models than straightforward implementations, and are they equal?

For each model at its size for Moving-MNIST (config/models, 10 -> 10 frames of 64 x 64): time of the
loss (forward), of its gradients (backward) and of a forecast, ours against `benchmarks/plain` with
the same weights, in turns in this process; the fastest turn counts. On a CPU: one thread, CPU time,
float32; on a GPU: synchronised wall-clock time, in the precision asked for. Memory: the most that
one step needs beyond the network itself, on a CPU from resident memory of a process of its own.

    python benchmarks/train_step.py
    python benchmarks/train_step.py --models simvpv2 tau --variants recompute channels_last compile
    python benchmarks/train_step.py --device cuda --precision bf16 --batch 16
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import yaml
from torch import Tensor, nn

from stp.models.compute import set_up_compute
from stp.train.factories import put_channels_last

MODELS = [
    *("convlstm", "predrnn", "predrnnpp", "predrnnv2", "e3dlstm", "mau", "phydnet"),
    *("simvpv1", "simvpv2", "tau", "earthformer"),
]
VARIANTS = ("recompute", "channels_last", "compile")
CONFIG = Path(__file__).parents[1] / "config" / "models"
CONTEXT = HORIZON = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS, metavar="MODEL")
    parser.add_argument("--batch", type=int, default=2, help="clips (default: 2)")
    parser.add_argument("--turns", type=int, default=3, help="turns of each (default: 3)")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--precision", default="float32", choices=["float32", "bf16"])
    parser.add_argument(
        "--variants", nargs="*", default=[], choices=VARIANTS, help="of ours, to compare with ours"
    )
    parser.add_argument("--memory", action="store_true", help="measure memory, too")
    parser.add_argument("--share", action="store_true", help="part of plain's step in convolutions")
    parser.add_argument("--options", type=json.loads, default={}, help="of the models, as JSON")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with set_up_compute(options.device, 1, options.precision) as compute:
        bench = Bench(options, compute)
        if options.peak_of:
            print(bench.own_peak(options.models[0], options.peak_of))
            return
        print(f"{'':24}{'seconds':>24}{'times as fast as the first':>30}{'difference':>22}")
        heads = ["forward", "backward", "forecast"]
        print(f"{'':24}" + "".join(f"{h:>9}" for h in heads), end="")
        print(
            "".join(f"{h:>9}" for h in [*heads, "step"]) + f"{'forecast':>11}{'gradient':>10}",
            end="",
        )
        print(f"{'MB':>8}" if options.memory else "")
        for model in options.models:
            bench.compare(model, "plain", "ours")
            for variant in options.variants:
                bench.compare(model, "ours", variant)


class Bench:
    """What is measured, and how, as told on the command line."""

    def __init__(self, options: argparse.Namespace, compute: object) -> None:
        self.options, self.compute = options, compute
        self.device = torch.device(options.device)

    def network(self, model: str, kind: str) -> nn.Module:
        """A network with the weights that seed 0 gives."""
        entry = yaml.safe_load((CONFIG / f"{model}.yaml").read_text())
        chosen = {
            **entry.get("options", {}),
            **entry["datasets"]["moving_mnist"].get("options", {}),
            **self.options.options,
        }
        torch.manual_seed(0)
        module = importlib.import_module(f"stp.models.{model}")
        network = module.Model((1, 64, 64), CONTEXT, HORIZON, **chosen)
        for layer in network.modules():  # plain's may draw in another order
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0
        if kind == "plain":
            written = importlib.import_module(f"plain.{model}")
            plain = written.Model(network)
            plain.load_state_dict(written.weights(network.state_dict()))
            network = plain
        network.to(self.device)
        if kind == "recompute":
            network.recompute = True
        if kind == "channels_last":
            put_channels_last(network)
        if kind == "compile":
            network.forward = torch.compile(network.forward)  # type: ignore[method-assign]
            network.loss = torch.compile(network.loss)
        return network

    def clips(self) -> Tensor:
        draw = torch.Generator().manual_seed(1)
        return torch.rand(self.options.batch, CONTEXT + HORIZON, 1, 64, 64, generator=draw).to(
            self.device
        )

    def loss(self, network: nn.Module) -> Tensor:
        torch.manual_seed(2)  # the same scheduled sampling
        with self.compute.autocast():
            # An iteration in which about half of the inputs are shown.
            loss: Tensor = network.loss(self.clips(), 25_000)
        return loss

    def forecast(self, network: nn.Module) -> Tensor:
        with torch.inference_mode(), self.compute.autocast():
            forecast: Tensor = network(self.clips()[:, :CONTEXT], HORIZON).float()
        return forecast

    def compare(self, model: str, first: str, second: str) -> None:
        """Print two lines."""
        pair = {kind: self.network(model, kind) for kind in (first, second)}
        seconds = {kind: ([], [], []) for kind in pair}
        compiled = "compile" in pair
        for turn in range(self.options.turns + compiled):
            for kind, network in pair.items():
                network.train()
                network.zero_grad()
                forward, loss = self.seconds(lambda n=network: self.loss(n))
                backward, _ = self.seconds(loss.backward)
                network.eval()
                forecast, _ = self.seconds(lambda n=network: self.forecast(n))
                if turn >= compiled:  # the first one compiles
                    for times, now in zip(
                        seconds[kind], (forward, backward, forecast), strict=True
                    ):
                        times.append(now)
        best = {kind: [min(times) for times in of] for kind, of in seconds.items()}
        for kind, (forward, backward, forecast) in best.items():
            line = f"{model:12}{kind:12}{forward:9.3f}{backward:9.3f}{forecast:9.3f}"
            if kind == second:
                before = best[first]
                ratios = [a / b for a, b in zip(before, best[kind], strict=True)]
                ratios.append((before[0] + before[1]) / (forward + backward))
                line += "".join(f"{ratio:9.2f}" for ratio in ratios)
                line += "".join(f"{d:>11.1e}" for d in self.differences(model, pair, first, second))
            else:
                line += " " * 58
            if self.options.memory:
                line += f"{self.peak(model, kind):8.0f}"
            print(line, flush=True)
        if self.options.share and first == "plain":
            share = self.convolutions(pair[first])
            print(f"{'':12}convolutions take {share:.0%} of a step of {first}", flush=True)

    def differences(
        self, model: str, pair: dict[str, nn.Module], first: str, second: str
    ) -> tuple[float, float]:
        """Of forecasts and of all gradients as one vector: norm, relative to that of the first."""
        gradients = {}
        for kind, network in pair.items():
            network.train()
            network.zero_grad()
            self.loss(network).backward()
            found = {
                name.removeprefix("_orig_mod."): parameter.grad
                for name, parameter in network.named_parameters()
                if parameter.grad is not None
            }
            if kind != "plain" and first == "plain":
                found = importlib.import_module(f"plain.{model}").weights(found)
            gradients[kind] = torch.cat([found[name].flatten() for name in sorted(found)])
            network.eval()
        forecasts = {kind: self.forecast(network) for kind, network in pair.items()}

        def off(of: dict[str, Tensor]) -> float:
            return ((of[second] - of[first]).norm() / of[first].norm()).item()

        return off(forecasts), off(gradients)

    def seconds(self, work: Callable[[], Tensor]) -> tuple[float, Tensor]:
        if self.device.type == "cpu":
            start = time.process_time()
            result = work()
            return time.process_time() - start, result
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return time.perf_counter() - start, result

    def peak(self, model: str, kind: str) -> float:
        """Most memory of a step, MB, beyond the network; in a process of its own."""
        told = [sys.executable, __file__, "--models", model, "--peak-of", kind]
        told += ["--batch", str(self.options.batch), "--device", self.options.device]
        told += ["--precision", self.options.precision]
        told += ["--options", json.dumps(self.options.options)]
        out = subprocess.run(told, check=True, capture_output=True, text=True).stdout
        return float(out.split()[-1])

    def own_peak(self, model: str, kind: str) -> float:
        network = self.network(model, kind).train()
        if self.device.type == "cuda":
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            self.loss(network).backward()
            return (torch.cuda.max_memory_allocated() - before) / 1e6
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before = resident("VmRSS")
        self.loss(network).backward()
        return resident("VmHWM") - before

    def convolutions(self, network: nn.Module) -> float:
        """Part of the time of a step that is spent in convolutions."""
        network.train()
        with torch.profiler.profile() as profile:
            self.loss(network).backward()
        times = {event.key: event.self_cpu_time_total for event in profile.key_averages()}
        of_convolutions = sum(time for key, time in times.items() if "conv" in key.lower())
        return of_convolutions / sum(times.values())


def resident(what: str) -> float:
    """Memory of this process, MB (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    raise ValueError(what)


if __name__ == "__main__":
    main()
