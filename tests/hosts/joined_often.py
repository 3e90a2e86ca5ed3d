"""Is joined and left again and again by a thread of its own, and prints what differs afterwards.

joined_often.py TIMES TEXT_OF_JOIN TEXT_OF_DETACH SOCKET
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import socket
import sys
import threading

import torch
from torch import nn

# Whose attributes must be the same afterwards.
HOLDERS = [
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.modules.module",
    "torch.nn.Module",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.optim",
    "torch.optim.Optimizer",
    "torch.optim.SGD",
    "torch.optim.optimizer",
    "torch.autograd",
    "torch.autograd.Variable",
    "torch.autograd.graph",
    "torch.autograd.profiler.record_function",
    "torch.autocast",
    "torch.amp.GradScaler",
    "torch.utils",
    "torch.utils.data.dataloader._BaseDataLoaderIter",
    "torch.utils.data.DataLoader",
    "torch._dynamo.eval_frame",
    "torch._dynamo.decorators",
    "torch._dynamo.config",
    "torch._dynamo.output_graph.OutputGraph",
    "threading",
    "os",
    "sys",
    "builtins",
]
# What a running program changes by itself.
OWN = {"sys.last_value", "sys.last_type", "sys.last_traceback", "threading._active", "threading._limbo", "sys.modules"}


def holder(name):
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ImportError(name)


def attributes():
    """Each attribute, and the hooks in each table, by identity."""
    state = {}
    for name in HOLDERS:
        of = holder(name)
        for attribute in dir(of):
            value = vars(of).get(attribute, None)
            key = f"{name}.{attribute}"
            if key in OWN or attribute in ("__abstractmethods__", "_abc_impl"):
                continue
            if isinstance(value, (dict, list)) and ("hook" in attribute or attribute in ("meta_path", "path")):
                items = value.items() if isinstance(value, dict) else value
                state[key] = [repr(each) for each in items]
            elif isinstance(value, (bool, int, str)):
                state[key] = value
            else:
                state[key] = id(value)
    state["environment"] = dict(os.environ)
    return state


def threads():
    return sorted(open(f"/proc/self/task/{each}/comm").read().strip() for each in os.listdir("/proc/self/task"))


def descriptors():
    found = []
    for each in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{each}"))
    return sorted(each for each in found if not each.startswith("/proc/"))


class MemoryInfo(ctypes.Structure):
    """As `mallinfo2` of the C library returns it; "uordblks" are the bytes in use."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")),
        *((name, ctypes.c_size_t) for name in ("uordblks", "fordblks", "keepcost")),
    ]


def kilobytes():
    """Allocated memory, which does not grow by gaps in between."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MemoryInfo
    return library.mallinfo2().uordblks // 1024


class Cycles(threading.Thread):
    def __init__(self, times, join, detach, name):
        super().__init__(daemon=True)
        self.times, self.texts, self.answers = times, (join, detach), []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind("\0" + name)
        self.listener.listen(4)
        # What the main thread looks at between two steps.
        self.look, self.looked = threading.Event(), threading.Event()
        self.seen = []

    def run(self):
        self.wait_for_look()
        for cycle in range(self.times):
            for text in self.texts:
                data = ctypes.create_string_buffer(f"exec({text!r}, {{}})".encode())
                run = ctypes.cast(ctypes.pythonapi.PyRun_SimpleString, ctypes.c_void_p)
                assert ctypes.pythonapi.Py_AddPendingCall(run, data) == 0
                connection, _ = self.listener.accept()
                with connection, connection.makefile() as stream:
                    answer = json.loads(stream.readline())
                self.answers.append(answer)
                if answer["state"] not in ("started", "detached"):
                    return
            if cycle == 0 or (cycle + 1) % (self.times // 4) == 0:
                self.wait_for_look()

    def wait_for_look(self):
        self.looked.clear()
        self.look.set()
        self.looked.wait()


def main():
    times, join, detach, name = sys.argv[1:]
    for each in HOLDERS:
        holder(each)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)], nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    cycles = Cycles(int(times), join, detach, name)
    cycles.start()
    while cycles.is_alive():
        optimizer.zero_grad()
        model(torch.rand(4, 16)).sum().backward()
        optimizer.step()
        if cycles.look.is_set():
            cycles.look.clear()
            gc.collect()
            cycles.seen.append((attributes(), threads(), descriptors(), kilobytes()))
            cycles.looked.set()
    first, *later = cycles.seen
    last = later[-1]
    print(
        json.dumps(
            {
                "answers": [answer["message"] for answer in cycles.answers],
                "attributes": {
                    key: [str(first[0].get(key)), str(last[0].get(key))]
                    for key in {**first[0], **last[0]}
                    if first[0].get(key) != last[0].get(key)
                },
                "threads": [first[1], last[1]],
                "descriptors": [first[2], last[2]],
                "kilobytes": [each[3] for each in cycles.seen],
            }
        )
    )


main()
