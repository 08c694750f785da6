"""From a recipe to a model, and what people see when the recipe is wrong."""

import pytest

from stp.core.errors import StpError
from stp.models.convlstm import Model
from stp.models.create import create

RECIPE = {
    "model": "convlstm",
    "options": {"num_hidden": [4]},
    "shape": [1, 8, 8],
    "context": 3,
    "horizon": 2,
}


def test_a_recipe_names_the_module():
    model = create(RECIPE)
    assert isinstance(model, Model) and len(model.cells) == 1


def test_unknown_model():
    with pytest.raises(StpError, match="no model 'convlstn'"):
        create({**RECIPE, "model": "convlstn"})


def test_a_module_without_model_is_none():
    with pytest.raises(StpError, match="no model 'padding'"):
        create({**RECIPE, "model": "padding"})


def test_unknown_option_names_the_nearest():
    with pytest.raises(StpError, match=r"'num_hiden'[\s\S]*num_hidden"):
        create({**RECIPE, "options": {"num_hiden": [4]}})


def test_the_shape_is_no_option():
    with pytest.raises(StpError, match="'context'"):
        create({**RECIPE, "options": {"context": 4}})


def test_a_model_without_options():
    with pytest.raises(StpError, match="takes no options, but num_hidden is set"):
        create({**RECIPE, "model": "persistence"})
