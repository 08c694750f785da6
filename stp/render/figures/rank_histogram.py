"""Figure of rank histograms: how often the observation has each rank in an ensemble."""

from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures.panels import in_words
from stp.render.figures.reading import Scores, at_leads, variables_of
from stp.render.pictures.strips import spread

FIGURE = {
    "of_case": True,
    "about": "rank of the observation among members",
    "caption": "How often the observation has each rank among the members of an ensemble, at some "
    "lead times: flat if members are like it",
}

CONVENTION = "rank_histogram.weighted"
"""Name of the convention with the histograms; its thresholds are ranks."""
LEADS = 4
_COLOURS = ("#0072b2", "#009e73", "#e69f00", "#d55e00")


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw rank histograms: a row of panels for each ensemble, a column for each variable.

    A panel shows several lead times. Frequencies are multiplied by the number of ranks, so that a
    flat histogram is 1. Raised ends mean too small a spread, a slope means a bias.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``kitti-caltech``.

    Returns:
        the figure, and notes to print below it.
    """
    values_by_model = {
        model: by_place
        for model, by_place in at_leads(scores, case, CONVENTION).items()
        if by_place
    }
    if not values_by_model:
        return in_words(f"{scores.title(case)}: no ensemble has values of {CONVENTION}"), []
    variables = variables_of(scores, case)
    last = max(lead for by_place in values_by_model.values() for _, _, lead in by_place)
    leads = [1 + number for number in spread(last, LEADS)]
    figure = new_figure(TEXT_WIDTH, 0.9 + 0.75 * len(values_by_model))
    figure.suptitle(scores.title(case))
    axes = figure.subplots(len(values_by_model), len(variables), sharex=True, squeeze=False)
    for row, (model, by_place) in zip(axes, values_by_model.items(), strict=True):
        for panel, variable in zip(row, variables, strict=True):
            panel.axhline(1, color="black", linewidth=0.7)
            for lead, colour in zip(leads, _COLOURS, strict=False):
                shares = [
                    value.value
                    for key, value in sorted(by_place.items(), key=lambda item: item[0][1] or 0)
                    if (key[0], key[2]) == (variable, lead) and key[1] is not None
                ]
                if not shares:  # an ensemble may lack a variable
                    continue
                edges = [rank / len(shares) for rank in range(len(shares) + 1)]
                heights = [share * len(shares) for share in shares]
                panel.stairs(heights, edges, color=colour, label=f"lead time {lead}")
            panel.set_ylim(bottom=0)
        row[0].set_ylabel(model, rotation=0, ha="right", va="center", labelpad=14)
    for panel, variable in zip(axes[0], variables, strict=True):
        panel.set_title(variable)
    for panel in axes[-1]:
        panel.set_xticks([0, 1], ["lowest", "highest"])
        panel.set_xlabel("rank of the observation")
    named = (panel.get_legend_handles_labels() for panel in axes.flat)
    handles, labels = max(named, key=lambda handles_and_labels: len(handles_and_labels[1]))
    figure.legend(handles, labels, loc="lower center", ncols=LEADS, frameon=False)
    return figure, [
        "share of each rank, divided by that of members indistinguishable from the observation"
    ]
