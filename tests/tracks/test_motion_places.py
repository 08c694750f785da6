"""The datasets of Atlas as configured: the real sample bytes, prepared, beside what was counted.

The counts are those of independent loops over the same files (ETH: facts of the released code).
"""

import pytest
from parts import long_except

from stp.fetch.raw import fetch
from stp.plan import config
from stp.plan.cells import Plan
from stp.run import runner
from stp.tracks import prepared

EXPECTED = {
    # detections, people, scenarios and episodes of the test, obstacles, goals
    "atlas_eth": (8816, 360, 31, 8, 5506, 4),
    "atlas_hotel": (6544, 390, 5, 1, 5186, 22),
    "atlas_zara1": (5024, 148, 75, 9, 0, 0),
    "atlas_zara2": (9537, 204, 38, 6, 0, 4),
    "atlas_students3": (21846, 428, 4, 3, 0, 0),
    "atlas_thor1": (2139, 83, 14, 2, 38846, 5),
    "atlas_thor3": (2646, 116, 5, 2, 38981, 5),
    "atlas_chasing": (182, 2, 4, 1, 0, 0),
    "atlas_crossing": (190, 2, 5, 1, 0, 0),
    "atlas_opposing": (200, 2, 6, 1, 0, 0),
}


def plan_of(release: str, *names: str) -> Plan:
    return Plan.load({
        "scale": "places", "suite": "atlas", "dimensions": {}, "prepared": list(names),
        "datasets": {name: {"release": release} for name in names},
    })  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory, raw_mirror):
    folder = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(folder / "store"))
        patch.setenv("STP_RAW_DIR", str(folder / "raw"))
        yield plan_of("sample", *EXPECTED)


@pytest.mark.sample_bytes
@pytest.mark.parametrize("name", long_except([*EXPECTED][:3], EXPECTED, part="wide"))
def test_the_real_bytes_of_every_dataset(plan, name):
    runner.fetch(plan, plan.raw(name))
    runner.make(plan, plan.data(name))
    place = prepared.read(plan.store / plan.data(name).folder)
    dataset = plan.config.datasets[name]
    found = place.scenarios("test", "atlas-paper", dataset.context, dataset.horizon)
    assert (
        len(place.tracks),
        len(place.tracks.people()),
        len(found),
        len(set(found.episode)),
        0 if place.obstacles is None else len(place.obstacles.position),
        0 if place.goals is None else len(place.goals),
    ) == EXPECTED[name]
    assert found.dt == pytest.approx(0.4)


@pytest.mark.sample_bytes
def test_the_archive_of_ewap_holds_what_the_official_release_declares(plan, raw_mirror, tmp_path):
    """The light archive has the same files as the full one, without the videos."""
    archive = raw_mirror / "atlas/trajnetpp/ewap_dataset_light.tgz"
    for name in ("atlas_eth", "atlas_hotel"):
        release = config.load({"scale": "a", "dimensions": {}}).datasets[name].releases["official"]
        given = release.model_dump()
        given["archives"] = [{"path": "ewap_dataset_full.tgz", "into": "ewap", "strip": "any"}]
        (tmp_path / name).mkdir()
        (tmp_path / name / "ewap_dataset_full.tgz").symlink_to(archive)
        lock = tmp_path / f"{name}.lock.json"
        fetch(given, dataset=name, name="official", roots=[tmp_path / name], lock=lock)
        assert {file.path for file in release.files} <= {
            path.relative_to(tmp_path / name).as_posix() for path in (tmp_path / name).rglob("*")
        }


def test_every_dataset_says_what_its_bytes_are():
    for name, dataset in config.load({"scale": "a", "dimensions": {}}).datasets.items():
        if dataset.kind != "tracks" or name in ("atlas_groups", "atlas_around"):
            continue
        official = dataset.releases["official"]
        assert official.source == "official" and official.files
        for file in official.files:
            known = file.url or file.access != "open" or official.archives
            assert known and (file.access == "open" or file.instructions)
        assert "sample" in dataset.releases or name == "atlas_atc"
        assert (
            {"atlas-paper", "strict", "strict-relaxed"}
            == set(dataset.subsets)
            == set(dataset.train_subsets)
        )
