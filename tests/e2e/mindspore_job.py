"""A MindSpore training process as a debugger sees it: the calls of MindSpore 1.2 on a GPU, with the graph of a LeNet.

Usage: mindspore_job.py PORT STEPS. Values of tensors count from 0; those of step 3 begin with NaN, which its
watchpoints find. The messages are those of proto/mindspore, which protoc describes.
"""

from __future__ import annotations

import math
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "tests/integration/testdata/lenet_graph.pb"
BAD_STEP = 3
FLOAT32 = 11


def messages() -> Any:
    """A function that returns the class of a message by its name."""
    pool = descriptor_pool.DescriptorPool()
    with tempfile.NamedTemporaryFile() as file:
        protos = [str(ROOT / f"proto/mindspore/{name}.proto") for name in ("debugger", "graph")]
        subprocess.run(["protoc", f"-I{ROOT}", f"--descriptor_set_out={file.name}", *protos], check=True)
        described = descriptor_pb2.FileDescriptorSet.FromString(Path(file.name).read_bytes())
    for each in sorted(described.file, key=lambda each: len(each.dependency)):
        pool.Add(each)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"debugger.{name}"))


class Job:
    """One device."""

    def __init__(self, port: int, steps: int) -> None:
        self._message = messages()
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self._steps = steps
        self._watched: dict[int, Any] = {}
        self._graph = self._message("GraphProto").FromString(GRAPH.read_bytes())
        self._nodes = [each.full_name for each in self._graph.node]
        self._shapes = {
            each.full_name: [dim.size for dim in each.output_type.tensor_type.shape.dim] for each in self._graph.node
        }
        self._at = self._message("Metadata")(device_name="0:1", backend="GPU", ms_version="1.2.0")

    def run(self) -> None:
        self._call("SendMetadata", self._at)
        self._stream("SendGraph", "Chunk", [self._message("Chunk")(buffer=GRAPH.read_bytes())])
        while self._at.cur_step <= self._steps:
            reply = self._call("WaitCMD", self._at)
            kind = reply.WhichOneof("cmd")
            if kind in ("exit", "version_matched"):
                break
            if kind == "set_cmd":
                self._watch(reply.set_cmd)
            elif kind == "view_cmd":
                self._stream("SendTensors", "TensorProto", [self._value(each) for each in reply.view_cmd.tensors])
            elif kind == "run_cmd":
                self._run(reply.run_cmd)
        self._at.training_done = True
        self._call("SendMetadata", self._at)

    def _watch(self, command: Any) -> None:
        if command.delete:
            self._watched.pop(command.id, None)
        else:
            self._watched[command.id] = command

    def _run(self, command: Any) -> None:
        """To the next node, to a node, or to the end of the step."""
        here = self._nodes.index(self._at.cur_node) if self._at.cur_node else len(self._nodes) - 1
        begins = here == len(self._nodes) - 1
        if begins:
            self._at.cur_step += 1
        if command.run_level == "node" and command.node_name:
            self._at.cur_node = command.node_name
        elif command.run_level == "node":
            self._at.cur_node = self._nodes[0 if begins else here + 1]
        else:
            self._at.cur_node = self._nodes[-1]
        if self._at.cur_step == BAD_STEP and begins:
            self._report()

    def _report(self) -> None:
        hit = self._message("WatchpointHit")
        hits = [
            hit(id=id, tensor=self._message("TensorProto")(node_name=watched.watch_nodes[0].node_name, slot="0"))
            for id, watched in self._watched.items()
        ]
        for each in hits:
            each.watch_condition.CopyFrom(self._watched[each.id].watch_condition)
        if hits:
            self._stream("SendWatchpointHits", "WatchpointHit", hits)

    def _value(self, asked: Any) -> Any:
        value = type(asked)(node_name=asked.node_name, slot=asked.slot, iter=asked.iter, finished=True)
        shape = self._shapes.get(asked.node_name, [2, 3])
        value.data_type = FLOAT32
        value.dims.extend(shape)
        numbers = [float(number) for number in range(math.prod(shape))]
        if self._at.cur_step == BAD_STEP:
            numbers[0] = math.nan
        value.tensor_content = struct.pack(f"<{len(numbers)}f", *numbers)
        return value

    def _call(self, method: str, request: Any) -> Any:
        call = self._channel.unary_unary(
            f"/debugger.EventListener/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=self._message("EventReply").FromString,
        )
        return call(request, wait_for_ready=True)

    def _stream(self, method: str, name: str, sent: list[Any]) -> None:
        call = self._channel.stream_unary(
            f"/debugger.EventListener/{method}",
            request_serializer=self._message(name).SerializeToString,
            response_deserializer=self._message("EventReply").FromString,
        )
        call(_each(sent))


def _each(sent: list[Any]) -> Iterator[Any]:
    yield from sent


if __name__ == "__main__":
    Job(int(sys.argv[1]), int(sys.argv[2])).run()
