"""Hits are captured from real jobs, and repeated in other processes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphdbg
import pytest
from conftest import GRAPHDBG, HOSTS, Finished, Server, clean_environment
from graphdbg.cli.client import Client
from graphdbg.cli.replay.bundle_file import BadBundle, BundleFile
from graphdbg.client import ApiError

BUGS_SCRIPT = HOSTS / "numeric_bugs.py"
KINDS = ("count", "nan_count", "pos_inf_count", "neg_inf_count")
# The op of each bug that makes the first values that are not finite.
ORIGINS = {
    "log_softmax": "forward/log_softmax/log",
    "division": "forward/division/div",
    "sqrt": "backward/sqrt/div",
    "narrow": "forward/narrow/mul_1",
    "input": "forward/input/sub",
    "layer_norm": "forward/layer_norm/log",
    "power": "forward/power/pow",
    "transposed": "forward/transposed/mm",
    "in_place": "forward/in_place/div_",
    "dropout": "forward/dropout/log",
    "adam": "optimizer/Adam/addcmul_",
}


def graphdbg_program(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRAPHDBG, *arguments], env=clean_environment(), capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with bundles of all hits of the job."""
    directory = tmp_path_factory.mktemp("captured") / "bundles"
    run = graphdbg_program(
        *("run", "--no-wait", "--on-hit", "continue", "--capture", str(directory), "--json"),
        *("--break-on", "nan,inf:absorbed=stop", "--config", str(_keep_all(directory.parent))),
        *("--", sys.executable, str(BUGS_SCRIPT)),
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["artifacts"] == sorted(map(str, directory.glob("*.graphdbg")))
    return directory


def _keep_all(directory: Path) -> Path:
    file = directory / "job.yaml"
    file.write_text("capture: {keep: 1000, tape: off}\n")
    return file


def bundle_of(directory: Path, node: str, step: int = 1) -> Path:
    name = re.sub(r"[^A-Za-z0-9.-]", "_", node)
    (found, *_) = sorted(directory.glob(f"*-step{step:06}-{name}.0*.graphdbg")) or [None]
    assert found, f"no bundle of {node} among {sorted(path.name for path in directory.iterdir())}"
    return found


@pytest.mark.long(but=["sqrt", "layer_norm"])
@pytest.mark.parametrize("bug", ORIGINS)
def test_a_hit_fails_again_with_the_same_counts(captured: Path, bug: str, tmp_path: Path) -> None:
    file = bundle_of(captured, ORIGINS[bug])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    replay = graphdbg_program("replay", "--json", str(file))
    assert replay.returncode == 0, replay.stderr
    result = json.loads(replay.stdout)
    with BundleFile(file) as bundle:
        hit = bundle.manifest["hit"]
        ops = [op["op"] for op in bundle.json("tape.json")["ops"]]
    assert result["verdict"] == "same bits"
    assert {kind: result["statistics"][kind] for kind in KINDS} == {kind: hit["statistics"][kind] for kind in KINDS}
    assert len(ops) <= 9 and not any("dropout" in op for op in ops)
    # The script of the bundle needs neither graphdbg nor the user's program.
    unpacked = tmp_path / "unpacked"
    assert graphdbg_program("bundle", "--unpack", str(unpacked), str(file)).returncode == 0
    script = subprocess.run(
        [sys.executable, "-c", _WITHOUT_GRAPHDBG, str(unpacked / "repro.py")],
        **{"capture_output": True, "text": True, "cwd": tmp_path, "env": clean_environment()},
    )
    assert script.returncode == 0, script.stderr
    assert "the same bits" in script.stdout


# Runs a script in a process that must not import graphdbg.
_WITHOUT_GRAPHDBG = """
import runpy, sys
sys.modules["graphdbg"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.long
def test_a_larger_type_shows_whether_the_type_is_the_cause(captured: Path) -> None:
    file = str(bundle_of(captured, ORIGINS["narrow"]))
    for dtype, code, verdict in [("float64", 1, "does not fail"), ("float16", 0, "same condition")]:
        replay = graphdbg_program("replay", "--json", "--dtype", dtype, "--threads", "1", file)
        assert replay.returncode == code, replay.stderr
        assert json.loads(replay.stdout)["verdict"] == verdict
    file = str(bundle_of(captured, ORIGINS["division"]))
    text = graphdbg_program("replay", "--dtype", "float64", "--device", "cpu", file)
    assert text.returncode == 0 and text.stdout.splitlines()[-1] == "same condition"


def test_an_op_that_overwrites_its_input_is_captured_the_next_time(captured: Path) -> None:
    # In the first step, its input is made by another op, which is repeated. In the second one, it is that of the first.
    node = "optimizer/Adam/addcmul_"
    assert not list(captured.glob("*-step000002-optimizer_Adam_addcmul_.0*"))
    with BundleFile(bundle_of(captured, node)) as bundle:
        ops = [op["op"] for op in bundle.json("tape.json")["ops"]]
    assert ops[-3:] == ["aten::zeros_like", "aten::mul_.Tensor", "aten::addcmul_"]
    replay = graphdbg_program("replay", "--json", str(bundle_of(captured, node, step=3)))
    assert replay.returncode == 0, replay.stderr
    assert json.loads(replay.stdout)["verdict"] == "same bits"


def test_what_a_bundle_contains(captured: Path, tmp_path: Path) -> None:
    file = bundle_of(captured, ORIGINS["log_softmax"])
    manifest = json.loads(graphdbg_program("bundle", "--json", str(file)).stdout)
    assert (manifest["node"], manifest["step"], manifest["rank"], manifest["level"]) == (
        ORIGINS["log_softmax"],
        1,
        0,
        "op",
    )
    assert manifest["hit"]["condition"] == "inf" and manifest["hit"]["statistics"]["neg_inf_count"] > 0
    assert manifest["sources"][0]["path"] == str(BUGS_SCRIPT)
    with BundleFile(file) as bundle:
        tape = bundle.json("tape.json")
        environment = bundle.json("environment.json")
        nodes = {node["name"] for node in bundle.json("graph.json")["nodes"]}
        source = bundle.read(manifest["sources"][0]["member"])
    assert [op["op"] for op in tape["ops"]] == ["aten::mul.Tensor", "aten::_softmax", "aten::log"]
    assert tape["ops"][-1]["source"]["file"] == str(BUGS_SCRIPT)
    assert nodes >= {op["node"] for op in tape["ops"]}
    assert source == BUGS_SCRIPT.read_bytes()
    assert environment["packages"]["torch"] and "GRAPHDBG" not in json.dumps(environment["variables"])
    shown = graphdbg_program("bundle", str(file)).stdout
    assert ORIGINS["log_softmax"] in shown and "leaves.safetensors" in shown


def test_values_can_be_removed(captured: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.graphdbg"
    file.write_bytes(bundle_of(captured, ORIGINS["division"]).read_bytes())
    assert graphdbg_program("bundle", "--strip", "values", str(file)).returncode == 0
    stripped = tmp_path / "a.stripped.graphdbg"
    assert stripped.stat().st_size < file.stat().st_size
    replay = graphdbg_program("replay", str(stripped))
    assert (replay.returncode, "its values were removed" in replay.stderr) == (3, True)


def test_secrets_of_the_environment_are_not_captured(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    run = debug_run(
        *("--no-wait", "--on-hit", "terminate", "--break-on", "nan", "--capture", str(tmp_path / "b")),
        command=[sys.executable, str(BUGS_SCRIPT)],
        MY_SECRET="swordfish",
        NCCL_TOKEN="swordfish",
        NCCL_DEBUG="WARN",
    )
    (file,) = run.result["artifacts"]
    assert b"swordfish" not in Path(file).read_bytes()
    with BundleFile(Path(file)) as bundle:
        assert bundle.json("environment.json")["variables"]["NCCL_DEBUG"] == "WARN"


def test_the_configuration_has_the_action_and_its_settings(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    watchpoint = {"condition": "nan", "patterns": ["forward/layer_norm/*"], "pause": "none", "actions": ["capture"]}
    settings = {"to": str(tmp_path / "kept"), "keep": 1, "upstream": 0, "sources": False, "tape": "off"}
    config = tmp_path / "job.json"
    config.write_text(json.dumps({"watchpoints": [watchpoint], "capture": settings}))
    run = debug_run("--no-wait", "--config", str(config), command=[sys.executable, str(BUGS_SCRIPT)])
    assert run.code == 0, run.stderr
    (file,) = run.result["artifacts"]
    assert Path(file) == bundle_of(tmp_path / "kept", ORIGINS["layer_norm"]) and f"graphdbg: wrote {file}" in run.stderr
    with BundleFile(Path(file)) as bundle:
        assert [op["op"] for op in bundle.json("tape.json")["ops"]] == ["aten::log"]
        assert bundle.manifest["sources"] == [] and not any(name.startswith("sources") for name in bundle.members)


def test_at_most_three_bundles_are_written(debug_run: Callable[..., Finished], tmp_path: Path) -> None:
    run = debug_run(
        *("--no-wait", "--on-hit", "continue", "--break-on", "nan", "--capture", str(tmp_path / "b")),
        command=[sys.executable, str(BUGS_SCRIPT)],
    )
    assert run.code == 0 and len(run.result["artifacts"]) == 3
    assert len(run.result["hits"]) > 3


def test_a_bundle_is_downloaded_while_the_job_is_paused(
    server: Server, start_job: Callable[..., Any], tmp_path: Path
) -> None:
    start_job([sys.executable, str(BUGS_SCRIPT)], server.job_environment(GRAPHDBG_JOB="bugs"))
    server.wait_for_state("bugs", "paused", pause_reason="start")
    token = (server.data_dir / "token").read_text().strip()
    job = graphdbg.connect(server.addresses["http_address"], token=token).job("bugs")
    job.watch("nan", pause="node")
    job.continue_()
    server.wait_for_state("bugs", "paused", pause_reason="watchpoint")
    hit = next(job.hits())
    path = f"/jobs/bugs/hits/{hit.id}/bundle"
    file = tmp_path / "a.graphdbg"
    file.write_bytes(server.client.download(path))
    with BundleFile(file) as bundle:
        assert bundle.manifest["hit"]["id"] == hit.id and bundle.manifest["node"] == hit.node
    replay = graphdbg_program("replay", "--json", str(file))
    assert json.loads(replay.stdout)["verdict"] == "same bits", replay.stderr
    for unknown in ("/jobs/bugs/hits/999/bundle", "/jobs/bugs/hits/x/bundle"):
        with pytest.raises(ApiError) as refused:
            server.client.download(unknown)
        assert refused.value.status == 404
    viewer = server.client.post("/tokens", {"name": "eve", "role": "view"})["token"]
    with pytest.raises(ApiError) as forbidden:
        Client(server.addresses["http_address"], viewer).download(path)
    assert forbidden.value.status == 403


def change_tape(change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def apply(members: dict[str, bytes]) -> None:
        tape = json.loads(members["tape.json"])
        change(tape)
        members["tape.json"] = json.dumps(tape).encode()

    return apply


def set_op(name: str) -> Callable[[Any], None]:
    return lambda tape: tape["ops"][0].update(op=name)


def value_of(tape: Any) -> Any:
    return next(each["value"] for each in tape["ops"][0]["arguments"] if isinstance(each["value"], dict))["tensor"]


HOSTILE_TAPES: dict[str, tuple[Callable[[Any], None], int, str]] = {
    "code": (set_op("aten::log; import os"), 2, "cannot call"),
    "attribute": (set_op("aten::__class__.__init__"), 3, "has not loaded"),
    "file": (set_op("aten::from_file"), 2, "cannot call"),
    "unknown": (set_op("mylib::fused_attn"), 3, "pass --import"),
    "many_ops": (lambda tape: tape.update(ops=[{}] * 100_001), 2, "more than"),
    "far_offset": (lambda tape: value_of(tape).update(offset=10**9), 2, "exceeds its storage"),
    "negative_stride": (lambda tape: value_of(tape).update(strides=[-1] * len(value_of(tape)["sizes"])), 2, "damaged"),
    "huge_storage": (lambda tape: tape["storages"][0].update(bytes=2**60), 2, "another size"),
    "no_storage": (lambda tape: value_of(tape).update(storage=99), 2, "damaged"),
    "huge_result": (
        lambda tape: tape["ops"][0].update(
            op="aten::zeros",
            arguments=[{"name": "size", "keyword": False, "value": {"list": [2**50]}}],
        ),
        3,
        "cannot replay",
    ),
    "no_list": (lambda tape: tape.update(ops=3), 2, "damaged"),
    "deep": (lambda tape: tape["ops"][0]["arguments"][0].update(value=_deep()), 2, "damaged"),
}


def _deep() -> Any:
    value: Any = 1
    for _ in range(50):
        value = {"list": [value]}
    return value


@pytest.mark.long(but=["code", "file", "far_offset"])
@pytest.mark.parametrize("case", HOSTILE_TAPES)
def test_hostile_tapes_are_refused(captured: Path, tmp_path: Path, case: str) -> None:
    change, code, message = HOSTILE_TAPES[case]
    file = tmp_path / "hostile.graphdbg"
    rewrite(bundle_of(captured, ORIGINS["log_softmax"]), file, change_tape(change))
    replay = graphdbg_program("replay", str(file))
    assert (replay.returncode, message in replay.stderr) == (code, True), replay.stderr
    assert "Traceback" not in replay.stderr


def rewrite(bundle: Path, file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Writes a bundle with other members, of which the manifest has the digests."""
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    manifest = json.loads(members.pop("manifest.json"))
    manifest["members"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("manifest.json", json.dumps(manifest))


def damaged(name: str, content: bytes, file: Path) -> None:
    """Writes a damaged copy of a bundle."""
    if name == "empty":
        content = b""
    elif name == "truncated":
        content = content[: len(content) // 2]
    elif name == "no_directory":
        content = content[:-30]
    elif name == "other_bytes":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            place = archive.getinfo("leaves.safetensors").header_offset + 400
        content = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    elif name == "lying_size":
        place = content.rindex(b"tape.json") - 46
        content = content[: place + 20] + struct.pack("<II", 2**31, 2**31) + content[place + 28 :]
    file.write_bytes(content)


@pytest.mark.parametrize("case", ["empty", "truncated", "no_directory", "other_bytes", "lying_size"])
def test_damaged_bundles_are_refused(captured: Path, tmp_path: Path, case: str) -> None:
    file = tmp_path / "damaged.graphdbg"
    damaged(case, bundle_of(captured, ORIGINS["log_softmax"]).read_bytes(), file)
    for command in ("replay", "bundle"):
        if (command, case) == ("bundle", "other_bytes"):
            continue
        refused = graphdbg_program(command, str(file))
        assert refused.returncode == 2 and "Traceback" not in refused.stderr, refused.stderr
        assert str(file) in refused.stderr


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "sources/../../x", "sources/0_a/b", "evil.pkl"])
def test_members_have_known_names(captured: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "named.graphdbg"
    rewrite(bundle_of(captured, ORIGINS["log_softmax"]), file, lambda members: members.update({name: b"x"}))
    with pytest.raises(BadBundle, match="member with the name"):
        BundleFile(file)


def test_members_are_unique_stored_and_listed(captured: Path, tmp_path: Path) -> None:
    original = bundle_of(captured, ORIGINS["log_softmax"])
    file = tmp_path / "twice.graphdbg"
    file.write_bytes(original.read_bytes())
    with pytest.warns(UserWarning), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("tape.json", "{}")
    with pytest.raises(BadBundle, match="twice"):
        BundleFile(file)
    with zipfile.ZipFile(original) as archive, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name))
    with pytest.raises(BadBundle, match="compressed"):
        BundleFile(file)
    with zipfile.ZipFile(original) as archive, zipfile.ZipFile(file, "w") as copy:
        for name in archive.namelist():
            if name != "tape.json":
                copy.writestr(name, archive.read(name))
    with pytest.raises(BadBundle, match=r"lacks tape\.json"):
        BundleFile(file)
