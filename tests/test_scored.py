"""What a suite has scored, of single forecasts and of ensembles."""

from pathlib import Path

from stp.plan import config
from stp.plan.checked_config import merge, read_yaml
from stp.plan.scored_conventions import ScoredConventions

SCALE = Path(__file__).parent / "workflow" / "tiny_atlas.yaml"


def test_conventions_of_ensembles_are_scored_of_several_samples_alone():
    given = config.load(merge(read_yaml(SCALE), {}))
    scored = ScoredConventions(given, {})
    tested = [name for name, row in given.suite.datasets.items() if row in given.suite.ensembles]
    assert tested
    for dataset in tested:
        extra = set(given.suite.ensembles[given.suite.datasets[dataset]])
        single, several = (scored.conventions(dataset, samples) for samples in (1, 5))
        assert set(single) < set(several) and extra <= {*several} - {*single}
        assert several[: len(single)] == single
