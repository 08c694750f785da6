"""Do networks compute on a GPU what they compute on a CPU, and what does it take there?

Of each network that the published scale files train (config/paper.yaml, chaosbench.yaml, scv.yaml),
at its published size, on random frames with fresh weights:

- check: loss and gradient of two clips, in float32 on the GPU against one CPU thread, with the same
  weights and draws and without dropout; the loss in bf16. As in `stp train`, an operation for which
  torch has no deterministic algorithm is an error. Networks side by side, each in a process;
- time: a training step as `stp train` does it, on the published batch or the largest half of it
  that fits: in bf16 and float32, compiled, and with channels_last; its peak of allocated memory;
  forecasts per second. One network after the other, by the GPU's own clock.

The results are written as JSON after each part, so that nothing is lost where time runs out: the
same command goes on with the networks that are left.

    python benchmarks/gpu.py --out benchmarks/gpu_NVIDIA_H200.json
    python benchmarks/gpu.py --out /tmp/one.json --only 'convlstm on (kth|sevir)' --all
"""

import argparse
import gc
import json
import math
import multiprocessing
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from stp.core.errors import StpError
from stp.models.compute import Compute, set_up_compute
from stp.models.create import create
from stp.options.train import TrainOptions
from stp.plan.cells import Plan
from stp.profiling.measure import measure
from stp.profiling.steps import training_step
from stp.train.factories import loss_of

CONFIG = Path(__file__).parents[1] / "config"
SCALES = ("paper", "chaosbench", "scv")
CLIPS = 2
"""That are checked."""
ITERATION = 25_000
"""Of the check: about half of the frames are shown where sampling is scheduled."""
ATTEMPTS = 12
"""To compile while others need the GPU's memory."""
STEPS, SECONDS = 10, 1.0
"""At most so many steps are timed, and so long; three at least."""
KINDS = ("float32", "bf16", "compiled", "channels_last")

Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="file of the results, JSON")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: a trial")
    parser.add_argument("--only", default="", help="networks whose name has this pattern")
    parser.add_argument("--all", action="store_true", help="all sizes of a model, not its first")
    parser.add_argument("--check-s", type=float, default=600, help="for all checks (default: 600)")
    parser.add_argument("--time-s", type=float, default=900, help="for all times (default: 900)")
    parser.add_argument("--no-compile", action="store_true", help="leave out what is compiled")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="checks side by side")
    options = parser.parse_args()
    trainings = dict(published(options.all))
    trainings = {name: t for name, t in trainings.items() if re.search(options.only, name)}
    results = Results(options.out, options.device)
    trainings = {name: t for name, t in trainings.items() if not results.is_complete(name)}
    # The largest frames first: they take longest.
    order = sorted(trainings, key=lambda name: -math.prod(trainings[name]["shape"]))
    workers = {name: Worker(name, trainings[name], options) for name in order}
    begun = time.monotonic()
    waiting, running = list(workers), {}
    while (waiting or running) and time.monotonic() - begun < options.check_s:
        while waiting and len(running) < options.at_once:
            name = waiting.pop(0)
            running[workers[name].ask("check")] = name
        for pipe in wait(list(running), timeout=1):
            if workers[running[pipe]].answered(results):
                del running[pipe]
    for name in running.values():
        results.add(name, {"cut_short": f"not checked within {options.check_s:.0f} s"})
        workers[name].stop()
    begun = time.monotonic()
    for worker in workers.values():
        left = options.time_s - (time.monotonic() - begun)
        if left > 0:
            pipe = worker.ask("time")
            while (left := options.time_s - (time.monotonic() - begun)) > 0:
                if pipe.poll(left) and worker.answered(results):
                    break
        worker.stop()
    results.print()


def published(every: bool) -> Iterator[tuple[str, Json]]:
    """Name and recipe of a training of each network; of the first of each model unless `every`."""
    seen = set()
    for scale in SCALES:
        for artefact in Plan.load(CONFIG / f"{scale}.yaml").artefacts.values():
            recipe = artefact.recipe
            if artefact.stage != "train" or recipe.get("fit") != "sgd":
                continue
            size = {key: recipe[key] for key in ("options", "shape", "context", "horizon")}
            key = (recipe["model"], json.dumps(size) if every else "")
            if key not in seen:
                seen.add(key)
                yield artefact.label.partition(", seed")[0], recipe


