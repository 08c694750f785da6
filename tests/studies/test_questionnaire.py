"""The questionnaire: which clips it has, and that nothing in it says which model is which."""

import base64
import binascii
import hashlib
import io
import itertools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from PIL import Image
from small_study import CONTEXT, LEADS, MODELS, SIZES, Paths

from stp.core.errors import StpError
from stp.data.pixels import pixels
from stp.data.prepared import Prepared
from stp.render.pictures import sprites
from stp.studies.answer_key import BestOfKey, Key, PairKey, load_key
from stp.studies.options import BEST_OF_FILE, BestOf, Pairs, load_item
from stp.studies.page import read_page
from stp.studies.questionnaire import write_questionnaire
from stp.studies.sampling import draw


def write(study: Paths) -> BestOfKey:
    key = write_questionnaire(study.manifest, study.page, study_file=study.study)
    assert load_key(study.key, BestOfKey) == key
    return key


def picture(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


def frames_of(sheet: dict) -> np.ndarray:
    """Cut a sprite sheet as the page does, uint8 (T, H, W, 3)."""
    pixels = np.asarray(picture(sheet["uri"]).convert("RGB"))
    (width, height), (across, down) = sheet["size"], sheet["pitch"]
    places = [divmod(i, sheet["columns"]) for i in range(sheet["frames"])]
    return np.stack([pixels[y * down :, x * across :][:height, :width] for y, x in places])


def predicted(study: Paths, dataset: str, model: str, mode: str = "r") -> zarr.Array:
    store = study.folder / "store" / dataset / model / "predictions" / "predictions.zarr"
    return zarr.open_group(str(store), mode=mode)["predictions"]


# -- which clips


def test_clips_are_drawn_evenly_over_clusters_and_never_twice() -> None:
    clusters = pd.Series(["a"] * 50 + ["b"] * 3 + ["c"] * 2)
    for count, expected in ((3, [1, 1, 1]), (6, [2, 2, 2]), (9, [4, 3, 2]), (55, [50, 3, 2])):
        drawn = draw(clusters, count, 1, "kth")
        assert len(set(drawn)) == count
        assert clusters[drawn].value_counts().reindex(["a", "b", "c"]).tolist() == expected
    clusters = pd.Series([f"video{n // 5}" for n in range(40)])
    assert draw(clusters, 5, 1, "kth") == draw(clusters, 5, 1, "kth")
    assert draw(clusters, 5, 1, "kth") != draw(clusters, 5, 2, "kth")
    assert draw(clusters, 5, 1, "kth") != draw(clusters, 5, 1, "bair")
    seen = itertools.chain.from_iterable(draw(clusters, 5, seed, "kth") for seed in range(200))
    counted = np.bincount(list(seen), minlength=40)
    # Each of 40 clips is expected 25 times; 3.5 standard deviations either way.
    assert counted.min() > 25 - 3.5 * 4.7 and counted.max() < 25 + 3.5 * 4.7


def test_the_page_shows_the_drawn_clips_as_they_are(written: Paths) -> None:
    key, page = load_key(written.key, BestOfKey), read_page(written.page)
    questions = {question["id"]: question for question in page["questions"]}
    assert {(a.dataset, a.cluster) for a in key.questions} == {
        (name, f"video{n}") for name in SIZES for n in range(6)
    }
    for asked in key.questions:
        question = questions[asked.id]
        folder = written.folder / "store" / asked.dataset
        clip = pixels(Prepared(folder / "mcvd" / "data").clips("test").read([asked.sample])[0])
        assert (frames_of(page["pictures"][question["given"]]) == clip[:CONTEXT]).all()
        assert (frames_of(page["pictures"][question["beside"]]) == clip[CONTEXT:]).all()
        assert set(question["choices"]) == set(asked.choices)
        for name, model in asked.choices.items():
            shown = frames_of(page["pictures"][name])
            assert shown.shape == (LEADS, *SIZES[asked.dataset][1:], 3)
            frames = np.asarray(predicted(written, asked.dataset, model)[asked.sample])
            assert (shown == pixels(frames)).all()


# -- nothing tells the models


def forms_of(name: str) -> set[str]:
    """A name as it is, and in the usual ways to hide it."""
    raw = name.encode()
    hashes = [getattr(hashlib, kind)(raw).hexdigest() for kind in ("md5", "sha1", "sha256")]
    plain = [name, name[::-1], raw.hex(), base64.b64encode(raw).decode().rstrip("=")]
    short = [text[:8] for text in hashes] + [f"{binascii.crc32(raw):08x}"]
    return {text.lower() for text in [*plain, *short]}


def test_no_name_of_a_model_is_anywhere_in_the_page(written: Paths) -> None:
    text = written.page.read_text()
    without_pictures = re.sub(r"data:image/\w+;base64,[A-Za-z0-9+/=]*", "", text).lower()
    assert len(without_pictures) < len(text) / 2, "nothing was taken out"
    names = {*MODELS, *MODELS.values(), *SIZES, "clip0", "short_term"}
    names |= {str(written.folder), "predictions.zarr"}
    for form in itertools.chain.from_iterable(forms_of(name) for name in names):
        assert form not in without_pictures, form
    for uri in re.findall(r"data:image/\w+;base64,[A-Za-z0-9+/=]+", text):
        content = base64.b64decode(uri.partition(",")[2]).lower()
        assert not [name for name in (*MODELS, *SIZES) if name.encode() in content]


def test_ids_and_order_say_nothing(written: Paths) -> None:
    key, page = load_key(written.key, BestOfKey), read_page(written.page)
    ids = [i for asked in key.questions for i in (asked.id, *asked.choices)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{12}", i) for i in [*ids, *page["pictures"]])
    in_file = [question["id"] for question in page["questions"]]
    for order in (in_file, list(page["pictures"]), *(q["choices"] for q in page["questions"])):
        assert order == sorted(order)
    orders = {tuple(asked.choices.values()) for asked in key.questions}
    assert len(orders) > 2, "the order of models changes from question to question"


def test_ids_cannot_be_made_from_what_the_page_shows(own_study: Paths) -> None:
    """A change that no 8-bit picture shows gives other ids: who has no predictions has no key."""
    before, pictures = write(own_study), read_page(own_study.page)["pictures"]
    sample = next(asked.sample for asked in before.questions if asked.dataset == "kth")
    array = predicted(own_study, "kth", "mcvd", "r+")
    array[sample] = (np.rint(np.asarray(array[sample]) * 255) / 255).astype(np.float32)
    write(own_study)
    after = read_page(own_study.page)
    uris = [{one["uri"] for one in own.values()} for own in (pictures, after["pictures"])]
    assert uris[0] == uris[1]
    assert not {asked.id for asked in before.questions} & {q["id"] for q in after["questions"]}


@pytest.mark.parametrize("quality", [None, 90])
def test_a_picture_is_its_pixels_and_nothing_else(quality: int | None) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (5, 13, 21, 3), dtype=np.uint8)
    first, second = sprites.sheet(frames, quality), sprites.sheet(frames.copy(), quality)
    assert first == second
    content = base64.b64decode(first.uri.partition(",")[2])
    if quality is None:
        assert content[:4] == b"RIFF"
        assert content[8:16] == b"WEBPVP8L", "one chunk of pixels, no EXIF, XMP or ICC"
        assert int.from_bytes(content[16:20], "little") + 20 >= len(content) - 1
    else:
        kinds, at = [], 2
        while content[at + 1] != 0xDA:  # segments up to the pixels
            kinds.append(content[at + 1])
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        # JFIF, tables of quantisation and of Huffman codes, size: no EXIF, no comment
        assert set(kinds) <= {0xE0, 0xDB, 0xC4, 0xC0, 0xC1}
    assert not picture(first.uri).info.keys() & {"exif", "comment", "xmp", "icc_profile"}


def test_models_that_predict_the_same_look_the_same(own_study: Paths) -> None:
    for dataset in SIZES:
        folder = own_study.folder / "store" / dataset
        shutil.rmtree(folder / "mcvd" / "predictions")
        shutil.copytree(folder / "earthformer" / "predictions", folder / "mcvd" / "predictions")
    key, pictures = write(own_study), read_page(own_study.page)["pictures"]
    for asked in key.questions:
        by_model = {model: pictures[name] for name, model in asked.choices.items()}
        assert by_model["earthformer"] == by_model["mcvd"]


# -- the page as a file


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_needs_nothing_else_and_everything_that_is_operated_has_a_name(
    written: Paths,
) -> None:
    text = written.page.read_text()
    tags = _Page(text).tags
    assert not [tag for tag, attrs in tags if {"src", "href", "action"} & attrs.keys()]
    assert not {"link", "iframe", "object", "embed", "video", "img"} & {tag for tag, _ in tags}
    assert "http://" not in text and "https://" not in text
    policy = next(a for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy["content"]).startswith("default-src 'none'; img-src data:;")
    labelled = {attrs["for"] for tag, attrs in tags if tag == "label" and "for" in attrs}
    ids = {attrs.get("id") for tag, attrs in tags if tag in ("input", "select")}
    # The consent and the last choice lie inside their labels.
    assert ids - labelled == {"consent", None}
    assert {attrs.get("lang") for tag, attrs in tags if tag == "html"} == {"en"}
    assert {"Age group (optional)", "Gender (optional)"} <= set(
        re.findall(r"<label[^>]*>([^<]*)", text)
    )


def test_a_text_cannot_break_the_page(study: Paths) -> None:
    study.change_study("Which is best?", "Is </script><b>this</b> <!-- SCRIPT --> best?")
    write(study)
    assert read_page(study.page)["text"] == "Is </script><b>this</b> <!-- SCRIPT --> best?"
    tags = [tag for tag, _ in _Page(study.page.read_text()).tags]
    assert tags.count("script") == 2 and "b" not in tags


def test_a_page_that_would_be_too_large_has_lossy_pictures(study: Paths) -> None:
    lossless = write(study)
    size = study.page.stat().st_size
    assert lossless.pictures == "lossless WebP"
    text = study.study.read_text()
    study.study.write_text(f"{text}max_megabytes: {0.9 * size / 1e6:.4f}\n")
    lossy = write(study)
    assert lossy.pictures.startswith("JPEG 4:4:4 of quality ")
    assert study.page.stat().st_size <= 0.9 * size
    assert lossy.study != lossless.study
    kinds = set(re.findall(r"data:image/(\w+)", study.page.read_text()))
    assert kinds == {"jpeg"}, "truth and all models are treated alike"
    study.study.write_text(f"{text}max_megabytes: 0.02\n")
    with pytest.raises(StpError, match="max_megabytes"):
        write(study)


def test_the_same_predictions_give_the_same_page_and_keys_stay(study: Paths) -> None:
    first = write(study)
    page, key = study.page.read_bytes(), study.key.read_bytes()
    write(study)
    assert (study.page.read_bytes(), study.key.read_bytes()) == (page, key)
    study.change_study("seed: 7", "seed: 8")
    second = write(study)
    assert second.study != first.study
    kept = study.key.parent / "keys"
    assert {path.stem for path in kept.iterdir()} == {first.study, second.study}
    assert (kept / f"{first.study}.json").read_bytes() == key
    study.key.write_text(study.key.read_text().replace('"item": "best_of"', '"item": "pair"'))
    with pytest.raises(StpError, match="best_of"):
        write(study)


# -- what is refused


def test_what_the_scale_lacks_is_named(study: Paths) -> None:
    study.change_study("bair: 6", "human36m: 6")
    study.change_study("mcvd, persistence", "tau")
    with pytest.raises(StpError) as error:
        write(study)
    said = str(error.value)
    missing = "earthformer on human36m", "tau on human36m", "tau on kth"
    existing = "demo", "bair, kth", "earthformer, mcvd, persistence"
    assert all(names in said for names in (*missing, *existing))


def test_a_scale_has_a_study_of_its_own(study: Paths) -> None:
    study.study.write_text(study.study.read_text() + "scales: {demo: {clips: {kth: 2}}}\n")
    assert len(write(study).questions) == 2
    assert load_item(BestOf, study.study, "paper").clips == {"bair": 6, "kth": 6}
    with pytest.raises(StpError, match="best_of"):
        load_item(Pairs, study.study)
    papers = load_item(BestOf, BEST_OF_FILE, "paper")
    assert papers.clips == {"bair": 15, "robonet": 15, "human36m": 5}
    assert papers.models == ["earthformer", "mcvd", "predrnnpp", "tau"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed: 7", "seed: 7\nsteps: 7", "steps"),
        ("item: best_of", "item: worst_of", "worst_of"),
        ("kth: 6", "kth: 0", "clips.kth"),
        ("[earthformer, mcvd, persistence]", "[mcvd]", "models"),
        ("[earthformer, mcvd, persistence]", "[mcvd, mcvd]", "mcvd"),
        ("18-24", "'18, 24'", "age_groups.0"),
        ("consent: I take part.", "", "consent"),
        ("bair: 6", "bair: 25", "25 clips of bair"),
    ],
)
def test_a_wrong_configuration_is_refused(study: Paths, old: str, new: str, said: str) -> None:
    study.change_study(old, new)
    with pytest.raises(StpError, match=re.escape(said)):
        write(study)
    assert not study.page.parent.exists()


