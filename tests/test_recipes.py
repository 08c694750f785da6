"""What a recipe takes from where."""

from types import SimpleNamespace

from stp.plan.recipes import Recipes


def settings(general: str | None, kth: str | None) -> SimpleNamespace:
    return SimpleNamespace(statistic=general, datasets={"kth": SimpleNamespace(statistic=kth)})


def test_a_statistic_of_the_scale_wins_and_the_particular_over_the_general():
    for scale, model, expected in (
        (None, settings(None, None), "mean_of_members"),
        (None, settings("general", None), "general"),
        (None, settings("general", "kth"), "kth"),
        (settings(None, None), settings("general", "kth"), "kth"),
        (settings("of scale", None), settings("general", "kth"), "of scale"),
        (settings("of scale", "kth of scale"), settings("general", "kth"), "kth of scale"),
    ):
        models = {} if scale is None else {"savp": scale}
        scale_facts = SimpleNamespace(models=models)
        given = SimpleNamespace(config=SimpleNamespace(scale=scale_facts, models={"savp": model}))
        assert Recipes._statistic(given, "savp", "kth") == expected
    assert Recipes._statistic(given, "savp", "enso") == "of scale"