class Results:
    """What is known, in a file at any time."""

    def __init__(self, path: Path, device: str) -> None:
        self.path = path
        name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
        self.known: Json = {
            "device": name,
            "torch": torch.__version__,
            "date": time.strftime("%Y-%m-%d"),
            "frames": "random",
            "networks": {},
        }
        if path.exists():
            before = json.loads(path.read_text())
            if all(before[key] == self.known[key] for key in ("device", "torch")):
                self.known["networks"] = before["networks"]

    def is_complete(self, name: str) -> bool:
        """Whether all of a network was measured: its forecasts are the last."""
        return "forecast" in self.known["networks"].get(name, {})

    def add(self, name: str, found: Json) -> None:
        def of(text: str) -> float:
            return float(f"{float(text):.7g}")

        rounded = json.loads(json.dumps(found), parse_float=of)
        self.known["networks"].setdefault(name, {}).update(rounded)
        self.path.write_text(json.dumps(self.known, indent=1) + "\n")

    def print(self) -> None:
        heads = ["loss", "gradient", "float32", "bf16", "compiled", "ch. last", "GB", "forecasts/s"]
        print(f"{'':32}" + "".join(f"{head:>12}" for head in heads))
        for name, found in self.known["networks"].items():
            cells = [
                _short(found.get("loss_difference")),
                _short(found.get("gradient_difference")),
                *(_short(found.get(p, {}).get("step_s")) for p in KINDS),
                _short(found.get("bf16", {}).get("peak_gb")),
                _short(found.get("forecast", {}).get("forecasts_per_s")),
            ]
            print(f"{name:32}" + "".join(f"{cell:>12}" for cell in cells))
            for key in ("error", "not_compiled", "cut_short"):
                if found.get(key):
                    print(f"{'':4}{key}: {found[key]}")


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"


class Worker:
    """A process for one network: started when first asked, asked again after it has answered."""

    def __init__(self, name: str, recipe: Json, options: argparse.Namespace) -> None:
        self.name, self.recipe, self.options = name, recipe, options
        self.process: Any = None

    def ask(self, what: str) -> Connection:
        if self.process is None:
            spawn = multiprocessing.get_context("spawn")
            self.pipe, theirs = spawn.Pipe()
            self.process = spawn.Process(
                target=serve, args=(theirs, self.recipe, self.options), daemon=True
            )
            self.process.start()
            theirs.close()
        self.pipe.send(what)
        return self.pipe

    def answered(self, results: Results) -> bool:
        """Take what it says; whether that was all."""
        try:
            found = self.pipe.recv()
        except EOFError:
            found = {"error": "the process died", "end": True}
            self.stop()
        ended = found.pop("end", False)
        results.add(self.name, found)
        return bool(ended)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process = None


def serve(pipe: Connection, recipe: Json, options: argparse.Namespace) -> None:
    """What a worker does: all that it is asked for, in parts that count by themselves."""
    network = Network(recipe, options)
    while True:
        for part in {"check": network.checks, "time": network.times}[pipe.recv()]():
            try:
                pipe.send(part())
            except (RuntimeError, StpError) as error:
                pipe.send({"error": _first_line(error)})
            network.forget()
        pipe.send({"end": True})


