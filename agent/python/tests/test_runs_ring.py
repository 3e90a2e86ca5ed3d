"""Rings of recorded runs: what a process that died leaves, and whether it is alive."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")

from graphdbg.runs import open_run  # noqa: E402
from graphdbg.runs.crc32c import record_crcs  # noqa: E402
from graphdbg.runs.recovery import recover  # noqa: E402
from synthetic_run import HOLDER, SyntheticRank, add_steps, write_run_json  # noqa: E402


@pytest.fixture
def rank(tmp_path):
    directory = tmp_path / "abc"
    write_run_json(directory, 1)
    return SyntheticRank(directory)


def dead(rank: SyntheticRank, in_log: int, capacity: int = 6528) -> object:
    """Leaves the files of a process that died with `in_log` records in the log and all others in the ring."""
    records = rank.all_records()
    records["crc"] = record_crcs(records, 0)
    rank.write_segment(0, records[:in_log], ".open", cut=77 if in_log else 0)
    rank.write_ring(records[-capacity:], max(0, len(records) - capacity), in_log, capacity)
    rank.write_messages()
    rank.write_json(None)
    return records


@pytest.mark.parametrize("in_log", [0, 1, 23, 50])
def test_no_record_of_a_dead_process_is_lost(rank, in_log):
    add_steps(rank, 10)
    records = dead(rank, in_log)
    run = open_run(rank.directory)
    assert run.ended == "lost"
    found = [block for block in run.rank(0).log.blocks()]
    assert b"".join(block.records.tobytes() for block in found) == records.tobytes()
    assert run.steps() == list(range(1, 11)) and run.damages == []


def test_a_ring_that_overwrites_has_the_last_records(rank):
    add_steps(rank, 3000)
    records = dead(rank, 0, capacity=6528)
    (rank.path / "log" / "00000000000000000000.gdbl.open").unlink()
    run = open_run(rank.directory)
    found = run.rank(0).log.recovered
    assert found.records.tobytes() == records[-6528:].tobytes()
    assert int(found.positions[0]) == len(records) - 6528
    assert run.steps()[-1] == 3000


def test_a_record_of_the_ring_that_was_not_committed_is_left_out(rank):
    add_steps(rank, 4)
    records = dead(rank, 0)
    file = rank.path / "ring.gdbr"
    content = bytearray(file.read_bytes())
    struct.pack_into("<I", content, 4096 + 160 * 7, 0)
    # And one in the wrong place.
    content[4096 + 160 * 9 : 4096 + 160 * 10] = content[4096 + 160 * 2 : 4096 + 160 * 3]
    file.write_bytes(content)
    found = open_run(rank.directory).rank(0).log.recovered
    assert set(range(len(records))) - set(found.positions.tolist()) == {7, 9}


def test_recovery_moves_the_ring_into_the_log_with_holes(rank):
    add_steps(rank, 4)
    records = dead(rank, 8)
    file = rank.path / "ring.gdbr"
    content = bytearray(file.read_bytes())
    struct.pack_into("<I", content, 4096 + 160 * 12, 0)
    file.write_bytes(content)
    recorded = open_run(rank.directory).rank(0)
    assert recover(recorded)
    assert not file.exists() and recorded.ended == "lost"
    again = open_run(rank.directory).rank(0)
    assert merged_ranges(again) == [(0, len(records))]
    kept = numpy.concatenate([block.records for block in again.log.blocks()])
    assert kept["kind"][12] == 6
    assert numpy.delete(kept, 12).tobytes() == numpy.delete(records, 12).tobytes()


def merged_ranges(recorded):
    from graphdbg.runs.rank import merged

    return merged(recorded.log.ranges())


def test_the_lock_of_the_ring_tells_whether_the_process_is_alive(rank):
    add_steps(rank, 3)
    dead(rank, 0)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(rank.path / "ring.gdbr")], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"locked\n"
        run = open_run(rank.directory)
        assert run.ended is None
        assert not recover(run.rank(0)) and (rank.path / "ring.gdbr").exists()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    run.refresh()
    assert run.ended == "lost"


def test_reading_the_ring_of_this_process_keeps_its_lock(rank, tmp_path):
    add_steps(rank, 3)
    dead(rank, 0)
    code = f"""
