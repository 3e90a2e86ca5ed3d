"""What the events of a job mean to a debugger: stops with their causes, refusals, and the end."""

from __future__ import annotations

from typing import Any

from graphdbg.cli.debugger.live_state import LiveState
from graphdbg.client.models import JobInfo

Json = dict[str, Any]


def job(state: str, step: int = 0, node: str = "", reason: str | None = None, ranks: int = 1, **fields: Any) -> Json:
    rank = {"host": "here", "pid": 1, "peer": "", "device": "cpu", "device_id": 0}
    return {
        "id": "train",
        "name": "train",
        "framework": "pytorch",
        "framework_version": "2",
        "state": state,
        "pause_reason": reason,
        "step": step,
        "node": node,
        "world_size": ranks,
        "created_at": "",
        "hit_count": 0,
        "stopped_by": [],
        "exit_code": None,
        "exception": None,
        "ranks": [{**rank, "rank": number, "state": state, "step": step, "node": node} for number in range(ranks)],
        **fields,
    }


def state_event(info: Json, **fields: Any) -> Json:
    return {"type": "state", "info": info, **fields}


def command_event(number: str, verb: str, client: str) -> Json:
    return {"type": "command", "command_id": number, "command": {"command": verb, "client": client, "rank": None}}


def started() -> LiveState:
    state = LiveState(JobInfo.from_json(job("paused", reason="start")))
    state.apply(state_event(job("running")))
    return state


def test_an_event_of_many_ranks_lists_only_those_that_changed() -> None:
    info = JobInfo.from_json(job("running", ranks=100))
    changed = job("paused", 5, ranks=0) | {
        "ranks": [{"rank": 70, "state": "paused", "step": 5, "node": ""}],
        "ranks_complete": False,
    }
    after = info.after(changed)
    assert [each.rank for each in after.ranks] == list(range(100))
    assert (after.ranks[70].state, after.ranks[70].host) == ("paused", info.ranks[70].host)
    assert after.ranks[71] == info.ranks[71]
    # A process that this client does not know yet comes with an event of its own.
    assert JobInfo.from_json(job("running", ranks=1)).after(changed).ranks == info.ranks[:1]


def test_a_stop_says_why_and_who() -> None:
    state = started()
    state.apply(command_event("7", "pause", "browser"))
    (told,) = state.apply(state_event(job("paused", 3, "forward/relu", "user")))
    assert told.kind == "stopped"
    assert told.stop is not None
    assert (told.stop.reason, told.stop.step, told.stop.node) == ("pause", 3, "forward/relu")
    assert "paused by a browser" in told.stop.description

    # The own command has nobody's name.
    state.apply(state_event(job("running", 3)))
    state.sent("8")
    state.apply(command_event("8", "pause", "graphdbg"))
    (told,) = state.apply(state_event(job("paused", 4, reason="user")))
    assert told.stop is not None
    assert " by " not in told.stop.description


def test_a_wait_ends_with_the_stop_behind_the_command() -> None:
    state = LiveState(JobInfo.from_json(job("paused", 1, reason="step")))
    assert state.has_settled
    state.sent("1")
    assert not state.has_settled, "it still stands where it was"
    state.apply(state_event(job("running", 1)))
    state.apply(state_event(job("running", 1), command_id="1", error=None))
    assert not state.has_settled
    state.apply(state_event(job("paused", 2, reason="step")))
    assert state.has_settled
    assert state.job_stop().reason == "step"


def test_a_refused_command_is_told_and_settles() -> None:
    state = LiveState(JobInfo.from_json(job("paused", 1, reason="step")))
    state.sent("1")
    (told,) = state.apply(state_event(job("paused", 1, reason="step"), command_id="1", error="cannot"))
    assert (told.kind, told.text) == ("refused", "cannot")
    assert state.refusal == "cannot"
    assert state.has_settled


def hit_event(rank: int, node: str = "forward/log", watchpoint: int = 2) -> Json:
    hit = {
        **{"id": 1, "watchpoint": watchpoint, "rank": rank, "step": 5, "node": node, "slot": 0, "op_type": "aten::log"},
        **{"dtype": "float32", "shape": [2], "order": 1, "condition": "nan", "params": {}, "actual": {"nan_count": 1}},
        **{"statistics": None, "origin": "origin", "source": None, "error": None, "time": ""},
    }
    return {"type": "hit", "hit": hit}


def test_a_rank_that_is_moved_alone_causes_the_stop_that_follows() -> None:
    state = LiveState(JobInfo.from_json(job("running", ranks=2)))
    # The second rank is the first to arrive at the breakpoint.
    state.apply(hit_event(1))
    state.apply(hit_event(0))
    both = job("paused", 5, "forward/log", "watchpoint", ranks=2, stopped_by=[2])
    (told,) = state.apply(state_event(both))
    assert told.stop is not None and told.stop.rank == 1

    def moved(rank: int, node: str, **fields: Any) -> Json:
        ranks = [{**each, "node": node} if each["rank"] == rank else each for each in both["ranks"]]
        return state_event({**both, "ranks": ranks, **fields})

    # It may stop before a state was sent in which it runs.
    state.apply({"type": "command", "command_id": "9", "command": {"command": "next_node", "client": "", "rank": 0}})
    (told,) = state.apply(moved(0, "forward/neg"))
    assert told.stop is not None
    assert (told.stop.rank, told.stop.reason, told.stop.node, told.stop.hits) == (0, "node", "forward/neg", ())
    other = state.stop_of(1)
    assert other is not None and other.reason == "watchpoint"
    assert [each.rank for each in other.hits] == [1]

    # The first rank stands at a node, the second one hits something else.
    state.apply({"type": "command", "command_id": "10", "command": {"command": "continue", "client": "", "rank": 1}})
    state.apply(hit_event(1, "forward/sqrt", watchpoint=3))
    (told,) = state.apply(moved(1, "forward/sqrt", stopped_by=[2, 3]))
    assert told.stop is not None
    assert (told.stop.rank, told.stop.reason, told.stop.watchpoint_ids) == (1, "watchpoint", (3,))


def test_hits_belong_to_the_stop_that_they_caused() -> None:
    state = LiveState(JobInfo.from_json(job("running", ranks=2)))
    (told,) = state.apply(hit_event(1))
    assert told.kind == "hit"
    paused = job("paused", 5, "forward/log", "watchpoint", ranks=2, stopped_by=[2])
    (told,) = state.apply(state_event(paused))
    assert told.stop is not None
    assert (told.stop.reason, told.stop.rank, told.stop.watchpoint_ids) == ("watchpoint", 1, (2,))
    assert [each.node for each in told.stop.hits] == ["forward/log"]
    state.apply(state_event(job("running", 5, ranks=2)))
    (told,) = state.apply(state_event(job("paused", 6, reason="step", ranks=2)))
    assert told.stop is not None
    assert told.stop.hits == ()


def test_the_end_and_a_server_that_is_lost() -> None:
    state = started()
    (told,) = state.apply(state_event(job("finished", 8, exit_code=0)))
    assert told.kind == "ended"
    assert told.stop is not None
    assert told.stop.has_ended
    assert told.stop.exit_code == 0
    assert state.stop_of(0) == told.stop
    state = started()
    (told,) = state.lose()
    assert told.stop is not None
    assert told.stop.has_ended
