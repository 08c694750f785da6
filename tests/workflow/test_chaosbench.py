"""The demo of ChaosBench: generated archives to tables and figures, with three centres less.

Networks are trained for a second each, in all schemes; `test_beats_persistence.py` trains them
for as long as the demo does.
"""

import numpy as np
import pytest
import yaml
from asking import csv_rows
from checkout import Checkout

from stp.plan.manifest import load_manifest
from stp.render.pictures.forecasts import compare

pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]
SCALE = "config/chaosbench-demo.yaml"
TABLES = ("results/tables/s2s_control.csv", "results/tables/s2s_ensemble.csv")
FINDINGS = "results/tables/s2s_findings.csv"
FIGURES = [
    f"results/chaosbench-demo/figures/{name}/chaosbench.png"
    for name in (
        *(
            f"s2s_control/{kind}"
            for kind in ("leads", "lead_means", "strips", "detail", "waves", "front")
        ),
        *(f"s2s_ensemble/{kind}" for kind in ("gain", "rank_histogram")),
    )
]
CONTROL = ["persistence", "daily_climatology", "ecmwf", "unet", "resnet", "climax"]
NETWORKS = ("UNet", "ResNet", "ClimaX", "VAE")
LEADS = {1, 5, 10, 15, 20, 25, 30, 35, 40, 44}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("chaosbench")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    path = checkout.folder / SCALE
    scale = yaml.safe_load(path.read_text())
    control, ensemble = scale["dimensions"].values()
    control["models"] = CONTROL
    cells, control["cells"] = control["cells"], []
    for cell in cells:
        if "models" in cell:
            cell["models"] = [model for model in cell["models"] if model in CONTROL]
        if cell.get("models") != []:
            control["cells"].append(cell)
    ensemble["models"] = ["ecmwf_ensemble", "vae", "resnet"]
    for quick in ("unet", "resnet", "climax", "vae"):
        scale["models"][quick]["train"] |= {"epochs": 1, "max_clips": 64, "max_val_clips": 4}
    del scale["models"]["probabilistic_climatology"], scale["models"]["ncep_ensemble"]
    path.write_text(yaml.safe_dump(scale))
    checkout.succeed(
        "snakemake", "--profile", "local", "--configfile", SCALE, "--", *TABLES, FINDINGS, *FIGURES
    )
    return checkout


def test_tables_have_a_row_for_each_model_and_say_that_bytes_are_made_up(demo: Checkout) -> None:
    numbers = []
    for name in TABLES:
        found = csv_rows(demo.folder / name)
        numbers.append(len(found))
        assert all(row["source"] == "synthetic" and row["comparable"] == "NO" for row in found)
        assert all(float(row["z500 RMSE day 1"]) > 0 for row in found)
        for row in found:
            if row["t850 RMSE"]:  # the grid is too small for five scales
                structure = float(row["t850 MS-SSIM 3 scales"])
                # 0 where a factor is negative: forecasts that a hasty training lets drift off.
                is_network = row["model"].startswith(NETWORKS)
                assert 0 <= structure <= 1 and (structure > 0 or is_network), row["model"]
    # UNet with 5 steps, for Task 2 and twice for spectra; ResNet for Task 2, in three direct ways,
    # without land and ocean, and for another loss; ClimaX for Task 2. An ensemble of a centre, of
    # draws, and of trainings. Besides, on starts of another year: all networks.
    assert numbers == [len(CONTROL) + 4 + 6 + 1 + 4, 3 + 1]


def test_direct_forecasts_have_values_at_their_own_lead_times_alone(demo: Checkout) -> None:
    found = demo.ask(
        "select variant, lead from scores where convention = 'wrmse.pooled' and variable ="
        " 't850' and variant like '%direct%' and statistic = 'mean' and value is not null"
        " and lead is not null"
    )
    leads = {name: {lead for variant, lead in found if variant == name} for name, _ in found}
    between = leads.pop("direct_interpolated")
    assert leads == {"direct": LEADS, "task2_direct": LEADS} and between == set(range(1, 45))


def test_curves_have_both_numbers_of_steps(demo: Checkout) -> None:
    """Figure S7: three scores of UNet, trained with 1 and with 5 steps, at all lead times."""
    found = demo.ask(
        "select variant, convention, count(distinct lead) from scores where model = 'unet' and"
        " subset = 'test' and variable = 't850' and statistic = 'mean' and value is not null"
        " and lead is not null and variant in ('default', 'steps5') and convention in"
        " ('wrmse.pooled', 'ms_ssim.own_range_three_scales',"
        " 'spectral_divergence.high_wavenumbers') group by all"
    )
    assert len(found) == 6 and {leads for _, _, leads in found} == {44}