import fcntl, mmap, sys
sys.path[:0] = {[each for each in sys.path if each]!r}
from graphdbg.runs import open_run
stream = open({str(rank.path / "ring.gdbr")!r}, "r+b")
mapped = mmap.mmap(stream.fileno(), 0)
fcntl.lockf(stream, fcntl.LOCK_EX)
run = open_run({str(rank.directory)!r})
print(run.ended, len(run.steps()), run.rank(0).log.count, flush=True)
run.refresh()
print(run.rank(0).log.count, flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "None 3 15\n" and process.stdout.readline() == "15\n"
        assert open_run(rank.directory).ended is None
    finally:
        process.communicate("")
    assert open_run(rank.directory).ended == "lost"


@pytest.mark.parametrize(
    ("offset", "form", "value", "reason"),
    [
        (0, "<B", 0, "not a ring"),
        (7, "<B", 2, "later than 1"),
        (16, "<Q", 0, "capacity of 0"),
        (16, "<Q", 1 << 60, "capacity of"),
        (16, "<Q", 6529, "does not fit"),
        (128, "<Q", (1 << 64) - 1, "head"),
    ],
)
def test_a_ring_with_impossible_numbers_is_damaged_and_the_log_is_read(rank, offset, form, value, reason):
    add_steps(rank, 10)
    dead(rank, 20)
    file = rank.path / "ring.gdbr"
    content = bytearray(file.read_bytes())
    struct.pack_into(form, content, offset, value)
    file.write_bytes(content)
    run = open_run(rank.directory)
    (damage,) = run.damages
    assert reason in damage.reason and damage.file == str(file)
    assert run.rank(0).log.count == 19


def test_a_ring_elsewhere_is_found_by_rank_json(rank, tmp_path):
    add_steps(rank, 3)
    elsewhere = tmp_path / "shm.gdbr"
    records = dead(rank, 0)
    (rank.path / "ring.gdbr").rename(elsewhere)
    rank.info["ring"] = str(elsewhere)
    rank.write_json(None)
    assert open_run(rank.directory).rank(0).log.count == len(records)
    rank.info["ring"] = "../../shm.gdbr"
    rank.write_json(None)
    assert open_run(rank.directory).rank(0).log.count == 0


def test_files_of_other_processes_that_a_run_names_are_neither_read_nor_removed(rank, tmp_path):
    add_steps(rank, 3)
    dead(rank, 0)
    ops = b"GDBGOPS\x01" + struct.pack("<IIII16s", 512, 512, 0, 0, rank.incarnation).ljust(504, b"\0")
    anothers, anothers_ops = tmp_path / "another.gdbr", tmp_path / "another.gdbr.ops"
    (rank.path / "ring.gdbr").rename(anothers)
    anothers_ops.write_bytes(ops)
    contents = anothers.read_bytes(), ops
    rank.info["ring"] = str(anothers)
    for incarnation in ("0" * 32, "no number", None):
        rank.info["incarnation"] = incarnation
        rank.write_json(None)
        run = open_run(rank.directory)
        assert run.rank(0).log.count == 0 and run.last_ops() == []
        assert {damage.reason for damage in run.damages} == {"the file is that of another process"}
        recover(run.rank(0))
        assert (anothers.read_bytes(), anothers_ops.read_bytes()) == contents
    rank.info["incarnation"] = rank.incarnation.hex()
    rank.write_json(None)
    assert recover(open_run(rank.directory).rank(0))
    assert not anothers.exists() and not anothers_ops.exists()
    assert (rank.path / "ring.gdbr.ops").read_bytes() == ops


def test_a_rank_on_another_host_counts_as_running(rank):
    add_steps(rank, 2)
    rank.info |= {"host": "elsewhere", "ring": "/dev/shm/of-that-host.gdbr"}
    rank.write()
    rank.write_json(None)
    assert open_run(rank.directory).ended is None
