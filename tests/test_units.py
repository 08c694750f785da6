"""Units as people read them."""

import pytest

from stp.page.units import format_unit, of_convention, with_unit


@pytest.mark.parametrize(
    ("units", "read"),
    [
        ("m**2 s**-2", "m² s⁻²"),
        ("degC", "°C"),
        ("K", "K"),
        ("1", ""),
        ("physical", ""),
        ("a sentence that no heading has room for", ""),
    ],
)
def test_units_are_written_as_people_do(units: str, read: str) -> None:
    assert format_unit(units) == read
    assert with_unit("t2m", read) == (f"t2m [{read}]" if read else "t2m")


@pytest.mark.parametrize(
    ("declared", "convention", "data", "unit"),
    [
        ("of the variable", "rmse.per_frame", "K", "K"),
        ("of the variable, squared", "mse.pixel_mean", "K", "K²"),
        ("of the variable, squared", "mse.pixel_mean", "m s**-1", "(m s⁻¹)²"),
        ("of the variable, squared", "mse.pixel_mean", "1", ""),
        ("of the variable", "mae.mean", "", ""),
        ("1 (rmse: of the variable)", "nino34.rmse", "degC", "°C"),
        ("1 (rmse: of the variable)", "nino34.correlation", "degC", ""),
        ("of the variable (ratios: 1)", "spread.skill_ratio", "K", ""),
        ("of the variable (ratios: 1)", "spread.pooled", "K", "K"),
        ("dB", "psnr.per_frame", "1", "dB"),
        ("1", "ssim.range2", "1", ""),
    ],
)
def test_a_convention_has_the_unit_of_the_data_where_it_says_so(
    declared: str, convention: str, data: str, unit: str
) -> None:
    assert of_convention(declared, convention, data) == unit
