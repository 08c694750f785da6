"""A store of a few bytes: receipts, scores and a manifest, for tests of collect and render."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect.database import build
from stp.collect.refresh import build_database, collect_dimension
from stp.collect.scores import SCORES, collect
from stp.plan.manifests import kind_facts as kind_facts_of
from stp.plan.manifests import suite_facts
from stp.plan.suite import read_suites
from stp.run.results import rows_of
from stp.tasks import task as tasks

PUBLISHED = Path(__file__).parents[2] / "config" / "suites" / "predbench" / "published.csv"

Statistic = dict[str, Any]


def suite(name: str) -> dict[str, Any]:
    """What manifests say of a suite of config/."""
    return asdict(suite_facts(name, read_suites()[name]))


def convention_facts(higher_is_better: bool | None = None, **about: Any) -> dict[str, Any]:
    """What manifests say of a convention."""
    known = {"title": "", "unit": "1", "available": True, "reason": "", "description": ""}
    known |= {"success": None, "compares_sets": False}
    return known | {"higher_is_better": higher_is_better, "best_at": None} | about


def kind_facts(name: str) -> dict[str, Any]:
    """What manifests say of a kind of sample."""
    return vars(kind_facts_of(tasks.find(name)))


def dataset_facts(**about: Any) -> dict[str, Any]:
    """What manifests say of a dataset."""
    known = {
        "published_name": None,
        "kind": "frames",
        "domain": "motion",
        "shape": [1, 64, 64],
        "units": "1",
    }
    texts = dict.fromkeys(("homepage", "citation", "licence"), "")
    return known | texts | {"context": 10, "horizon": 10} | about


def model_facts(fit: str = "none", **about: Any) -> dict[str, Any]:
    """What manifests say of a model."""
    return {"reference": "", "fit": fit, "training": None} | about


def write_receipt(folder: Path, stage: str, **more: Any) -> None:
    """Write ``artefact.json`` with the checksums of what is in the folder."""
    files = {
        path.name: {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "artefact.json"
    }
    receipt = {
        "stage": stage,
        "path": "/".join(folder.parts[-3:]),
        "fingerprint": folder.name,
        "recipe": {"model": "convlstm"},
        "inputs": {},
        "code": {"fingerprint": "c" * 16, "modules": {}},
        "provenance": {
            "host": "node1",
            "device": "cpu",
            "python": "3.11.7",
            "packages": {"torch": "2.13.0"},
            "commit": "4b2fd97",
            "started": 0.0,  # 1970-01-01 00:00:00 UTC
            "finished": 90.0,
            "seconds": 90.0,
        },
        "extras": {},
        "files": files,
        **more,
    }
    (folder / "artefact.json").write_text(json.dumps(receipt))


def score_rows(key: dict[str, Any], values: dict[str, Statistic]) -> pa.Table:
    """Make score rows: convention -> {"mean": v, "low": v, "high": v, "reason": text, ...}.

    ``leads`` gives values per lead time, from lead 1, ``lead_ends`` their intervals;
    ``thresholds`` gives those at thresholds; ``clusters`` counts the independent clips.
    """
    rows = []
    for convention, given in values.items():
        common = {
            **key,
            "metric": convention.split(".")[0],
            "convention": convention,
            "variable": given.get("variable"),
            "reason": given.get("reason"),
        }
        n = given.get("n", 200)
        rows.append({**common, "statistic": "mean", "value": given["mean"], "n": n})
        for lead, value in enumerate(given.get("leads", []), start=1):
            if value is not None:  # such as the first months of a running mean
                rows.append({**common, "statistic": "mean", "value": value, "n": n, "lead": lead})
        for lead, ends in enumerate(given.get("lead_ends", []), start=1):
            for name, value in zip(("low", "high"), ends, strict=True):
                row = {**common, "statistic": f"ci95_{name}", "value": value, "n": 20}
                rows.append(row | {"lead": lead})
        for threshold, value in given.get("thresholds", {}).items():
            row = {**common, "statistic": "mean", "value": value, "n": n}
            rows.append(row | {"threshold": threshold})
        if "low" in given:
            clusters = given.get("clusters", 20)
            for name in ("low", "high"):
                row = {**common, "statistic": f"ci95_{name}", "value": given[name], "n": clusters}
                rows.append(row | {"reason": given.get("ci_reason")})
    return pa.Table.from_pylist(rows, SCORES)


def sample_rows(key: dict[str, Any], values: dict[str, Statistic]) -> pa.Table:
    """Make per-sample rows of two samples, two lead times each."""
    rows: list[dict[str, Any]] = []
    for sample in (0, 1):
        row = {**key, "sample": sample, "clip": f"clip{sample}", "cluster": "a", "variable": None}
        rows.append(row | {name: [0.5, 0.25 * sample] for name in values})
    fields = {
        **{name: SCORES.field(name).type for name in key},
        "sample": pa.int64(),
        "clip": pa.string(),
        "cluster": pa.string(),
        "variable": pa.string(),
        **{name: pa.list_(pa.float64()) for name in values},
    }
    return pa.Table.from_pylist(rows, pa.schema(list(fields.items())))


def table_column(heading: str, convention: str, **more: Any) -> dict[str, Any]:
    """A column of a table as manifests have it."""
    return {"heading": heading, "convention": convention, **more}


def bare_manifest(folder: Path, cells: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The manifest of a dimension of which nothing is known."""
    return {
        "dimension": "short_term",
        "suite": suite("predbench"),
        "scale": "demo",
        "code": "c" * 16,
        "store": str(folder),
        "cells": cells,
        **{name: {} for name in ("raw", "unavailable", "conventions", "tables", "models")},
        "kinds": {name: kind_facts(name) for name in ("frames", "tracks")},
        **{name: {} for name in ("datasets", "reproduction", "published_clips")},
        **{name: {"models": {}, "datasets": {}} for name in ("names", "published_names")},
        **dict.fromkeys(("published", "published_sha256")),
        **more,
    }


