"""Write questionnaires: pages for raters, and the key, which says which model made what."""

from pathlib import Path

from stp.core.job import Report, report_nothing
from stp.studies.answer_key import Key
from stp.studies.best_of import draw_best_of
from stp.studies.options import BestOf, Pairs, load_study
from stp.studies.page import write_pages
from stp.studies.pairs import pairs
from stp.studies.ratings import ratings


def write_questionnaire(
    source: Path, out: Path, *, study_file: Path, where: str = "", report: Report = report_nothing
) -> Key:
    """Write the pages of a questionnaire, and its answer key.

    The key is ``key.json``. A copy, ``keys/<checksum>.json``, is named after the checksum that
    identifies the study; later questionnaires do not overwrite it.

    Args:
        source: path of what is compared. For the best of several predictions, a manifest; for
            pairs, a results store or a CSV file of models; for ratings, a folder of videos.
        out: path of the page, with ``key.json`` beside it; for ratings, which have several pages,
            the folder of the pages and of ``key.json``.
        study_file: file of the configuration of the study.
        where: SQL condition on table ``cells``, for pairs from a results store; empty for all.
        report: callback for the progress.

    Returns:
        the answer key, with the checksum of the pages.

    Raises:
        StpError: the source is damaged or lacks data that the study asks about, a page would be too
            large, or the folder has another kind of questionnaire.
    """
    study = load_study(study_file)
    if isinstance(study, BestOf):
        draft = draw_best_of(source, out, study_file, report)
    elif isinstance(study, Pairs):
        draft = pairs(study, source, where, out, study_file, report)
    else:
        draft = ratings(study, source, out, study_file, report)
    folder = out.parent if isinstance(study, BestOf | Pairs) else out
    return write_pages(draft, folder / "key.json", report)