def test_missing_predictions_and_other_data_than_pictures_are_refused(own_study: Paths) -> None:
    shutil.rmtree(own_study.folder / "store" / "kth" / "mcvd" / "predictions")
    with pytest.raises(StpError, match=r"mcvd/predictions/predictions\.zarr"):
        write(own_study)
    path = own_study.folder / "store" / "kth" / "earthformer" / "data" / "frames.zarr" / "zarr.json"
    described = json.loads(path.read_text())
    described["attributes"]["variables"] = ["t2m"]
    path.write_text(json.dumps(described))
    with pytest.raises(StpError, match="kth"):
        write(own_study)
    assert not own_study.page.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"about": 3}', '{"about": {"item": "pair"}}'])
def test_a_damaged_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.json"
    with pytest.raises(StpError, match=r"key\.json"):
        load_key(path, Key)
    path.write_text(text)
    with pytest.raises(StpError, match=r"key\.json"):
        load_key(path, Key)


def test_a_key_whose_parts_do_not_fit_or_of_another_item_is_refused(
    written: Paths, tmp_path: Path
) -> None:
    path = tmp_path / "key.json"
    text = written.key.read_text()
    path.write_text(text.replace('"dataset": "kth"', '"dataset": "other"'))
    with pytest.raises(StpError, match=r"key\.json"):
        load_key(path, Key)
    path.write_text(text)
    with pytest.raises(StpError, match="best_of"):
        load_key(path, PairKey)
