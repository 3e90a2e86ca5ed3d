"""Invalid ONNX models and inputs: each is reported in one line, and the server keeps running."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import GRAPHDBG, HOSTS, Finished, Server, clean_environment
from onnx import TensorProto, helper, numpy_helper

# ---- inputs

Array = np.ndarray
IMAGES = np.zeros((4, 8, 8), np.float32)


def test_says_which_inputs_are_missing(debug_run, onnx_models: Path) -> None:
    run: Finished = debug_run("--no-wait", command=[str(onnx_models / "cnn.onnx")])
    assert run.code == 2
    assert "no values for the inputs images: use --input or --random-inputs" in run.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "images",
            IMAGES[:, :7],
            "input 'images' has the type tensor(float) [4, 8, 8], but {file} contains float32 [4, 7, 8]",
        ),
        (
            "images",
            IMAGES[0],
            "input 'images' has the type tensor(float) [4, 8, 8], but {file} contains float32 [8, 8]",
        ),
        (
            "images",
            IMAGES.astype(int),
            "input 'images' has the type tensor(float) [4, 8, 8], but {file} contains int64 [4, 8, 8]",
        ),
        ("pictures", IMAGES, "the model has no input 'pictures'; its inputs: images tensor(float) [4, 8, 8]"),
        ("images", b"no array", "--input images: cannot read {file}: "),
    ],
)
def test_says_which_input_does_not_fit(
    debug_run, onnx_models: Path, tmp_path: Path, name: str, value: Array | bytes, message: str
) -> None:
    file = tmp_path / "values.npy"
    if isinstance(value, bytes):
        file.write_bytes(value)
    else:
        np.save(file, value)
    run: Finished = debug_run("--no-wait", command=[str(onnx_models / "cnn.onnx"), "--input", f"{name}={file}"])
    assert run.code == 2
    assert [line for line in run.stderr.splitlines() if message.format(file=file) in line]
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--runs", "0"], "argument --runs: expected a whole number of at least 1, not '0'"),
        (["--seed", "-1"], "argument --seed: expected a whole number of at least 0, not '-1'"),
        (["--provider", "Abacus"], "--provider: Abacus is not available; available: "),
        (["--dim", "height=3"], "--dim height: no input has a dimension of that name; variable dimensions: batch"),
        (["--dim", "batch=99999999999"], "not enough memory for input 'images' of shape [99999999999, 8, 8]"),
        (["--compare-to", "notes.npz"], "--compare-to: cannot read notes.npz: it is not a NumPy file"),
        (["--compare-to", "notes.onnx"], "cannot load notes.onnx: notes.onnx"),
        (["--compare-to", "loops.onnx"], "loops.onnx has other inputs: x, n instead of images"),
        (["--compare-to", "branches.onnx"], "branches.onnx has other inputs: x, c, d instead of images"),
    ],
    ids=lambda case: case[-1] if isinstance(case, list) else "",
)
def test_refuses_options_that_fit_no_model(
    debug_run, onnx_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    for name in ("transformer", "loops", "branches"):
        (tmp_path / f"{name}.onnx").symlink_to(onnx_models / f"{name}.onnx")
    (tmp_path / "notes.npz").write_text("not at all")
    (tmp_path / "notes.onnx").write_text("not at all")
    monkeypatch.chdir(tmp_path)
    run: Finished = debug_run("--no-wait", command=["./transformer.onnx", "--random-inputs", *options])
    assert run.code in (1, 2)
    assert len([line for line in run.stderr.splitlines() if message in line]) == 1
    assert "Traceback" not in run.stderr


STRINGS = """
<ir_version: 8, opset_import: ["" : 17]>
strings (string[2] s) => (string[2] y) { y = Identity (s) }
"""


def test_compares_no_models_of_strings(debug_run, tmp_path: Path) -> None:
    file = tmp_path / "strings.onnx"
    onnx.save(onnx.parser.parse_model(STRINGS), file)
    np.save(tmp_path / "s.npy", np.array(["a", "b"]))
    command = [str(file), "--input", f"s={tmp_path / 's.npy'}"]
    assert debug_run("--no-wait", command=command).code == 0
    run: Finished = debug_run("--no-wait", command=[*command, "--compare-to", str(file)])
    assert run.code == 2
    assert f"--compare-to: {file} cannot be compared: its input 's' has strings" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_program_gets_the_exceptions_of_onnx_runtime(debug_run, onnx_models: Path) -> None:
    """The messages are identical, and a correct run after them is debugged."""
    command = [sys.executable, str(HOSTS / "onnx" / "bad_inputs.py"), str(onnx_models / "cnn.onnx")]
    plain = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"^.*(?:Error|InvalidArgument): ", plain, re.MULTILINE)) == 9
    options = ("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue")
    run: Finished = debug_run(*options, command=command)
    assert (run.code, run.stdout) == (0, plain)
    assert "cnn/log_softmax" in {hit["node"] for hit in run.result["hits"]}


# ---- files

Spoil = Callable[[Path], None]


def chain(*nodes: onnx.NodeProto, opset: int = 17) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def good(file: Path) -> None:
    file.write_bytes(chain(helper.make_node("Relu", ["x"], ["y"], name="rectify")).SerializeToString())


def truncated(file: Path) -> None:
    good(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def empty(file: Path) -> None:
    file.touch()


def huge(file: Path) -> None:
    with open(file, "wb") as stream:
        stream.truncate(2**31)


def cyclic(file: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="after"),
    ]
    file.write_bytes(chain(*nodes).SerializeToString())


def of_the_future(file: Path) -> None:
    file.write_bytes(chain(helper.make_node("Relu", ["x"], ["y"], name="rectify"), opset=999).SerializeToString())


def of_an_unknown_op(file: Path) -> None:
    file.write_bytes(chain(helper.make_node("Conjure", ["x"], ["y"], name="conjurer")).SerializeToString())


def nested(file: Path) -> None:
    """A node in a graph in a node and so on, deeper than any reader may recurse."""

    def field(number: int, content: bytes) -> bytes:
        size, bytes_of_size = len(content), b""
        while size > 127:
            bytes_of_size += bytes([size & 127 | 128])
            size >>= 7
        return bytes([number << 3 | 2]) + bytes_of_size + bytes([size]) + content

    graph = b""
    for _ in range(10000):
        # GraphProto.node, NodeProto.attribute, AttributeProto.g
        graph = field(1, field(5, field(6, graph)))
    file.write_bytes(field(7, graph))


def external(file: Path, location: str, shape: tuple[int, ...] = (2,)) -> None:
    model = chain(helper.make_node("Add", ["x", "w"], ["y"], name="add"))
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    model.graph.initializer.append(tensor)
    file.write_bytes(model.SerializeToString())


def secret_of(file: Path) -> Path:
    secret = file.parent.parent / "secret"
    secret.write_bytes(b"8 bytes!")
    return secret


def without_its_data(file: Path) -> None:
    external(file, "weights.data")


def with_too_little_data(file: Path) -> None:
    (file.parent / "weights.data").write_bytes(b"8 bytes!")
    external(file, "weights.data", (3,))


def of_an_impossible_shape(file: Path) -> None:
    (file.parent / "weights.data").write_bytes(b"8 bytes!")
    external(file, "weights.data", (-2,))


def reading_above(file: Path) -> None:
    secret_of(file)
    external(file, "../secret")


def reading_anywhere(file: Path) -> None:
    external(file, str(secret_of(file)))


def reading_through_a_link(file: Path) -> None:
    (file.parent / "weights.data").symlink_to(secret_of(file))
    external(file, "weights.data")


def reading_through_a_folder(file: Path) -> None:
    secret_of(file)
    (file.parent / "data").symlink_to("..")
    external(file, "data/secret")


# Patterns of the errors by kind of file.
BAD: dict[Spoil, str] = {
    truncated: "ONNX model",
    empty: "ONNX model",
    huge: "2 GiB",
    cyclic: r"node .*\bfirst\b",
    nested: "ONNX model",
    without_its_data: r"initializer .*\bw\b",
    with_too_little_data: r"initializer .*\bw\b.* 12 bytes",
    of_an_impossible_shape: r"initializer .*\bw\b.* shape",
    reading_above: r"initializer .*\bw\b.*'\.\./secret'",
    reading_anywhere: r"initializer .*\bw\b",
    reading_through_a_link: r"initializer .*\bw\b.*'weights\.data'",
    reading_through_a_folder: r"initializer .*\bw\b.*'data/secret'",
}
# These have a graph that can be shown but not run.
UNRUNNABLE: dict[Spoil, str] = {of_the_future: "opset", of_an_unknown_op: "Conjure"}


def made(spoil: Spoil, folder: Path) -> Path:
    file = folder / "models" / "bad.onnx"
    file.parent.mkdir()
    spoil(file)
    return file


@pytest.mark.parametrize(
    ("spoil", "pattern"), (BAD | UNRUNNABLE).items(), ids=lambda case: getattr(case, "__name__", "")
)
def test_refuses_bad_models_in_one_line(debug_run, tmp_path: Path, spoil: Spoil, pattern: str) -> None:
    run: Finished = debug_run("--no-wait", command=[str(made(spoil, tmp_path)), "--random-inputs"])
    assert run.code == 1
    lines = [line for line in run.stderr.splitlines() if "cannot load" in line]
    assert len(lines) == 1 and re.search(pattern, lines[0])
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(("spoil", "pattern"), BAD.items(), ids=lambda case: getattr(case, "__name__", ""))
def test_opens_no_bad_models(tmp_path: Path, spoil: Spoil, pattern: str) -> None:
    file = made(spoil, tmp_path)
    opened = subprocess.run([GRAPHDBG, "open", str(file)], env=clean_environment(), capture_output=True, text=True)
    assert opened.returncode == 1
    lines = [line for line in opened.stderr.splitlines() if f"graphdbg: cannot open {file}: " in line]
    assert len(lines) == 1 and re.search(pattern, lines[0])
    assert "Traceback" not in opened.stderr


def test_the_server_lives_on_whatever_a_file_holds(server: Server, start_job, tmp_path: Path) -> None:
    for number, spoil in enumerate((*BAD, *UNRUNNABLE)):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [sys.executable, "-m", "graphdbg._onnxruntime.run_model", str(made(spoil, folder)), "--random-inputs"]
        job = start_job(command, server.job_environment(GRAPHDBG_JOB=spoil.__name__, GRAPHDBG_WAIT="0"))
        assert job.wait(60) == 1
        assert server.process.poll() is None and server.client.get("/server")["name"] == "graphdbg"
    good(tmp_path / "good.onnx")
    command = [sys.executable, "-m", "graphdbg._onnxruntime.run_model", str(tmp_path / "good.onnx"), "--random-inputs"]
    start_job(command, server.job_environment(GRAPHDBG_JOB="good"))
    server.wait_for_state("good", "paused", pause_reason="start")
    assert server.client.get("/jobs/good/graph/node?name=good/rectify")["op_type"] == "Relu"


def test_reads_more_than_two_gib_beside_a_model(server: Server, start_job, tmp_path: Path) -> None:
    rows = 2**29 + 1
    with open(tmp_path / "weights.data", "wb") as stream:
        stream.truncate(4 * rows)
        stream.seek(4 * (rows - 1))
        stream.write(np.float32(7).tobytes())
    external(tmp_path / "large.onnx", "weights.data", (rows,))
    command = [sys.executable, "-m", "graphdbg._onnxruntime.show_model", str(tmp_path / "large.onnx")]
    start_job(command, server.job_environment(GRAPHDBG_JOB="large"))
    server.wait_for_state("large", "paused", pause_reason="start")
    assert server.client.get("/jobs/large/graph/node?name=large/w")["outputs"][0]["shape"] == [rows]
    last = server.client.get(f"/jobs/large/tensor?name=large/w:0&slice=[{rows - 2}:]")
    assert last["data"] == [0, 7]


def test_names_the_node_that_fails_and_what_it_read(debug_run, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="rectify"),
        helper.make_node("Reshape", ["r", "shape"], ["s"], name="misshape"),
        helper.make_node("Relu", ["s"], ["y"], name="last"),
    ]
    model = chain(*nodes)
    del model.graph.input[0].type.tensor_type.shape.dim[:]
    model.graph.input[0].type.tensor_type.shape.dim.add(dim_param="n")
    model.graph.initializer.append(numpy_helper.from_array(np.array([2, 2]), "shape"))
    onnx.save(model, tmp_path / "model.onnx")
    command = [str(tmp_path / "model.onnx"), "--random-inputs", "--dim", "n=3"]
    run: Finished = debug_run("--no-wait", "--break-on", "expr:count > 0", "--on-hit", "continue", command=command)
    assert run.code == 1
    assert "graphdbg: node misshape failed: " in run.stderr
    assert "model/rectify" in {hit["node"] for hit in run.result["hits"]}
