"""The bytes of recorded runs: records, segments, rings, messages, and what damage and death leave of them."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")

import graphdbg  # noqa: E402
from graphdbg.runs import CHANGE, HIT, MARK, RECORD, SAVED, UNITS, open_run  # noqa: E402
from graphdbg.runs.crc32c import _library, crc32c, crc32c_by_numpy, crcs_at, crcs_by_numpy, record_crcs  # noqa: E402
from synthetic_run import (  # noqa: E402
    HOLDER,
    Node,
    SyntheticRank,
    add_steps,
    bytes_field,
    hit_message,
    lock,
    realistic_rank,
    write_run_json,
)


def crc_by_definition(content: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in content:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.fixture
def rank(tmp_path):
    directory = tmp_path / "abc"
    write_run_json(directory, 1)
    return SyntheticRank(directory)


def test_the_fields_of_records_are_where_the_format_has_them():
    offsets = {
        RECORD: {"crc": 0, "kind": 4, "flags": 6, "step": 8, "node": 16, "slot": 20, "dtype": 22, "mode": 23}
        | {"exec_order": 24, "iteration": 28, "pass": 30, "count": 32, "nan_count": 40, "pos_inf_count": 48}
        | {"neg_inf_count": 56, "zero_count": 64, "negative_count": 72, "positive_count": 80, "min": 88, "max": 96}
        | {"mean": 104, "abs_mean": 112, "abs_max": 120, "variance": 128, "l1": 136, "l2": 144, "grad_scale": 152},
        CHANGE: {"count": 32, "finite_count": 40, "digest": 48, "change_abs_mean": 56, "change_abs_max": 64}
        | {"change_l2": 72, "previous_abs_mean": 80, "previous_l2": 88, "changed_count": 96, "compared_step": 104},
        MARK: {"unix_ns": 32, "monotonic_ns": 40, "mode_step": 48, "records": 56, "dropped": 64}
        | {"tensors_dropped": 72, "measuring_ns": 80, "tensor_bytes": 88, "reason": 96},
        SAVED: {"offset": 32, "bytes": 40, "file": 48, "ndim": 52, "data_crc": 56, "shape": 64, "grad_scale": 152},
        HIT: {"number": 32, "watchpoint": 40},
        UNITS: {"axis": 32, "units": 36, "idle_units": 40, "from": 48, "to": 56, "below": 64},
    }
    for dtype, fields in offsets.items():
        assert dtype.itemsize == 160
        for name, offset in fields.items():
            assert dtype.fields[name][1] == offset, name


@pytest.mark.parametrize("compute", [crc32c, crc32c_by_numpy])
def test_checksums_are_those_of_the_definition(compute):
    assert compute(b"123456789") == 0xE3069283
    random = numpy.random.default_rng(0)
    for size in (0, 1, 159, 1023, 1024, 1025, 2048, 5000):
        content = random.bytes(size)
        assert compute(content) == crc_by_definition(content), size


@pytest.mark.parametrize("compute", [crcs_at, crcs_by_numpy])
def test_the_checksum_of_a_record_is_seeded_with_its_position(compute):
    records = numpy.frombuffer(numpy.random.default_rng(1).bytes(160 * 5000), RECORD)
    first = (1 << 40) - 3
    crcs = compute(records, first + numpy.arange(len(records), dtype="<u8"))
    assert (record_crcs(records, first) == crcs).all()
    for index in (0, 2, 3, 4095, 4096, 4999):
        content = struct.pack("<Q", first + index) + records[index : index + 1].tobytes()[4:]
        assert crcs[index] == crc_by_definition(content)
    shuffled = numpy.array([7, 1 << 63, 0], "<u8")
    assert compute(records[:3].copy(), shuffled)[1] == crc_by_definition(
        struct.pack("<Q", 1 << 63) + records[1:2].tobytes()[4:]
    )


def test_the_installed_package_computes_checksums_with_the_library():
    assert _library() is not None


def test_one_line_of_numpy_reads_a_segment(rank):
    add_steps(rank, 4)
    written = rank.write()
    file = rank.path / "log" / "00000000000000000000.gdbl"
    read = numpy.memmap(file, RECORD, "r", offset=64)
    assert read.tobytes() == written.tobytes()
    assert read["mean"][1] == 0 and read["l1"][1] == 6


def test_importing_graphdbg_does_not_import_numpy():
    code = "import graphdbg, sys; sys.exit('numpy' in sys.modules or 'graphdbg.runs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_numpy_the_error_names_the_extra():
    code = "import sys; sys.modules['numpy'] = None\nimport graphdbg; graphdbg.open_run('x')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingPackageError" in ran.stderr and "pip install 'graphdbg[analysis]'" in ran.stderr


def test_segments_that_follow_each_other_are_one_log(rank):
    add_steps(rank, 10)
    written = rank.write(segments=4)
    run = graphdbg.open_run(rank.directory)
    found = run.rank(0).log.blocks()
    assert b"".join(block.records.tobytes() for block in found) == written.tobytes()
    assert run.ended == "exit" and run.damages == []


def test_a_segment_that_grows_is_read_on(rank):
    add_steps(rank, 6)
    records = rank.all_records()
    records["crc"] = record_crcs(records, 0)
    rank.write_messages()
    rank.write_json(None)
    rank.write_segment(0, records[:7], ".open", cut=100)
    rank.write_ring(records[:0])
    with lock(rank.path / "ring.gdbr"):
        run = open_run(rank.directory)
        # A lock of this process would not be seen, so another process asks.
        assert run.rank(0).log.count == 6
        rank.write_segment(0, records, ".open")
        assert run.rank(0).log.count == 6
        run.refresh()
        assert run.rank(0).log.count == len(records)
        assert run.damages == []


@pytest.mark.parametrize("damaged", [0, 3, 11])
def test_a_damaged_segment_is_read_up_to_the_damage(rank, damaged):
    add_steps(rank, 10)
    rank.write(segments=2)
    file = rank.path / "log" / "00000000000000000000.gdbl"
    content = bytearray(file.read_bytes())
    content[64 + 160 * damaged + 90] ^= 1
    file.write_bytes(content)
    run = open_run(rank.directory)
    (damage,) = run.damages
    assert damage.file == str(file) and damage.offset == 64 + 160 * damaged
    assert str(damage).startswith("DATA_LOSS: ")
    # The first part of this segment, and all of the other one.
    assert run.rank(0).log.count == damaged + 25
    assert run.steps()[-1] == 10


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, b"X", "not a segment"),
        (7, b"\x02", "later than 1"),
        (8, b"\x80", "header of 128 bytes"),
        (12, b"\x00", "records of 0 bytes"),
    ],
)
def test_a_segment_of_another_format_is_named(rank, offset, value, reason):
    add_steps(rank, 2)
    rank.write()
    file = rank.path / "log" / "00000000000000000000.gdbl"
    content = bytearray(file.read_bytes())
    content[offset : offset + 1] = value
    file.write_bytes(content)
    (damage,) = open_run(rank.directory).damages
    assert reason in damage.reason


def test_a_closed_segment_that_is_cut_short_is_damaged(rank):
    add_steps(rank, 2)
    records = rank.write()
    rank.write_segment(0, records, cut=1)
    (damage,) = open_run(rank.directory).damages
    assert "cut short" in damage.reason and damage.offset == 64 + 160 * (len(records) - 1)


# --- messages and JSON


def test_a_graph_is_read_up_to_the_first_bad_message(rank):
    add_steps(rank, 2)
    rank.write()
    file = rank.path / "graph.gdbm"
    good = file.read_bytes()
    extra = bytes_field(2, Node("forward/late").encode(4))
    frame = struct.pack("<II", len(extra), crc32c(extra)) + extra
    file.write_bytes(good + frame)
    assert "forward/late" in [node.name for node in open_run(rank.directory).graph().select_nodes()]
    file.write_bytes(good + frame[:-1] + b"\0")
    (damage,) = open_run(rank.directory).damages
    assert damage.offset == len(good) and "checksum" in damage.reason
    file.write_bytes(good + frame[:-1])
    (damage,) = open_run(rank.directory).damages
    assert damage.offset == len(good) and "does not fit" in damage.reason


def test_messages_of_a_running_rank_are_read_on(rank):
    add_steps(rank, 2)
    rank.hits = [hit_message(1, 1)]
    rank.write()
    rank.write_json(None)
    rank.write_ring(rank.all_records()[:0])
    run = open_run(rank.directory)
    assert len(run.hits()) == 1
    first = (rank.path / "hits.gdbm").read_bytes()
    rank.hits.append(hit_message(2, 2))
    rank.write_messages()
    whole = (rank.path / "hits.gdbm").read_bytes()
    (rank.path / "hits.gdbm").write_bytes(whole[:-3])
    run.refresh()
    assert len(run.hits()) == 1 and whole.startswith(first)
    (rank.path / "hits.gdbm").write_bytes(whole)
    run.refresh()
    assert [hit.step for hit in run.hits()] == [1, 2]


@pytest.mark.parametrize("content", ["{", "[]", '{"a":' + "[" * 100_000, "\udcff"])
def test_json_that_is_not_an_object_is_damage(rank, content):
    add_steps(rank, 2)
    rank.write()
    (rank.path / "rank.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    run = open_run(rank.directory)
    assert any(damage.file.endswith("rank.json") for damage in run.damages)
    assert run.steps() == [1, 2]


def test_json_that_is_too_large_is_not_read(rank):
    add_steps(rank, 2)
    rank.write()
    with (rank.path / "rank.json").open("w") as stream:
        stream.write(json.dumps({"x": " " * (16 << 20)}))
    (damage,) = open_run(rank.directory).damages
    assert "16777216" in damage.reason


@pytest.mark.parametrize("seed", range(4))
def test_a_run_with_random_damage_is_read_or_refused_with_an_error_of_ours(tmp_path, seed):
    random = numpy.random.default_rng(seed)
    directory = tmp_path / "run"
    write_run_json(directory, 1)
    written = realistic_rank(directory, 0, steps=3, tensors=20, seed=seed)
    written.hits = [hit_message(1, 1)]
    written.save(2, 1, numpy.arange(32, dtype="f4").reshape(4, 8))
    written.write_ring(written.write(segments=2)[:0])
    files = [file for file in directory.rglob("*") if file.is_file()]
    before = {file: file.read_bytes() for file in files}
    for _ in range(60):
        file = files[random.integers(len(files))]
        content = bytearray(before[file])
        for _ in range(random.integers(1, 6)):
            content[random.integers(min(len(content), 4096))] = random.integers(256)
        file.write_bytes(content[: random.integers(1, len(content) + 1)] if random.random() < 0.3 else content)
        try:
            use(directory)
        except graphdbg.GraphdbgError:
            pass
        finally:
            file.write_bytes(before[file])


def use(directory):
    run = open_run(directory)
    run.damages, run.ended, run.modes(), run.hits(), run.collections(), run.config
    run.steps()
    for name in run.tensors():
        run.tensor(name).statistics(2)
        run.graph().select_nodes()
    run.tensor("forward/layers/0/attention/op_0").value(2)


def test_a_run_whose_directory_is_gone_is_an_error(tmp_path):
    with pytest.raises(graphdbg.GraphdbgError, match="no recorded run at"):
        open_run(tmp_path / "none")


def test_following_a_run_wakes_at_new_steps(rank):
    add_steps(rank, 2)
    records = rank.all_records()
    records["crc"] = record_crcs(records, 0)
    rank.write_messages()
    rank.write_json(None)
    rank.write_ring(records[:0])
    rank.write_segment(0, records[:5], ".open")
    code = f"""
