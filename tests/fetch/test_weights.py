"""Weights of networks: declared, found, verified, fetched; never taken for others."""

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.core.file_identity import identify, require
from stp.fetch.download import Manners
from stp.fetch.weights import fetch
from stp.metrics.networks.state import load, read_verified
from stp.plan import weights
from stp.plan.weights import DECLARED, Network, declared, locate, present, states
from stp.score import published_values

CONTENT = b"some weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def network(*files: dict) -> dict[str, Network]:
    return {"toy": Network(title="Toy", licence="none", files=files)}  # type: ignore[arg-type]


QUALITY = ("squeezenet", "alexnet", "vgg19", "resnet50", "inception", "squeezenet_synthetic")


def test_what_the_project_declares() -> None:
    networks = declared()
    assert set(networks) == {
        "alexnet",
        "squeezenet",
        "vgg16",
        "i3d",
        "c3d",
        "i3d_k600",
        "inception",
        "resnet50",
        "vgg19",
        "videomae",
        *(f"quality_{name}" for name in QUALITY),
    }
    for name, one in networks.items():
        assert one.licence
        if name.startswith("quality_"):  # made here, from rated videos
            assert f"--save results/weights/{name}.npz" in one.obtain and not one.files
            continue
        if not one.files:  # no checksum of theirs is known
            assert "https://" in one.obtain
            continue
        assert len({file.file for file in one.files}) == len(one.files)
        assert one.files[0].is_fetched
        # the names of torchvision end with the beginning of the checksum
        stem = Path(one.files[0].file).stem
        assert "-" not in stem or one.files[0].sha256.startswith(stem.rpartition("-")[2])


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{title: a, licence: b, files: [{file: a.pt}]}", "sha256 or git_blob_sha1"),
        ("{title: a, licence: b, files: [{file: a.pt, sha256: abc}]}", "pattern"),
        ("{title: a, licence: b, files: []}", "at least one"),
        ("{title: a, licence: b, files: [], file: a.pt}", "at least one|unknown key"),
    ],
)
def test_a_declaration_has_to_say_which_bytes(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "weights.yaml").write_text(f"toy: {entry}")
    with pytest.raises(StpError, match=said):
        declared(tmp_path / "weights.yaml")


def test_the_first_file_that_is_there_is_used(tmp_path: Path) -> None:
    known = network({"file": "a.pt", "sha256": "a" * 64}, {"file": "b.pt", "sha256": SHA256})
    assert present(tmp_path, known) == {}
    with pytest.raises(StpError, match=r"a\.pt or b\.pt"):
        locate(tmp_path, "toy", known)
    (tmp_path / "b.pt").write_bytes(CONTENT)
    assert locate(tmp_path, "toy", known) == (tmp_path / "b.pt", known["toy"].files[1])
    (tmp_path / "a.pt").write_bytes(CONTENT)
    assert present(tmp_path, known)["toy"].file == "a.pt"


def test_states(tmp_path: Path) -> None:
    good = network({"file": "a.pt", "sha256": SHA256, "bytes": len(CONTENT)})
    (absent,) = states(tmp_path, good)
    assert absent.state == "absent"
    assert "a.pt" in absent.detail
    (tmp_path / "a.pt").write_bytes(CONTENT)
    assert [one.state for one in states(tmp_path, good)] == ["present"]
    assert [(one.state, one.sha256) for one in states(tmp_path, good, read=True)] == [
        ("verified", SHA256)
    ]
    (tmp_path / "a.pt").write_bytes(CONTENT[:-1] + b"!")
    (damaged,) = states(tmp_path, good, read=True)
    assert damaged.state == "damaged"
    assert SHA256 in damaged.detail


def test_tensors_that_do_not_fit_are_counted() -> None:
    unknown = {f"more.{n}": torch.zeros(1) for n in range(5)}
    with pytest.raises(StpError, match=r"weight is missing, bias is missing, .* and 4 more\n"):
        load(torch.nn.Linear(1, 1), unknown, "a line")


