"""Packing and unpacking recorded runs: inverse to the byte, compact, verified, beside a running job, and elsewhere."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil

import pytest

numpy = pytest.importorskip("numpy")
parquet = pytest.importorskip("pyarrow.parquet")

import graphdbg  # noqa: E402
from graphdbg.runs import RECORD, DataLossError, open_run, pack  # noqa: E402
from graphdbg.runs.crc32c import record_crcs  # noqa: E402
from graphdbg.runs.pack_run import pack_run  # noqa: E402
from graphdbg.runs.unpack import unpack_run  # noqa: E402
from synthetic_run import (  # noqa: E402
    BEGIN_KIND,
    END_KIND,
    EVAL,
    Node,
    SyntheticRank,
    change_record,
    hit_message,
    hit_record,
    lock,
    mark,
    realistic_rank,
    statistics_of,
    statistics_records,
    write_run_json,
)


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "abc"
    write_run_json(path, 1)
    return path


def varied(directory, number=0):
    """A rank with every kind of record, and with records that no table holds to the byte."""
    rank = SyntheticRank(directory, number)
    names = ["forward/a", "forward/b", "backward/b", "same", "same", "#9"]
    rank.nodes = [Node(name, each % 5) for each, name in enumerate(names)]
    random = numpy.random.default_rng(number)
    for step in range(1, 30):
        rank.add(mark(BEGIN_KIND, step))
        for pass_ in (1, 2):
            rank.add(mark(BEGIN_KIND, step, EVAL, pass_, 2 * step + pass_))
            rank.add(statistics_records(numpy.array([2, 1]), step, statistics_of(random.normal(size=9)), EVAL, pass_))
            rank.add(mark(END_KIND, step, EVAL, pass_, 2 * step + pass_))
        # Nodes 4 and 5 have the same name, and 7 is not in the graph.
        records = statistics_records(numpy.array([1, 2, 3, 4, 5, 6, 7]), step, statistics_of(random.normal(size=9)))
        records["iteration"], records["flags"], records["slot"] = step % 3, step % 32, [0, 1, 2, 0, 0, 0, 65535]
        for name in ("variance", "l1"):
            records[name][step % 7] = numpy.nan
        # A NaN with other bits than usual, zeros with a sign, and numbers beyond 63 bits.
        records["l2"].view("u8")[0] = 0xFFF8000000000001
        records["grad_scale"][:3] = [-0.0, numpy.nan, 65536.0]
        records["count"][4], records["mean"][5] = 2**64 - 1, -0.0
        rank.add(records, change_record(step, 1, digest=2**64 - step, change_abs_mean=numpy.nan))
        rank.add(change_record(step, 4, previous_l2=1.5))
        rank.save(step, 2, random.normal(size=(2, 3)).astype("f4"))
        unknown = numpy.frombuffer(random.bytes(160), RECORD).copy()
        unknown["kind"], unknown["step"] = 77, step
        rank.add(unknown, hit_record(step, 2, step), mark(END_KIND, step, records=9, dropped=1, reason=step % 3))
        # Left behind by another thread.
        rank.add(statistics_records(numpy.array([1]), max(1, step - 1), statistics_of(random.normal(size=9))))
        rank.hits.append(hit_message(step, 2))
    rank.collections = {"all": [(1, 0), (2, 0)]}
    return rank


def records_of(directory, number=0):
    log = open_run(directory).rank(number).log
    return numpy.concatenate([numpy.empty(0, RECORD), *(block.records for block in log.blocks())])


def segments(directory):
    return sorted((directory / "rank-00000" / "log").glob("*.gdbl*"))


def test_unpacking_restores_every_byte(directory):
    written = varied(directory).write(segments=3)
    report = pack_run(str(directory))
    assert report.rows == len(written) and report.ended
    assert segments(directory) == [] and not list(directory.rglob("*.part"))
    assert unpack_run(str(directory)) == len(written)
    assert records_of(directory).tobytes() == written.tobytes()
    assert open_run(directory).damages == []


def test_a_packed_run_answers_as_its_log_does(directory):
    pytest.importorskip("duckdb")
    varied(directory).write()
    queries = [
        "select tensor, count(*) as n, sum(mean) as m, min(mode_step) from statistics group by tensor order by tensor",
        "select step, dropped, reason, seconds from steps order by step, mode, pass",
        "select * from changes order by position",
        "select tensor, step, file, shape from tensors order by step",
        "select number, actual, origin from hits order by number",
        "select rank, node, name from nodes order by node",
    ]
    before = open_run(directory)
    expected = [before.sql(query).to_pylist() for query in queries]
    steps, modes = before.steps(), before.modes()
    statistics = before.tensor("forward/b:0").statistics(7, mode="eval", pass_=2)
    value = before.tensor("forward/b:0").value(7)
    names = before.tensors()
    table = before.statistics(steps=(5, 9))
    pack_run(str(directory))
    after = open_run(directory)
    for query, answer in zip(queries, expected, strict=True):
        assert repr(after.sql(query).to_pylist()) == repr(answer), query
    assert (after.steps(), after.modes(), after.tensors()) == (steps, modes, names)
    assert after.tensor("forward/b:0").statistics(7, mode="eval", pass_=2) == statistics
    assert (after.tensor("forward/b:0").value(7) == value).all()
    assert sorted(map(repr, after.statistics(steps=(5, 9)).to_pylist())) == sorted(map(repr, table.to_pylist()))


def test_files_have_the_names_order_and_metadata_of_the_format(directory):
    realistic_rank(directory, 0, steps=6, tensors=50).write()
    pack_run(str(directory))
    file = directory / "parquet" / "statistics" / "rank=0" / "00000001-00000006.parquet"
    metadata = parquet.read_metadata(file)
    assert metadata.metadata[b"graphdbg.format"] == b"1" and metadata.metadata[b"graphdbg.run"] == b"abc"
    assert metadata.metadata[b"graphdbg.first_step"] == b"1" and metadata.metadata[b"graphdbg.last_step"] == b"6"
    group = metadata.row_group(0)
    columns = {group.column(each).path_in_schema: group.column(each) for each in range(group.num_columns)}
    assert "BYTE_STREAM_SPLIT" in columns["mean"].encodings and columns["mean"].compression == "ZSTD"
    assert "RLE_DICTIONARY" in columns["step"].encodings and columns["step"].has_offset_index
    table = parquet.ParquetFile(file).read()
    tensors = [str(each) for each in table.column("tensor").to_pylist()]
    keys = list(zip(tensors, table.column("step").to_pylist(), strict=True))
    assert keys == sorted(keys)
    assert str(table.schema.field("mode").type) == "int8" and str(table.schema.field("exec_order").type) == "int32"


def test_realistic_records_take_at_most_60_bytes_a_row(directory):
    written = realistic_rank(directory, 0, steps=60, tensors=1000).write()
    report = pack_run(str(directory))
    assert report.rows == len(written)
    assert report.bytes / report.rows <= 60


def test_steps_beyond_a_thousand_begin_another_file(directory):
    written = realistic_rank(directory, 0, steps=2100, tensors=2).write(segments=4)
    pack_run(str(directory))
    names = sorted(file.name for file in (directory / "parquet" / "statistics" / "rank=0").iterdir())
    assert names == [
        "00000001-00001000.parquet",
        "00001001-00002000.parquet",
        "00002001-00002100.parquet",
    ]
    unpack_run(str(directory))
    assert records_of(directory).tobytes() == written.tobytes()


def test_packing_again_packs_what_is_new(directory, monkeypatch):
    monkeypatch.setattr(pack, "_MAX_STEPS", 4)
    rank = realistic_rank(directory, 0, steps=11, tensors=5)
    records = rank.all_records()
    records["crc"] = record_crcs(records, 0)
    rank.info = {"host": "elsewhere", "ring": "/dev/shm/ring.gdbr"}
    rank.write_messages()
    rank.write_json(None)
    rank.write_segment(0, records[:45])
    rank.write_segment(45, records[45:60], ".open")
    # Running: two chunks of four steps, and what follows stays in the log.
    assert pack_run(str(directory)).rows == 56
    assert [file.name for file in segments(directory)] == ["00000000000000000045.gdbl.open"]
    assert open_run(directory).steps(complete=False) == list(range(1, 10))
    rank.write_segment(45, records[45:], ".open")
    rank.write_json({"reason": "exit"})
    report = pack_run(str(directory))
    assert report.rows == 77 - 56 and report.ended and segments(directory) == []
    assert pack_run(str(directory)).rows == 0
    assert open_run(directory).steps() == list(range(1, 12))
    unpack_run(str(directory))
    assert records_of(directory).tobytes() == records.tobytes()


def test_what_only_the_ring_of_a_dead_process_has_is_packed(directory):
    rank = realistic_rank(directory, 0, steps=10, tensors=20)
    rank.save(10, 1, numpy.arange(6, dtype="f4"))
    records = rank.all_records()
    records["crc"] = record_crcs(records, 0)
    rank.write_segment(0, records[:100], ".open", cut=8)
    rank.write_ring(records, 0, 100)
    rank.write_messages()
    rank.write_tensors(part=True)
    rank.write_json(None)
    report = pack_run(str(directory))
    assert report.rows == len(records) and report.ended and report.lost == []
    assert not (rank.path / "ring.gdbr").exists() and segments(directory) == []
    unpack_run(str(directory))
    assert records_of(directory).tobytes() == records.tobytes()
    assert open_run(directory).ended == "lost"


def test_an_unfinished_file_of_tensors_is_finished_up_to_what_was_written(directory):
    safetensors = pytest.importorskip("safetensors.numpy")
    rank = SyntheticRank(directory)
    rank.nodes = [Node("a"), Node("b"), Node("c")]
    for node in (1, 2, 3):
        rank.save(1, node, numpy.full((2, 2), node, "f4"))
    rank.write(part=True)
    file = rank.path / "tensors" / "00000001.safetensors"
    part = file.with_name("00000001.safetensors.part")
    part.write_bytes(part.read_bytes()[:-1])
    report = pack_run(str(directory))
    assert report.lost == ["rank-00000/tensors/00000001.safetensors: c:0 was not written"]
    read = safetensors.load_file(file)
    assert sorted(read) == ["a:0", "b:0"] and (read["b:0"] == 2).all() and not part.exists()
    assert (open_run(directory).tensor("a").value(1) == 1).all()


def test_the_log_stays_if_asked_if_damaged_or_if_the_copy_differs(directory, monkeypatch):
    written = realistic_rank(directory, 0, steps=4, tensors=10).write(segments=2)
    pack_run(str(directory), keep_log=True)
    assert len(segments(directory)) == 2
    file = segments(directory)[0]
    content = bytearray(file.read_bytes())
    content[64 + 5 * 160 + 40] ^= 1
    file.write_bytes(content)
    shutil.rmtree(directory / "parquet")
    assert pack_run(str(directory)).rows == 5 + 24
    assert segments(directory) == [file]
    # The positions that were lost are a gap, not other records.
    unpack_run(str(directory))
    kept = numpy.concatenate([written[:5], written[24:]])
    assert records_of(directory).tobytes() == kept.tobytes()
    shutil.rmtree(directory / "parquet")
    before = [file.read_bytes() for file in segments(directory)]
    counter = itertools.count()
    monkeypatch.setattr(pack, "checksums", lambda table: next(counter))
    with pytest.raises(DataLossError, match="what was read back of row group 0 differs"):
        pack_run(str(directory))
    assert [file.read_bytes() for file in segments(directory)] == before
    assert not list(directory.rglob("*.part"))


def test_an_interrupted_pack_leaves_no_part_and_the_log(directory, monkeypatch):
    written = realistic_rank(directory, 0, steps=4, tensors=10).write()

    def interrupted(table):
        raise KeyboardInterrupt

    monkeypatch.setattr(pack, "checksums", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack_run(str(directory))
    assert not list(directory.rglob("*.part")) and records_of(directory).tobytes() == written.tobytes()
    monkeypatch.undo()
    assert pack_run(str(directory)).rows == len(written)


def test_a_copy_elsewhere_is_complete_with_its_rank_json(directory, tmp_path):
    pytest.importorskip("duckdb")
    fsspec = pytest.importorskip("fsspec")
    written = varied(directory).write()
    (directory / "findings.jsonl").write_text("{}\n")
    for url in (str(tmp_path / "copy"), (tmp_path / "other").as_uri(), "memory://bucket/abc"):
        report = pack_run(str(directory), to=url)
        assert report.rows == len(written) and len(segments(directory)) == 1
        copy = open_run(url)
        assert copy.ended == "exit" and copy.steps() == list(range(1, 30)) and copy.hits()[0].name == "forward/b:0"
        assert copy.tensor("forward/b").value(3).shape == (2, 3)
        assert copy.sql("select count(*) as n from statistics").to_pylist() == [{"n": 29 * 12}]
        assert copy.sql("select max(rank) as n from statistics").to_pylist() == [{"n": 0}]
        assert "all" in copy.collections()
    assert fsspec.filesystem("memory").exists("/bucket/abc/rank-00000/rank.json")
    assert pack_run(str(directory), to="memory://bucket/abc").rows == 0
    with pytest.raises(graphdbg.GraphdbgError, match="not on this machine"):
        pack_run("memory://bucket/abc")
    pack_run(str(directory), keep_log=True)
    assert unpack_run(str(directory), tmp_path / "kept") == len(written)
    assert records_of(tmp_path / "kept").tobytes() == written.tobytes()
    back = tmp_path / "back"
    assert unpack_run("memory://bucket/abc", back) == len(written)
    assert records_of(back).tobytes() == written.tobytes()
    assert (back / "findings.jsonl").read_text() == "{}\n"


def test_a_range_of_steps_and_some_ranks_are_unpacked_alone(directory, tmp_path, monkeypatch):
    for number in range(2):
        varied(directory, number).write()
    monkeypatch.setattr(pack, "_MAX_STEPS", 10)
    pack_run(str(directory), to=str(tmp_path / "copy"))
    part = tmp_path / "part"
    written = unpack_run(str(tmp_path / "copy"), part, ranks=[1], steps=(12, 15))
    run = open_run(part)
    assert run.ranks == [1] and written == len(records_of(part, 1)) > 0
    assert {12, 15} <= set(run.steps()) and 1 not in run.steps() and 29 not in run.steps()
    assert run.tensor("forward/b").value(14, rank=1).shape == (2, 3)
    saved = {name.name[:8] for name in (part / "rank-00001" / "tensors").iterdir()}
    assert saved == {f"{step:08}" for step in range(12, 16)}
    with pytest.raises(graphdbg.GraphdbgError, match="rank 7"):
        unpack_run(str(tmp_path / "copy"), tmp_path / "none", ranks=[7])


def test_a_copy_of_a_lost_rank_says_so(directory, tmp_path):
    rank = realistic_rank(directory, 0, steps=3, tensors=5)
    records = rank.write()
    rank.write_json(None)
    rank.write_ring(records)
    pack_run(str(directory), to=str(tmp_path / "copy"))
    information = json.loads((tmp_path / "copy" / "rank-00000" / "rank.json").read_text())
    assert information["ended"] == {"reason": "lost"}


def test_a_running_rank_keeps_its_ring_and_has_no_rank_json_elsewhere(directory, tmp_path):
    rank = realistic_rank(directory, 0, steps=3, tensors=5)
    rank.info = {"host": "elsewhere", "ring": "/dev/shm/ring.gdbr"}
    rank.write()
    rank.write_json(None)
    report = pack_run(str(directory), to=str(tmp_path / "copy"))
    assert not report.ended and report.rows == 0
    assert not (tmp_path / "copy" / "rank-00000" / "rank.json").exists()


def test_following_ends_when_all_ranks_have_ended(directory, monkeypatch):
    from graphdbg.runs import pack_run as module

    rank = realistic_rank(directory, 0, steps=3, tensors=5)
    records = rank.write()
    rank.write_json(None)
    rank.write_ring(records[:0])
    held = lock(rank.path / "ring.gdbr")
    # A lock of this process does not count as another's, so rank.json decides.
    rank.info = {"host": "elsewhere", "ring": "/dev/shm/ring.gdbr"}
    rank.write_json(None)
    waits: list[float] = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 2:
            rank.write_json({"reason": "exit"})

    monkeypatch.setattr(module.time, "sleep", wait)
    report = pack_run(str(directory), follow=True)
    held.close()
    assert len(waits) == 2 and report.ended and report.rows == len(records)


def test_a_parquet_file_of_another_program_is_damage(directory):
    realistic_rank(directory, 0, steps=3, tensors=5).write()
    pack_run(str(directory))
    file = directory / "parquet" / "records" / "rank=0" / "00000001-00000003.parquet"
    file.write_bytes(b"PAR1 not really PAR1")
    (damage,) = open_run(directory).damages
    assert damage.file == str(file) and "not a file that pack wrote" in damage.reason


def test_two_processes_do_not_pack_the_same_rank(directory):
    realistic_rank(directory, 0, steps=3, tensors=5).write()
    descriptor = os.open(directory / "rank-00000", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert pack_run(str(directory), follow=True).rows == 0
    with pytest.raises(graphdbg.GraphdbgError, match="another process is packing"):
        pack_run(str(directory))
    os.close(descriptor)
    assert pack_run(str(directory)).ended


@pytest.mark.parametrize("seed", range(2))
def test_packed_files_with_random_damage_are_read_or_refused_with_an_error_of_ours(directory, tmp_path, seed):
    pytest.importorskip("duckdb")
    realistic_rank(directory, 0, steps=3, tensors=20).write()
    pack_run(str(directory))
    random = numpy.random.default_rng(seed)
    files = sorted(directory.rglob("*.parquet"))
    before = {file: file.read_bytes() for file in files}
    refused = 0
    for _ in range(30):
        file = files[random.integers(len(files))]
        content = bytearray(before[file])
        for _ in range(random.integers(1, 6)):
            content[random.integers(len(content))] = random.integers(256)
        file.write_bytes(content[: random.integers(1, len(content) + 1)] if random.random() < 0.3 else content)
        try:
            run = open_run(directory)
            run.damages, run.steps(), run.statistics(step=2), run.sql("select max(l2) from statistics, nodes, hits")
            run.tensor("forward/layers/0/attention/op_0").statistics(2)
            unpack_run(str(directory), tmp_path / "back")
        except graphdbg.GraphdbgError:
            refused += 1
        file.write_bytes(before[file])
        shutil.rmtree(tmp_path / "back", ignore_errors=True)
    assert refused > 0
    unpack_run(str(directory))
    assert open_run(directory).damages == []


def test_a_segment_that_is_closed_while_it_is_packed_is_read_to_its_end(directory):
    rank = varied(directory)
    records = rank.write()
    (closed,) = (rank.path / "log").iterdir()
    closed.rename(f"{closed}.open")
    log = open_run(str(directory)).rank(0).log
    (segment,) = log.segments
    segment.file.rename(closed)
    read = numpy.concatenate([block for _, block in segment.blocks()])
    assert read.tobytes() == records.tobytes()
    assert segment.file == closed