def test_maps_have_all_schemes_of_both_tasks(demo: Checkout) -> None:
    """Figures S8 to S16: autoregressive with 5 steps, direct, and told the lead time."""
    plan = demo.folder / "results/chaosbench-demo/plan/s2s_control.json"
    shown = {one.label: one for one in compare(load_manifest(plan), "chaosbench").forecasts}
    for model, *variants in (
        ("UNet", "steps5", "task2_steps5"),
        ("ResNet", "direct", "task2_direct"),
        ("ClimaX", "default", "task2"),
    ):
        for variant in variants:
            frames = shown[f"{model}, {variant}"].frames
            there = np.flatnonzero(np.isfinite(frames).all(axis=(1, 2, 3))) + 1
            assert set(there.tolist()) == (LEADS if model == "ResNet" else set(range(1, 45)))


def test_ensembles_of_all_kinds_are_scored_alike(demo: Checkout) -> None:
    """Centres, draws of the VAE and trainings: four, four and five members."""
    found = demo.ask(
        "select model, convention, count(distinct threshold) from scores where variable ="
        " 'z500' and lead = 7 and statistic = 'mean' and value is not null and convention in"
        " ('crps.weighted', 'crpss.climatology', 'spread.weighted_skill_ratio',"
        " 'rank_histogram.weighted') group by all"
    )
    number = {(model, convention): count for model, convention, count in found}
    members = {"ecmwf_ensemble": 4, "vae": 4, "resnet": 5}
    assert len(number) == 4 * len(members)
    for model, count in members.items():
        assert number[model, "rank_histogram.weighted"] == count + 1


def test_schemes_and_tasks_are_compared(demo: Checkout) -> None:
    rows = [row for row in csv_rows(demo.folder / FINDINGS) if row["side"] == "ours"]
    for finding, part in (("5", "c. "), ("6", "a. "), ("6", "b. "), ("6", "c. "), ("7", "c. ")):
        outcomes = [
            row["outcome"]
            for row in rows
            if row["finding"] == finding and row["part"].startswith(part)
        ]
        assert len(outcomes) == 3 and set(outcomes) <= {"yes", "no"}


def test_forecasts_are_good_at_first_and_then_no_better_than_climatology(demo: Checkout) -> None:
    found = demo.ask(
        "select model, lead, value from scores where convention = 'wrmse.pooled'"
        " and variable = 't850' and statistic = 'mean' and lead in (1, 44)"
    )
    error = {(model, lead): value for model, lead, value in found}
    climatology = error["daily_climatology", 1]
    assert error["ecmwf", 1] < 0.5 * climatology
    assert error["ecmwf_ensemble", 1] < 0.5 * climatology
    assert error["ecmwf", 44] > 1.1 * climatology
    # The mean of members that have lost all skill is close to climatology, a single one is not.
    assert error["ecmwf_ensemble", 44] < 0.95 * error["ecmwf", 44]


def test_a_front_is_of_losses(demo: Checkout) -> None:
    found = demo.ask(
        "select variant, rmse_low < rmse and rmse < rmse_high, specdiv_low < specdiv and"
        " specdiv < specdiv_high from s2s_fronts where forecast = 'unet' and lead = 1 and"
        " variable = 't850' and subset = 'test' and variant in ('default', 'spectral')"
        " order by 1"
    )
    assert found == [("default", True, True), ("spectral", True, True)]


def test_sampled_ensembles_are_beside_centres(demo: Checkout) -> None:
    found = demo.ask(
        "select forecast, members, count(crpss), count(unevenness) from s2s_sampled"
        " where variable = 'z500' and subset = 'test' group by all order by 1"
    )
    assert found == [("ecmwf", 4, 2, 2), ("resnet", 5, 2, 2), ("vae", 4, 2, 2)]


def test_values_at_lead_44_rest_on_too_few_blocks_for_an_interval(demo: Checkout) -> None:
    found = demo.ask(
        "select distinct lead, statistic, reason from scores where model = 'ecmwf'"
        " and convention = 'wrmse.pooled' and variable = 't850' and lead in (1, 44)"
        " and statistic != 'mean'"
    )
    assert any("blocks longer than 44" in (reason or "") for lead, _, reason in found if lead == 44)


def test_there_are_curves_maps_spectra_and_values_by_lead_time(demo: Checkout) -> None:
    assert all((demo.folder / name).with_suffix(".svg").is_file() for name in FIGURES)
    by_lead = [
        row
        for row in csv_rows(demo.folder / "results/tables/s2s_control_leads.csv")
        if row["column"] == "t850 RMSE curve"
    ]
    assert {int(row["lead"]) for row in by_lead} == set(range(1, 45))


def test_findings_are_judged_and_skill_ends_before_the_last_lead_time(demo: Checkout) -> None:
    rows = csv_rows(demo.folder / FINDINGS)
    assert {row["finding"] for row in rows} == {str(number) for number in range(1, 12)}
    found = demo.ask(
        "select skilful_leads, earliest from s2s_skill_horizon where side = 'ours' and"
        " forecast = 'ecmwf' and dimension = 's2s_control' and variable = 'z500'"
    )
    assert len(found) == 2 and all(5 < days < 30 and first > 5 for days, first in found)
