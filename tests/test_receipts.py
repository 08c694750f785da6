"""A receipt is written and read by one module, and says the same afterwards."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.core.receipts import (
    Provenance,
    Receipt,
    RecordedAttempt,
    RecordedCode,
    RecordedFile,
    check_file,
    parse_receipt,
    read_receipt,
    receipt_text,
    require_receipt,
)

WHOLE = Receipt(
    fingerprint="0123456789abcdef",
    stage="train",
    path="models/kth/convlstm/default/seed-0/0123456789abcdef",
    label="convlstm on kth, seed 0",
    recipe={"fit": "sgd", "train": {"lr": 0.1}},
    inputs={"data": "data/kth/ffff"},
    code=RecordedCode("c" * 16, {"stp.train.run": "d"}, {"stp.train.run": {"run": "e"}}),
    provenance=Provenance(host="node1", packages={"torch": "2.13.0"}, started=1.0, seconds=2.5),
    extras={"parameters": 12},
    attempts=[RecordedAttempt(attempt=1, how="done")],
    files={"model.pt": RecordedFile(3, "0" * 64)},
)


def test_what_is_written_is_read() -> None:
    assert parse_receipt(receipt_text(WHOLE)) == WHOLE
    assert set(json.loads(receipt_text(WHOLE))) == set(asdict(WHOLE))


def test_what_is_not_recorded_is_empty_and_what_is_not_known_is_ignored() -> None:
    told = {"fingerprint": "f", "provenance": {"host": "a", "kernel": 6}, "more": 1, "code": None}
    read = parse_receipt(json.dumps(told))
    assert read == Receipt(fingerprint="f", provenance=Provenance(host="a"))
    assert read.provenance.finished is None and read.files == {} and read.code.modules == {}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"fingerprint": "f", "files": {"a": 1}}', '{"fingerprint": "f", "code": 3}'],
)
def test_what_is_no_receipt_is_none_or_one_error(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "artefact.json").write_text(text)
    assert read_receipt(folder) is None
    with pytest.raises(StpError, match=r"artefact\.json: (.|\n)*rm -r"):
        require_receipt(folder)


def test_a_file_is_compared_with_size_and_checksum(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"abc")
    with pytest.raises(StpError, match=r"model\.pt"):
        check_file(tmp_path, WHOLE, "model.pt")
    with pytest.raises(StpError, match=r"other\.pt"):
        check_file(tmp_path, WHOLE, "other.pt")
