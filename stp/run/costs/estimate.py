"""Estimated costs of jobs: time, GPUs, memory, storage, each with its assumption.

Time is an amount of work (stp.run.costs.work) divided by a rate. The rate is that of earlier jobs
of this store with the same kind of work, GPUs and threads, else that of steps measured by `stp plan
--measure`, else a constant of config/costs.yaml. Estimates cannot change a result.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, Strict, check, read_yaml
from stp.run.costs.durations import Durations
from stp.run.costs.facts import Facts, Unknown
from stp.run.costs.steps import Steps
from stp.run.costs.work import Work, Workload

TORCH_STAGES = ("train", "predict", "features")
GPU_COPIES = 4
"""Copies of the weights on a GPU in training: weights, gradients, two moments of Adam."""
COPIES = GPU_COPIES + 1
"""Copies of the weights in training, with the best weights."""
MEMORY_HEADROOM = 1.25
"""Requested memory as a multiple of the estimate: a job that vanishes near its limit counts as out
of memory."""
ROUND_MB = 100
LEAST_MB = 1000


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a job.

    Attributes:
        gpus: number of GPUs.
        threads: number of CPU threads of each process of the job.
        memory_mb: main memory to request for Snakemake and all processes of the job, in MB.
        seconds: wall time of the job, in seconds.
        bytes: size of the result in bytes.
        files: maximum number of files of the result.
        basis: assumptions behind the time, and behind the memory of GPUs, as text; several are
            separated by semicolons.
        gpu_mb: memory of a training run on each GPU in MB; None for other jobs.
        computing_s: wall time of the computation, without the start of the job, in seconds.
        reading_s: wall time of reading frames during the computation, in seconds.
    """

    gpus: int
    threads: int
    memory_mb: int
    seconds: float
    bytes: int
    files: int
    basis: str
    gpu_mb: int | None = None
    computing_s: float = 0.0
    reading_s: float = 0.0


class Start(Strict):
    """Overhead of a job (time besides its work, such as starting Python), in seconds.

    Attributes:
        fetch, prepare, train, predict, features, score: overhead of a job of this stage.
        table: overhead of a job that collects or renders.
        gpu: additional overhead of a job on a GPU.
    """

    fetch: float
    prepare: float
    train: float
    predict: float
    features: float
    score: float
    table: float
    gpu: float


class Rates(Strict):
    """Rates by which amounts of work are divided to estimate durations; each per second.

    Attributes:
        gpu_gmacs: 10^9 multiply-adds of networks on a GPU.
        cpu_gmacs: 10^9 multiply-adds of networks on one CPU thread.
        read_mb: MB of frames read.
        frames_mb: MB of frames that models without a network read, forecast and write.
        score_mvalues: 10^6 predicted values, times the number of conventions (exact definitions of
            metrics) that score them.
        prepare_mb: MB of raw and prepared data together, by one process of a preparation.
        download_mb: MB downloaded.
        generate_mb: MB of raw files made by a generator; their size is taken to be that of the
            prepared data that they become.
    """

    gpu_gmacs: float
    cpu_gmacs: float
    read_mb: float
    frames_mb: float
    score_mvalues: float
    prepare_mb: float
    download_mb: float
    generate_mb: float


class Memory(Strict):
    """Memory of a job in MB.

    Attributes:
        snakemake: memory of Snakemake in the job.
        python: memory of Python and its libraries, without torch.
        torch: memory of Python and its libraries, with torch.
        gpu: main memory that CUDA needs.
        fit: memory of a closed-form fit.
        score: memory of the blocks of frames that are scored.
        prepare: maximum memory of one process of a reader.
        per_gmac: memory of a clip's activations for the backward pass, per 10^9 multiply-adds of
            its forecast; for networks without ``activations_mb``.
        per_mb: memory of a clip's activations for the backward pass, per MB of its float32 frames;
            is added to the memory by ``per_gmac``.
    """

    snakemake: float
    python: float
    torch: float
    gpu: float
    fit: float
    score: float
    prepare: float
    per_gmac: float
    per_mb: float


class Files(Strict):
    """Maximum number of files of an artefact.

    Attributes:
        fetch, prepare, train, predict, features, score: number of files of this stage.
        table: number of files of a table.
    """

    fetch: int
    prepare: int
    train: int
    predict: int
    features: int
    score: int
    table: int


class Constants(Strict):
    """Constants of the estimates of `stp plan` (config/costs.yaml).

    Attributes:
        start_s: overhead of a job in seconds.
        rates: work per second, by kind of work.
        unknown: assumptions where the configuration has no values.
        memory_mb: memory of a job in MB.
        files: maximum number of files of an artefact.
    """

    start_s: Start
    rates: Rates
    unknown: Unknown
    memory_mb: Memory
    files: Files


