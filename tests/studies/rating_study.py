"""A small study of ratings that tests share."""

import csv
import json
from pathlib import Path

import numpy as np

from stp.datasets.pvqa.generator import write_video
from stp.studies.answer_key import RatingKey, load_key
from stp.studies.questionnaire import write_questionnaire

VIDEOS = 12
CONTENT = {
    "item": "rating",
    **{"question": "How good?", "consent": "I agree.", "seed": 1, "height": 40},
    **{"raters": 6, "sessions": 2, "videos": 4, "training": 2},
    "classes": {"people": ["KTH"], "robots": ["BAIR"]},
}


class RatingStudy:
    """Where a study lies.

    Attributes:
        raw: raw folder; videos of two classes and sizes, two of each natural, are below ``pvqa``.
        file: the configuration.
        pages: and the key.
        key: of the study.
    """

    def __init__(self, folder: Path) -> None:
        self.raw, self.pages = folder / "raw", folder / "pages"
        self.file = folder / "study.json"
        self.file.write_text(json.dumps(CONTENT))
        rng = np.random.default_rng(0)
        rows = []
        for number in range(VIDEOS):
            dataset, size = (("KTH", (20, 24)), ("BAIR", (48, 40)))[number % 2]
            name = f"{dataset}_{number:03d}"
            path = self.raw / "pvqa" / "Predicted_Videos" / f"{name}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_video(path, rng.integers(0, 256, (20, *size, 3)).astype(np.uint8))
            rows.append([name, dataset, "natural" if number < 4 else "blur"])
        with (self.raw / "pvqa" / "Tags.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["Video Name", "Dataset", "Tags"], *rows])
        write_questionnaire(self.raw / "pvqa", self.pages, study_file=self.file)
        self.key = load_key(self.pages / "key.json", RatingKey)