def cell_key(model: str, dataset: str, **more: Any) -> dict[str, Any]:
    """The key of a short-term cell of a model, trained and tested on a dataset."""
    names = {"suite": "predbench", "dimension": "short_term", "model": model, "variant": "default"}
    data = {"trained_on": dataset, "train_subset": "all", "tested_on": dataset, "subset": "test"}
    return names | data | {"setting": "horizon-10", "seed": None} | more


def bare_cell(key: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A cell of a manifest, on synthetic bytes."""
    whose = {"source": "synthetic", "release": "digits", "protocol": "demo", "subset_note": ""}
    paper = {"follows_paper": False, "bytes_of": [], "leaky": False, "best_of": 1}
    folders = {"data": "", "models": [], "predictions": None, "scores": ""}
    return {"key": key, "kind": "frames", **whose, **paper, **folders, **more}


class SmallStore:
    """Builds a store cell by cell, then writes the manifest.

    Args:
        folder: for all of it.
        published: file of published values, if a test looks at any: it has two thousand rows,
            and the suite has views of them, which are half of the work of building a database.
    """

    def lock(self, dataset: str, *, declared: bool = True, clips: int | None = None) -> None:
        """Lock one official raw file.

        Args:
            dataset: whose it is.
            declared: its checksum is.
            clips: of the test split, published and prepared.
        """
        one = {"bytes": 1, "sha256": "0" * 64}
        lock = self.folder / "store" / "raw" / dataset / "official.lock.json"
        lock.parent.mkdir(parents=True, exist_ok=True)
        whose = {"dataset": dataset, "release": "official", "source": "official"}
        lock.write_text(json.dumps({**whose, "files": {f"{dataset}.npy": one}}))
        data = self.folder / "store" / "data" / dataset / ("d" * 16)
        if clips is not None:
            data.mkdir(parents=True, exist_ok=True)
            write_receipt(data, "prepare", extras={"clips": {"test": clips}})
        self.manifest["raw"][dataset] = {
            **{"release": "official", "source": "official", "is_papers": True},
            **{"lock": str(lock), "data": str(data)},
            "files": [{"path": f"{dataset}.npy", **(one if declared else {})}],
            **{"registered": None, "registered_sha256": None},
            "clips": {} if clips is None else {"test": clips},
        }

    def __init__(self, folder: Path, published: Path | None = None) -> None:
        self.folder = folder
        self.cells: list[dict[str, Any]] = []
        self.manifest: dict[str, Any] = bare_manifest(folder / "store", self.cells) | {
            "unavailable": {"lpips.alex": "metric not available yet"},
            "conventions": {
                "ssim.range2": convention_facts(
                    True, title="Structural similarity", description="data range 2"
                ),
                "lpips.alex": convention_facts(False),
                "rmse.per_frame": convention_facts(False),
                "wrmse.per_frame": convention_facts(),
            },
            "tables": {
                "short_term": {
                    "columns": {
                        "moving_mnist": [
                            table_column("SSIM", "ssim.range2"),
                            table_column("LPIPS", "lpips.alex"),
                        ],
                        "enso": [table_column("RMSE", "rmse.per_frame")],
                        "cityscapes": [table_column("SSIM", "ssim.range2")],
                        "weatherbench": [
                            table_column("WRMSE", "wrmse.per_frame", variable="t2m"),
                            table_column("WRMSE", "wrmse.per_frame", variable="t850"),
                        ],
                    }
                }
            },
            "names": {
                "models": {"convlstm": "ConvLSTM", "persistence": "Persistence"},
                "datasets": {"moving_mnist": "Moving-MNIST", "enso": "ICAR-ENSO"},
            },
            "datasets": {
                name: dataset_facts()
                for name in ("moving_mnist", "enso", "cityscapes", "weatherbench")
            },
            "suite": suite("predbench") | ({} if published else {"views": {}}),
            "published": published and str(published),
            "published_names": {
                "models": {"convlstm": "ConvLSTM", "simvpv2": "SimVPv2"},
                "datasets": {
                    "moving_mnist": "MovingMNIST",
                    "enso": "ICAR-ENSO",
                    "cityscapes": "CityScapes",
                    "weatherbench": "WeatherBench",
                },
            },
        }

    def add(
        self,
        model: str,
        dataset: str,
        values: dict[str, Statistic],
        *,
        seed: int | None = None,
        official: bool = False,
        leaky: bool = False,
        best_of: int = 1,
        scored: bool = True,
        perceptual: dict[str, Statistic] | None = None,
        further_leads: tuple[int, ...] = (),
        features: tuple[str, ...] = (),
        **key: Any,
    ) -> dict[str, Any]:
        """Add a cell with all its artefacts; ``scored=False`` leaves the scores out.

        Args:
            further_leads: lead times that have trained models of their own, besides the first.
            features: paths of features of its clips, which other cells may share.
        """
        number = len(self.cells)
        for name in [*values, *(perceptual or {})]:  # the manifest knows what it asked for
            self.manifest["conventions"].setdefault(name, convention_facts())
        self.manifest["datasets"].setdefault(key.get("tested_on", dataset), dataset_facts())
        key = cell_key(model, dataset, seed=seed) | key
        store = self.folder / "store"
        name = f"short_term/predbench/{key['variant']}/{model}/{dataset}/seed-{seed}"
        folders = {
            "data": store / "data" / dataset / "d000000000000000",
            "predictions": store / "predictions" / name / f"b{number:015d}",
            "scores": store / "scores" / name / f"a{number:015d}",
        }
        if perceptual:
            folders["perceptual"] = store / "scores" / name / "perceptual" / f"c{number:015d}"
        if seed is not None:
            trained = store / "models" / dataset / model
            models = [trained / f"e{number:015d}"]
            models += [trained / f"lead-{lead}" / f"e{number:015d}" for lead in further_leads]
        else:
            models = []
        seen = [store / "features" / path / "f000000000000000" for path in features]
        made = [("model", folder) for folder in models]
        made += [("features", folder) for folder in seen]
        for stage, folder in (*folders.items(), *made):
            if stage == "scores" and not scored:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if stage in ("scores", "perceptual"):
                held = (perceptual or {}) if stage == "perceptual" else values
                pq.write_table(score_rows(key, held), folder / "scores.parquet")
                pq.write_table(sample_rows(key, held), folder / "sample_scores.parquet")
            made_by = {"data": "prepare", "scores": "score", "perceptual": "score"}
            write_receipt(folder, made_by.get(stage, stage))
        if official:
            self.lock(key["tested_on"])
        papers = {"source": "official", "release": "official", "protocol": "paper"}
        papers |= {"follows_paper": True, "bytes_of": [key["tested_on"]]}
        cell = bare_cell(
            key,
            leaky=leaky,
            best_of=best_of,
            **(papers if official else {}),
            **{stage: str(folder) for stage, folder in folders.items()},
            models=[str(folder) for folder in models],
            features=[str(folder) for folder in seen],
        )
        self.cells.append(cell)
        return cell

    def write(self) -> Path:
        """Write the manifest and return its path."""
        path = self.folder / "manifest.json"
        path.write_text(json.dumps(self.manifest))
        return path


def results(store: "SmallStore") -> Path:
    """Collect the cells of a store in the folders of a run; return the manifest there."""
    manifest = store.folder / "results" / "plan" / f"{store.manifest['dimension']}.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    store.write().rename(manifest)
    collect(manifest, rows_of(manifest))
    return manifest


def rebuilt(store: "SmallStore") -> Path:
    """Collect into the folder ``collected``, as jobs do, and build the database beside it."""
    collect_dimension(store.write(), store.folder / "collected" / "short_term.parquet")
    build_database(store.folder / "collected", store.folder / "results.duckdb")
    return store.folder / "results.duckdb"


def built(store: "SmallStore", name: str = "results.duckdb") -> Path:
    """Collect the cells of a store, and build its database."""
    manifest, rows = store.write(), store.folder / "short_term.parquet"
    collect(manifest, rows)
    build([manifest], [rows], store.folder / name)
    return store.folder / name