WORDS = {
    "gpu_gmacs": "networks on a GPU: multiply-adds at {rate:,.0f} G/s, assumed",
    "cpu_gmacs": "networks on CPUs: multiply-adds at {rate:g} G/s and thread, assumed",
    "frames_mb": "models without a network: frames at {rate:g} MB/s",
    "score_mvalues": "scores: predicted values x conventions at {rate:g} M/s",
    "prepare_mb": "preparation: raw and prepared bytes at {rate:g} MB/s and process, assumed",
    "download_mb": "downloads: {rate:g} MB/s, assumed",
    "generate_mb": "generated data: {rate:g} MB/s",
}
OWN_SPEED = (
    "networks on a GPU: multiply-adds at each model's speed, published or measured on an H200"
)
MEASURED = "{kind}: measured on this store, {jobs} job(s) of more than a minute"
STEPS = "steps of {model} on {dataset}, on random frames: measured on {device} on {date}"
SHARING = ", and the same speed in each of {ranks} processes"
SCORING = (
    "forecasts that take less time than their scores: predicted values x conventions at "
    "{rate:g} M/s and thread"
)
GPU_MEMORY = (
    "GPU memory of a training: weights, gradients, two moments of Adam, and activations of a batch "
    "in float32, {how}"
)
COUNTED, ASSUMED = "counted on the module, not measured", "assumed by multiply-adds"
READING = "networks that compute faster than frames are read: {rate:g} MB/s, assumed"


