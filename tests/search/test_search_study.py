"""The study: how trials are drawn, claimed, and found again."""

import multiprocessing
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from stp.core.job import Interrupted
from stp.core.journal import JOURNAL
from stp.search.space import Space
from stp.search.study import Study

SPACE = Space.of(
    {
        "budget": {"startup_trials": 3},
        "space": {
            "train.lr": {"low": 0.0001, "high": 1.0, "log": True},
            "options.layers": {"low": 1, "high": 4},
            "options.stack": {"choices": [[8, 8], [16]]},
        },
    },
    "space",
)
BASELINE = {"train.lr": 0.01, "options.stack": [16]}


def open_study(folder: Path) -> Study:
    return Study(folder, SPACE, BASELINE, seed=0, say=lambda text: None)


def finish(study: Study, trials: int) -> int:
    """Finish trials with a made-up criterion; returns how many were left to do."""
    done = 0
    while True:
        with study.claim(trials) as trial:
            if trial is None:
                return done
            values = study.values(trial)
            study.study.tell(trial, abs(values["train.lr"] - 0.1) + values["options.layers"])
        done += 1


def drawn(study: Study) -> list[dict]:
    return [study.values(trial) for trial in study.trials]


def test_the_first_trial_is_the_recipe_itself(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    finish(study, 1)
    assert BASELINE.items() <= drawn(study)[0].items()


def test_values_lie_in_the_space(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    finish(study, 8)
    for values in drawn(study):
        assert 0.0001 <= values["train.lr"] <= 1
        assert values["options.layers"] in (1, 2, 3, 4)
        assert values["options.stack"] in ([8, 8], [16])
    assert len({values["train.lr"] for values in drawn(study)}) == 8


def test_the_sampler_learns(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    finish(study, 25)
    criteria = [trial.value for trial in study.trials]
    assert min(criteria[3:]) < min(criteria[:3]), "better than what was drawn at random"
    assert sum(criteria[-8:]) < sum(criteria[1:9])


def test_a_study_that_is_opened_again_goes_on_as_if_it_had_not_been_closed(tmp_path: Path) -> None:
    finish(open_study(tmp_path / "whole"), 9)
    for trials in (2, 5, 9):
        finish(open_study(tmp_path / "parts"), trials)
    assert drawn(open_study(tmp_path / "parts")) == drawn(open_study(tmp_path / "whole"))


def test_there_are_never_more_trials_than_asked_for(tmp_path: Path) -> None:
    assert finish(open_study(tmp_path), 4) == 4
    assert finish(open_study(tmp_path), 4) == 0
    assert finish(open_study(tmp_path), 2) == 0
    assert finish(open_study(tmp_path), 6) == 2
    assert len(open_study(tmp_path).trials) == 6


def test_what_was_left_unfinished_is_taken_first_with_its_parameters(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    finish(study, 1)
    with study.claim(3) as left:
        before = study.values(left)
    again = open_study(tmp_path)
    with again.claim(3) as trial:
        assert trial.number == left.number == 1
        assert again.values(trial) == before


def test_a_trial_whose_process_died_while_it_drew_gets_the_parameters_it_would_have_had(
    tmp_path: Path,
) -> None:
    finish(open_study(tmp_path / "whole"), 5)
    study = open_study(tmp_path / "killed")
    finish(study, 4)
    study.study.ask()  # and dies
    finish(open_study(tmp_path / "killed"), 5)
    assert drawn(open_study(tmp_path / "killed")) == drawn(open_study(tmp_path / "whole"))


@pytest.mark.parametrize("whole", [1, 2, 5])
def test_a_trial_whose_process_died_between_two_parameters_gets_those_it_would_have_had(
    tmp_path: Path, whole: int
) -> None:
    """Also the first trial, which is the recipe as far as the space holds it."""
    finish(open_study(tmp_path / "whole"), whole)
    study = open_study(tmp_path / "killed")
    finish(study, whole - 1)

    class DiedError(Exception):
        pass

    def die(*_):
        raise DiedError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(DiedError):
        patch.setattr(optuna.Trial, "suggest_categorical", die)  # the second of three
        with study.claim(whole):
            pass
    finish(open_study(tmp_path / "killed"), whole)
    assert drawn(open_study(tmp_path / "killed")) == drawn(open_study(tmp_path / "whole"))


def test_trials_of_two_seeds_have_nothing_in_common(tmp_path: Path) -> None:
    studies = [Study(tmp_path / str(n), SPACE, BASELINE, n, lambda text: None) for n in (0, 1)]
    for study in studies:
        finish(study, 8)
    rates = [{values["train.lr"] for values in drawn(study)[1:]} for study in studies]
    assert not rates[0] & rates[1]


def test_a_trial_that_another_process_computes_is_not_taken(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    with study.claim(9) as mine, open_study(tmp_path).claim(9) as other:
        assert (mine.number, other.number) == (0, 1)


def test_a_torn_last_line_of_the_journal_is_cut_off(tmp_path: Path) -> None:
    finish(open_study(tmp_path), 3)
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"op_code": 5, "worker')
    study = open_study(tmp_path)
    finish(study, 5)
    assert [trial.state for trial in open_study(tmp_path).trials] == [TrialState.COMPLETE] * 5


def _work(folder: Path, counts) -> None:
    counts.put(finish(open_study(folder), 12))


@pytest.mark.long(part="processes")
def test_several_jobs_on_one_study_share_its_trials(tmp_path: Path) -> None:
    # Not forked: threads of libraries that other tests have started may hold locks for ever.
    context = multiprocessing.get_context("spawn")
    counts = context.Queue()
    jobs = [context.Process(target=_work, args=(tmp_path, counts)) for _ in range(3)]
    for job in jobs:
        job.start()
    shares = [counts.get(timeout=300) for _ in jobs]
    for job in jobs:
        job.join()
    assert sum(shares) == 12, shares
    found = open_study(tmp_path).trials
    assert [trial.number for trial in found] == list(range(12))
    assert {trial.state for trial in found} == {TrialState.COMPLETE}


def test_who_has_nothing_left_to_do_waits_for_the_others(tmp_path: Path) -> None:
    said: list[str] = []
    study = open_study(tmp_path)
    waiting = Study(tmp_path, SPACE, {}, 0, said.append, interrupted=lambda: bool(said))
    with study.claim(1), pytest.raises(Interrupted), waiting.claim(1) as trial:
        pytest.fail(f"took {trial}")
    assert said == ["waits for trials that run elsewhere: 1"]
