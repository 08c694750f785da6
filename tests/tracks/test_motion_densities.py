"""Mixtures and grids: what they say of a position, and what is kept of them."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from crowds import crowd
from scipy.stats import multivariate_normal

from stp.core.errors import StpError
from stp.tracks import densities
from stp.tracks.densities import Grid, Mixture
from stp.tracks.predictors import constant_velocity


def mixture(scenarios, components: int = 3) -> Mixture:
    """Any mixture for these people."""
    random = np.random.default_rng(1)
    shape = (*scenarios.future.shape[:3], components)
    there = np.where(scenarios.present, 1.0, np.nan)[:, :, None, None]
    weights = random.dirichlet(np.ones(components), shape[:3]) * there
    means = random.normal(0, 2, (*shape, 2)) * there[..., None]
    factors = random.normal(0, 1, (*shape, 2, 2)) * there[..., None, None]
    covariances = factors @ np.swapaxes(factors, -1, -2) + 0.1 * np.eye(2)
    return Mixture(weights, means, covariances)


def grid(scenarios, width: int = 6, height: int = 4) -> Grid:
    """Cells of half a metre, around where people were last."""
    random = np.random.default_rng(2)
    cells = random.dirichlet(np.ones(width * height), scenarios.future.shape[:3])
    cells = np.where(scenarios.present[:, :, None, None], cells, np.nan)
    origin = scenarios.observed[:, :, -1] - [1.5, 1.0]
    return Grid(origin, 0.5, cells.reshape(*cells.shape[:3], width, height))


@pytest.fixture
def people():
    return crowd(scenes=4, people=4)


def test_a_mixture_is_what_scipy_says(people):
    found = mixture(people)
    known = found.log_density(people.future)
    for scene, place in zip(*np.nonzero(people.present), strict=True):
        for step in (0, 7):
            at = scene, place, step
            expected = sum(
                weight * multivariate_normal(mean, covariance).pdf(people.future[at])
                for weight, mean, covariance in zip(
                    found.weights[at], found.means[at], found.covariances[at], strict=True
                )
            )
            assert known[at] == pytest.approx(np.log(expected))
            heaviest = found.weights[at].argmax()
            assert (found.point()[at] == found.means[at][heaviest]).all()
    assert np.isnan(known[~people.present]).all()


def test_a_grid_says_what_the_cell_holds(people):
    found = grid(people)
    centre = found.point()
    likeliest = found.probability.max(axis=(-2, -1))
    there = people.present
    expected = np.log(likeliest[there] / 0.25)
    np.testing.assert_allclose(found.log_density(centre)[there], expected)
    np.testing.assert_allclose(found.log_density(centre + 0.24)[there], expected)
    assert np.isneginf(found.log_density(centre + 100)[there]).all()

    assert found.log_density(np.where(there[..., None, None], centre, np.nan)).shape == (4, 4, 10)
    assert np.isnan(found.log_density(people.future)[~there]).all()


@pytest.mark.parametrize("make", [mixture, grid])
def test_what_is_written_is_read(people, make, tmp_path):
    density = make(people)
    parts, done = [], 0
    for batch in people.batches(3):  # without places that nobody fills
        parts.append(densities.table(make_of(density, batch, done), batch, done))
        done += len(batch)
    densities.write(tmp_path, parts)
    found = densities.read(tmp_path, people)
    assert type(found) is type(density)
    for name, value in vars(density).items():
        np.testing.assert_array_equal(getattr(found, name), value)


def make_of(density, batch, first: int):
    """The part of a density that is of a batch."""
    chosen = slice(first, first + len(batch)), slice(batch.person.shape[1])
    parts = {n: v[chosen] if isinstance(v, np.ndarray) else v for n, v in vars(density).items()}
    return type(density)(**parts)


def test_points_have_none(people, tmp_path):
    densities.write(tmp_path, [])
    assert densities.read(tmp_path, people) is None


@pytest.mark.parametrize(
    ("make", "column", "value"),
    [
        (mixture, "weight", 2.0),
        (mixture, "cov_xx", -1.0),
        (mixture, "person", 99),
        (grid, "lead", 99),
    ],
)
def test_what_is_no_density_is_refused(people, tmp_path, make, column, value):
    densities.write(tmp_path, [densities.table(make(people), people)])
    path = next(tmp_path.glob("*.parquet"))
    table = pq.read_table(path).to_pandas()
    table.loc[5, column] = value
    about = pq.read_schema(path).metadata
    changed = densities.pa.Table.from_pandas(table, pq.read_schema(path), preserve_index=False)
    pq.write_table(changed.replace_schema_metadata(about), path)
    with pytest.raises(StpError, match=path.name):
        densities.read(tmp_path, people)


def test_constant_velocity_grows_as_its_samples_do(people):
    """The closed form, against a random walk with the same steps."""
    sure = constant_velocity.Parameters(uncertainty=0.3)
    found = constant_velocity.predict(people, 10, sure)
    there = people.present
    random = np.random.default_rng(0)
    drawn = np.stack(
        [
            constant_velocity.predict(
                people, 10, sure, None, random.normal(0, 0.3 * people.dt, (4, 4, 10, 2))
            )
            for _ in range(4000)
        ]
    )
    steps = drawn[:, there].var(axis=0)
    np.testing.assert_allclose(found.covariances[there][:, :, 0, 0, 0], steps[..., 0], rtol=0.12)
    np.testing.assert_allclose(found.covariances[there][:, :, 0, 1, 1], steps[..., 1], rtol=0.12)
    np.testing.assert_allclose(found.point()[there], drawn[:, there].mean(axis=0), atol=0.03)
    plain = constant_velocity.predict(people, 10, constant_velocity.Parameters())
    np.testing.assert_array_equal(found.point(), plain)