import sys
sys.path[:0] = {[each for each in sys.path if each]!r}
from graphdbg.runs import open_run
for step in open_run({str(rank.directory)!r}).follow():
    print(step.step, step.mode, step.mode_step, flush=True)
print("end", flush=True)
"""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(rank.path / "ring.gdbr")], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"locked\n"
    follower = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert follower.stdout.readline() == "1 train 1\n"
        rank.write_segment(0, records, ".open")
        assert follower.stdout.readline() == "2 train 2\n"
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    rest, _ = follower.communicate(timeout=60)
    assert rest == "end\n"


def test_a_segment_that_was_removed_is_damage(rank):
    add_steps(rank, 10)
    rank.info["config"] = {"record": {"keep": "all"}}
    rank.write(segments=5)
    (rank.path / "log" / f"{20:020d}.gdbl").unlink()
    (damage,) = open_run(rank.directory).damages
    assert damage.reason == "records 20 to 29 are missing"
    rank.info["config"] = {"record": {"keep": "ring"}}
    rank.write_json({"reason": "exit"})
    assert open_run(rank.directory).damages == []


def test_a_pipe_in_the_place_of_a_file_is_not_read(rank):
    add_steps(rank, 2)
    records = rank.write()
    rank.write_json(None)
    messages = ("graph.gdbm", "hits.gdbm", "collections.jsonl")
    for name in ("ring.gdbr", "ring.gdbr.ops", *messages, f"log/{len(records):020d}.gdbl"):
        (rank.path / name).unlink(missing_ok=True)
        os.mkfifo(rank.path / name)
    run = open_run(rank.directory)
    assert run.steps() == [1, 2] and len(run.graph()) == 0
    assert run.hits() == [] and run.collections() == {} and run.last_ops() == []
    assert all("not a regular file" in damage.reason for damage in run.damages)