class Costs:
    """Estimates the costs of the jobs of a plan: time, GPUs, memory and storage.

    Estimates are cached.

    Args:
        plan: the plan.

    Raises:
        StpError: config/costs.yaml is missing or wrong.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        path = CONFIG_FOLDER / "costs.yaml"
        self.constants = check(Constants, read_yaml(path), str(path))
        memory = self.constants.memory_mb
        facts = Facts(plan, self.constants.unknown)
        self.workload = Workload(plan, facts, memory.per_gmac, memory.per_mb)
        self._known: dict[str, Cost] = {}

    @cached_property
    def _measured_rates(self) -> dict[tuple[str, int, int], tuple[float, int]]:
        return Durations(self.plan.store / "state" / "durations.jsonl").rates()

    @cached_property
    def _steps(self) -> Steps:
        return Steps(self.plan)

    def of(self, artefact: Artefact) -> Cost:
        """Estimate the cost of the job that makes an artefact."""
        # Seeds cost alike; the folder of prepared data has none.
        key = artefact.folder
        if artefact.stage != "prepare":
            key = key.rsplit("/", 2)[0]
        if key not in self._known:
            self._known[key] = self._of(artefact)
        return self._known[key]

    def of_raw(self, raw: Raw) -> Cost:
        """Estimate the cost of fetching the raw files of a release.

        The result's ``bytes`` are those of the raw files. Its ``files`` are only those in the
        store, such as the lock file.
        """
        if raw.lock not in self._known:
            work = self.workload.of_raw(raw)
            rate = getattr(self.constants.rates, work.rate)
            self._known[raw.lock] = Cost(
                gpus=0,
                threads=1,
                memory_mb=self._memory_to_request(self.constants.memory_mb.python),
                seconds=self.constants.start_s.fetch + work.amount / rate,
                bytes=round(work.bytes),
                files=self.constants.files.fetch,
                basis="; ".join([WORDS[work.rate].format(rate=rate), *work.unknown]),
            )
        return self._known[raw.lock]

    def of_table(self) -> Cost:
        """Estimate the cost of collecting or rendering one table."""
        return Cost(
            gpus=0,
            threads=1,
            memory_mb=self._memory_to_request(self.constants.memory_mb.python),
            seconds=self.constants.start_s.table,
            bytes=0,
            files=self.constants.files.table,
            basis="tables: a few seconds",
        )

    def processors(self, artefact: Artefact) -> int:
        """Count the CPU threads of all processes of the job that makes an artefact."""
        return self._threads(artefact) * self.plan.ranks(artefact)

    def _threads(self, artefact: Artefact) -> int:
        return self.plan.threads(artefact)

    def _of(self, artefact: Artefact) -> Cost:
        work = self.workload.of(artefact)
        seconds, computing, reading, basis = self._seconds(artefact, work)
        gpu_mb = self._gpu_mb(artefact, work)
        of_gpu = GPU_MEMORY.format(how=COUNTED if work.is_counted else ASSUMED)
        return Cost(
            gpus=self.plan.gpus(artefact),
            threads=self._threads(artefact),
            memory_mb=self._memory_mb(artefact, work),
            seconds=seconds,
            bytes=round(work.bytes),
            files=self._files(artefact),
            basis="; ".join([basis, *work.unknown, *([of_gpu] if gpu_mb else [])]),
            gpu_mb=gpu_mb,
            computing_s=computing,
            reading_s=reading,
        )

    def _files(self, artefact: Artefact) -> int:
        files: int = getattr(self.constants.files, artefact.stage)
        return files + (self.constants.files.predict if artefact.is_rollout else 0)

    def _seconds(self, artefact: Artefact, work: Work) -> tuple[float, float, float, str]:
        """Wall times of a job, of its computation and of its reading, with their assumptions."""
        gpus, threads = self.plan.gpus(artefact), self.processors(artefact)
        start: float = getattr(self.constants.start_s, artefact.stage)
        start += self.constants.start_s.predict if artefact.is_rollout else 0
        start += self.constants.start_s.gpu if gpus else 0
        reading = work.reading_mb / self.constants.rates.read_mb
        measured = self._measured_rates.get((artefact.work, gpus, threads))
        if measured:
            rate, jobs = measured
            basis = MEASURED.format(kind=artefact.work, jobs=jobs)
            return start + work.amount / rate, work.amount / rate, reading, basis
        rate = getattr(self.constants.rates, work.rate)
        basis = WORDS[work.rate].format(rate=rate)
        if work.rate == "gpu_gmacs":
            if work.gpu_gmacs_per_s:
                rate, basis = work.gpu_gmacs_per_s, OWN_SPEED
            rate *= gpus
        elif work.rate in ("cpu_gmacs", "prepare_mb"):
            rate *= threads
        computing = work.amount / rate
        step = self._steps.of(artefact) if work.trained or work.forecasts else None
        if step is not None:
            ranks = self.plan.ranks(artefact)
            computing = work.trained * step.train_s + work.validated * step.validate_s
            computing = (computing + work.forecasts * step.forecast_s) / ranks
            basis = STEPS.format(
                model=(artefact.forecast or artefact.recipe)["model"],
                dataset=artefact.dataset,
                device=step.device,
                date=step.date,
            ) + (SHARING.format(ranks=ranks) if ranks > 1 else "")
        if reading > computing:  # frames are read ahead, so the slower of the two counts
            basis = READING.format(rate=self.constants.rates.read_mb)
        scoring = work.scored_mvalues / (self.constants.rates.score_mvalues * threads)
        if scoring > max(computing, reading):  # the slower of the two counts here, too
            basis = SCORING.format(rate=self.constants.rates.score_mvalues)
        return start + max(computing, reading, scoring), computing, reading, basis

    def _gpu_mb(self, artefact: Artefact, work: Work) -> int | None:
        """Memory of a training run on each GPU, MB: processes share the batch; each has all
        weights.
        """
        if not work.trained or not self.plan.gpus(artefact):
            return None
        return round(GPU_COPIES * work.weights_mb + work.activations_mb / self.plan.ranks(artefact))

    def _memory_mb(self, artefact: Artefact, work: Work) -> int:
        """Memory of a job in MB: of Snakemake, and of all processes that compute."""
        memory, gpus = self.constants.memory_mb, self.plan.gpus(artefact)
        ranks = self.plan.ranks(artefact)
        if artefact.stage not in TORCH_STAGES and not artefact.is_rollout:
            megabytes = memory.python
            if artefact.stage == "prepare":
                megabytes = (megabytes + min(memory.prepare, work.batch_mb)) * self._threads(
                    artefact
                )
            else:
                megabytes += memory.score + 20 * work.batch_mb
            return self._memory_to_request(megabytes)
        megabytes = memory.torch + 2 * work.batch_mb / ranks
        megabytes += memory.gpu if gpus else work.activations_mb / ranks
        if artefact.forecast is not None:
            megabytes += work.weights_mb
            if (
                artefact.is_rollout and artefact.stage == "score"
            ):  # a block for each thread, and copies
                megabytes += memory.score + 20 * work.block_mb * self._threads(artefact)
        elif artefact.stage == "features":
            megabytes += work.weights_mb
        elif artefact.recipe["fit"] == "sgd":
            megabytes += COPIES * work.weights_mb
        else:
            megabytes += memory.fit
        if ranks > 1:  # ranks compute, and another process waits
            megabytes = memory.torch + megabytes * ranks
        return self._memory_to_request(megabytes)

    def _memory_to_request(self, megabytes: float) -> int:
        total = MEMORY_HEADROOM * (self.constants.memory_mb.snakemake + megabytes)
        return max(LEAST_MB, ROUND_MB * math.ceil(total / ROUND_MB))
