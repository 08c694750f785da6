"""Placeholder so that the workflow loads until the real module is written (helper A1 replaces all of it)."""

from dataclasses import dataclass
from typing import Any

from stp.cells import Artefact, Plan


@dataclass(frozen=True)
class Cost:
    gpus: int
    threads: int
    memory_mb: int
    seconds: float
    bytes: int
    files: int
    basis: str


class Costs:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def of(self, artefact: Artefact) -> Cost:
        threads = int(artefact.recipe.get(artefact.stage, {}).get("threads", 1))
        return Cost(self.plan.gpus(artefact), threads, 1500, 60.0, 0, 0, "placeholder")

    def of_raw(self, raw: Any) -> Cost:
        return Cost(0, 1, 1000, 60.0, 0, 0, "placeholder")
