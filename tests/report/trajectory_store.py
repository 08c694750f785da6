"""A results store of people only, through the real stages: two ways cross, two models."""

from pathlib import Path

import numpy as np
import pandas as pd

from stp.collect.refresh import build_database, collect_dimension
from stp.plan.cells import Plan
from stp.run import runner, workflow_files
from stp.tracks import generators

OBSERVED, FUTURE, SAMPLES = 4, 6, 3
SCALE = """
scale: people
suite: atlas
dimensions:
  atlas_synthetic:
    models: [constant_velocity, social_force]
    cells:
      - {trained_on: hall, train_subset: strict, subset: strict, models: [social_force]}
      - {trained_on: hall, subset: strict, models: [constant_velocity]}
models:
  social_force: {train: {trials: 2}}
  constant_velocity: {predict: {samples: 3}}
datasets:
  hall:
    title: Hall
    kind: tracks
    context: 4
    horizon: 6
    units: m
    reader: tracks
    prepare: {format: columns, files: [hall.csv], dt: 0.1, decimate: 4, calibration: 0.3,
      columns: {frame: frame, person: person, x: x, y: y}, smooth: 0, map: {discs: pillars.txt}}
    metrics: [displacement.by_scenario, final_displacement.by_scenario]
    subsets: {strict: {title: no future}}
    train_subsets: {strict: {title: no future}}
    release: own
    releases: {own: {source: own, files: [{path: hall.csv}, {path: pillars.txt}]}}
"""


def make_store(folder: Path) -> Path:
    """Make everything below a folder.

    Returns:
        results.duckdb, beside the folders ``plan`` and ``store``.
    """
    parts = []
    for number in range(5):
        met = generators.crossing(angle=50 + 10 * number, late=0.1 * number)
        columns = {
            "frame": met.frame.astype(int) + 200 * number,
            "person": met.person + 10 * number,
        }
        parts.append(pd.DataFrame({**columns, "x": met.position[:, 0], "y": met.position[:, 1]}))
    pd.concat(parts).to_csv(folder / "hall.csv", index=False)
    np.savetxt(folder / "pillars.txt", [[0.0, 3.0, 0.5], [0.0, -3.0, 0.5]])
    scale = folder / "people.yaml"
    scale.write_text(f"{SCALE}paths: {{store: {folder}/store, raw: {folder}}}\n")
    plan = Plan.load(scale)
    runner.fetch(plan, plan.raw_of("hall"))
    for stage in ("prepare", "train", "predict", "score"):
        for artefact in plan.artefacts.values():
            if artefact.stage == stage:
                runner.make(plan, artefact)
    (path,) = workflow_files.write_manifests(plan, results=folder).values()
    collect_dimension(path, folder / "collected" / path.with_suffix(".parquet").name)
    build_database(folder / "collected", folder / "results.duckdb")
    return folder / "results.duckdb"