class Network:
    """A network, and what is found out about it."""

    def __init__(self, recipe: Json, options: argparse.Namespace) -> None:
        self.recipe, self.device, self.compiles = recipe, options.device, not options.no_compile
        self.train = TrainOptions.from_recipe(recipe["train"])
        self.compiled: tuple[int, Callable[[], Tensor]] | None = None

    def checks(self) -> Iterator[Callable[[], Json]]:
        yield self.compare
        if self.compiles:
            yield self.compile

    def times(self) -> Iterator[Callable[[], Json]]:
        if self.compiles:
            yield lambda: {"compiled": self.compiled_steps()}
        yield lambda: {"bf16": self.steps("bf16")}
        yield lambda: {"float32": self.steps("float32")}
        own = self.train.precision
        yield lambda: {"channels_last": self.steps(own, channels_last=True)}
        yield self.forecasts

    def compare(self) -> Json:
        """Losses and gradients of a few clips, on the GPU and on the CPU."""
        begun = time.perf_counter()
        loss, gradient = self.gradient("cpu", "float32")
        found: Json = {
            "parameters": gradient.numel(),
            "loss_cpu": loss,
            "cpu_s": time.perf_counter() - begun,
        }
        loss, there = self.gradient(self.device, "float32")
        found["loss_gpu"] = loss
        found["loss_difference"] = abs(loss - found["loss_cpu"]) / abs(found["loss_cpu"])
        found["gradient_difference"] = ((there - gradient).norm() / gradient.norm()).item()
        found["loss_bf16"], _ = self.gradient(self.device, "bf16")
        return found

    def gradient(self, device: str, precision: str) -> tuple[float, Tensor]:
        """The loss, and all gradients as one vector on the CPU."""
        with set_up_compute(device, 1, precision) as compute, DrawnOnCpu():
            torch.manual_seed(0)
            model = create(self.recipe).to(compute.device).train()
            model.begin_epoch(0)
            plain = replace(self.train, loss=self.train.loss and "mse", targets=())
            loss_at = loss_of(model, plain, self.recipe["context"], self.recipe["model"], None)
            length = self.recipe["context"] + self.recipe["horizon"]
            draw = torch.Generator().manual_seed(1)
            clips = torch.rand(CLIPS, length, *self.recipe["shape"], generator=draw)
            torch.manual_seed(2)
            with compute.autocast():
                loss = loss_at(clips.to(compute.device), ITERATION)
            loss.backward()
            gradients = [p.grad.flatten().cpu() for p in model.parameters() if p.grad is not None]
            return loss.item(), torch.cat(gradients)

    def compile(self) -> Json:
        """Compile for the published batch, which takes long; steps are timed later."""
        begun = time.perf_counter()
        train = replace(self.train, compiled=True)
        with set_up_compute(self.device, 1, train.precision) as compute:
            for attempt in range(ATTEMPTS):
                try:
                    self.compiled = self.fitting(compute, train, attempt)
                    break
                except torch.OutOfMemoryError:  # others compile, too, and need memory
                    self.forget()
                    time.sleep(5)
                except Exception as error:  # compilers fail in many ways
                    return {"not_compiled": f"{type(error).__name__}: {_first_line(error)}"}
        self.forget()
        return {"compile_s": time.perf_counter() - begun}

    def steps(self, precision: str, **changes: bool) -> Json:
        """Seconds of a training step, and the most memory that it takes."""
        with set_up_compute(self.device, 1, precision) as compute:
            batch, step = self.fitting(compute, replace(self.train, **changes))
            return {"batch": batch, "precision": precision, **self.timed(step)}

    def compiled_steps(self) -> Json:
        """The same of what was compiled."""
        if self.compiled is None:
            return {}
        batch, step = self.compiled
        self.compiled = None  # the memory of what follows is measured without it
        with set_up_compute(self.device, 1, self.train.precision):
            return {"batch": batch, "precision": self.train.precision, **self.timed(step)}

    def fitting(
        self, compute: Compute, train: TrainOptions, attempt: int = ATTEMPTS
    ) -> tuple[int, Callable[[], Tensor]]:
        """The largest batch that fits, and a step of it, which was done twice.

        Before the last attempt, only the published batch will do.
        """
        batch = train.batch_size if self.device == "cuda" else CLIPS
        while True:
            try:
                _, step = training_step(self.recipe, train, compute, batch)
                step(), step()
                return batch, step
            except torch.OutOfMemoryError:
                if batch == 1 or attempt < ATTEMPTS - 1:
                    raise
            step = None
            self.forget()
            batch //= 2

    def forget(self) -> None:
        """Give memory back that nothing uses, to other processes."""
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def timed(self, step: Callable[[], Tensor]) -> Json:
        if self.device == "cpu":
            begun = time.perf_counter()
            step()
            return {"step_s": time.perf_counter() - begun, "steps": 1}
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        durations: list[float] = []
        while len(durations) < 3 or (len(durations) < STEPS and sum(durations) < SECONDS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            step()
            end.record()
            end.synchronize()
            durations.append(start.elapsed_time(end) / 1000)
        peak = torch.cuda.max_memory_allocated() / 1e9
        return {"step_s": statistics.median(durations), "steps": len(durations), "peak_gb": peak}

    def forecasts(self) -> Json:
        """Forecasts per second of 16 clips in the precision of the training, as in Table 19."""
        batch = 16 if self.device == "cuda" else 1
        speed = measure(
            self.recipe,
            precision=self.train.precision,
            device=self.device,
            batch=batch,
            seconds=0.3,
            training=False,
        )["speed"]
        kept = {key: speed["forecast"][key] for key in ("forecasts_per_s", "frames_per_s", "basis")}
        return {"forecast": {"batch": batch, "precision": self.train.precision, **kept}}


class DrawnOnCpu(TorchFunctionMode):
    """All draws come from the CPU's generator, and nothing is dropped out."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Json | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout):
            return args[0]
        if func in (torch.randn_like, torch.rand_like):
            return func(torch.empty_like(args[0], device="cpu"), **kwargs).to(args[0].device)
        if func in (torch.rand, torch.randn, torch.randint) and "generator" not in kwargs:
            device = kwargs.pop("device", "cpu")
            return func(*args, **kwargs, device="cpu").to(device)
        return func(*args, **kwargs)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]


if __name__ == "__main__":
    main()