def test_checksums_are_those_of_git_and_sha256sum(tmp_path: Path) -> None:
    file = tmp_path / "a.pt"
    file.write_bytes(CONTENT * 300_000)
    found = identify(file)
    said = subprocess.run(
        ["git", "hash-object", str(file)], capture_output=True, text=True, check=True
    )
    assert found["git_blob_sha1"] == said.stdout.strip()
    assert found["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found["bytes"] == file.stat().st_size


def test_bytes_that_are_not_the_declared_ones_are_refused(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "a.pt")
    own = identify(tmp_path / "a.pt")
    state, sha256 = read_verified(tmp_path / "a.pt", {"git_blob_sha1": own["git_blob_sha1"]})
    assert state["a"].tolist() == [1, 1]
    assert sha256 == own["sha256"]
    for wrong in ({"sha256": "0" * 64}, {"git_blob_sha1": "0" * 40}, {**own, "bytes": 1}):
        with pytest.raises(StpError, match="not the declared ones"):
            read_verified(tmp_path / "a.pt", wrong)
    with pytest.raises(StpError, match="nothing says which bytes"):
        require(tmp_path / "a.pt", {"bytes": own["bytes"]})


def test_weights_are_fetched_and_verified(tmp_path: Path, server) -> None:
    server.files["/a.pt"] = CONTENT
    known = network({"file": "a.pt", "url": f"{server.url}/a.pt", "sha256": SHA256})
    assert fetch(tmp_path, known) == [tmp_path / "a.pt"]
    assert [one.state for one in states(tmp_path, known, read=True)] == ["verified"]
    assert fetch(tmp_path, known) == []  # it is there
    assert server.asked == ["/a.pt"]


def test_other_bytes_from_the_server_are_not_kept(tmp_path: Path, server) -> None:
    server.files["/a.pt"] = CONTENT + b"!"
    known = network({"file": "a.pt", "url": f"{server.url}/a.pt", "sha256": SHA256})
    with pytest.raises(StpError, match="not the expected ones"):
        fetch(tmp_path, known, manners=Manners(attempts=1, backoff_s=0))
    assert present(tmp_path, known) == {}


def test_what_cannot_be_compared_is_not_downloaded(tmp_path: Path, server) -> None:
    entry = {"file": "a.pt", "url": f"{server.url}/a.pt", "git_blob_sha1": "0" * 40}
    assert fetch(tmp_path, network(entry)) == []
    with pytest.raises(StpError, match=r"cannot be downloaded(.|\n)*put a\.pt into"):
        fetch(tmp_path, network(entry), ["toy"])
    with pytest.raises(StpError, match="did you mean toy"):
        fetch(tmp_path, network(entry), ["toi"])
    assert server.asked == []


# The command


def run(*arguments: str, folder: Path):
    return CliRunner().invoke(app, ["list", "weights", *arguments, "--folder", str(folder)])


def test_the_command_tells_what_is_there(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "known.yaml").write_text(
        f"one: {{title: First, licence: x, files: [{{file: a.pt, sha256: {SHA256}}}]}}\n"
        f"two: {{title: Second, licence: x, files: [{{file: b.pt, sha256: {'b' * 64}}}]}}"
    )
    monkeypatch.setattr(weights.declared, "__defaults__", (tmp_path / "known.yaml",))
    (tmp_path / "a.pt").write_bytes(CONTENT)
    found = run(folder=tmp_path)
    assert found.exit_code == 0
    assert "one         present   First" in found.output
    assert "two         absent    Second" in found.output
    assert run("--check", folder=tmp_path).exit_code == 1  # one is absent
    assert run("one", "--fetch", folder=tmp_path).exit_code == 0  # nothing to do
    only = run("one", "--format", "json", folder=tmp_path)
    assert [entry["state"] for entry in json.loads(only.stdout)] == ["present"]
    assert run("three", folder=tmp_path).exit_code == 1


def test_the_check_compares_published_values(tmp_path: Path, monkeypatch) -> None:
    """Seeded weights have the declared bytes here, but are not those that LPIPS was fitted to."""
    from stp.metrics.networks.trunks import Trunk

    torch.manual_seed(0)
    torch.save(Trunk("alexnet").state_dict(), tmp_path / "a.pt")
    sha256 = identify(tmp_path / "a.pt")["sha256"]
    (tmp_path / "known.yaml").write_text(
        f"alexnet: {{title: Seeded, licence: x, files: [{{file: a.pt, sha256: {sha256}}}]}}"
    )
    monkeypatch.setattr(weights.declared, "__defaults__", (tmp_path / "known.yaml",))
    found = run("--check", folder=tmp_path)
    assert "alexnet     verified" in found.output
    assert "published 0.81401: DOES NOT AGREE" in found.output
    assert found.exit_code == 1


def test_each_i3d_is_compared_with_its_own_published_values(tmp_path: Path, monkeypatch) -> None:
    """Features stand in for the network: white clips are at the published distance."""
    published = {15: 131.0, 16: 152.9175, 30: 151.2565}

    def embed(clips):
        if clips.shape[1] in published:
            return np.full((1, 1), published[clips.shape[1]] ** 0.5 * clips.mean())
        logits = np.zeros((1, 400))
        logits[0, 227] = 20 * clips.max()  # a white film is cricket, a black one is not
        return logits

    monkeypatch.setattr(published_values, "read_state", lambda path: {})
    monkeypatch.setattr(published_values.i3d, "embed_with", lambda state, device: embed)
    of_hub, of_release, unknown = (
        weights.WeightFile(file="x.pt", sha256="a" * 64, origin=origin)
        for origin in ("tensorflow_hub", "kinetics_i3d", None)
    )
    found = published_values.tried("i3d", tmp_path, of_hub)
    assert [trial.published for trial in found] == list(published.values())
    assert all(trial.agrees for trial in found)
    (absent,) = published_values.tried("i3d", tmp_path, of_release)
    assert not absent.agrees and "absent" in str(absent) and "NOT COMPARED" in str(absent)
    for brightness, agrees in ((255, True), (0, False)):
        films = [Image.new("RGB", (8, 8), (brightness,) * 3), Image.new("RGB", (8, 8))]
        films[0].save(tmp_path / published_values.CRICKET, save_all=True, append_images=films[1:])
        (trial,) = published_values.tried("i3d", tmp_path, of_release)
        assert trial.published == 0.999997 and trial.agrees == agrees
    assert published_values.tried("i3d", tmp_path, unknown) == []


def test_the_declarations_lie_in_the_configuration() -> None:
    assert DECLARED.name == "weights.yaml"
    assert DECLARED.is_file()
