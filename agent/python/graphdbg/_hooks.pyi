from collections.abc import Callable, Sequence

PARAMETER: int
BUFFER: int

def load(agent: str, adapter: str, /) -> None:
    """Loads libgraphdbg.so and libgraphdbg_torch.so. Comes before all else; ImportError if that fails."""

def open(torch_version: str, job_name: str, /) -> bool:
    """Opens the agent; False if there is nothing to debug."""

def install(
    module_class: type,
    on_unknown: Callable[..., None],
    on_model: Callable[..., None],
    terminated: type[BaseException],
    on_detached: Callable[[], None],
    library_directories: Sequence[str],
    /,
) -> None:
    """Follows calls of modules from now on."""

def disable() -> None:
    """Module calls and steps do nothing more: in a forked child."""

def declare_scope(path: str, type_name: str, now: bool, /) -> int:
    """The scope of a module path; `now`: it joins the graph before its first op."""

def bind_tensor(scope: int, name: str, kind: int, tensor: object, /) -> None:
    """A parameter or buffer, a torch.Tensor."""

def release_tensor(tensor: object, /) -> int:
    """Lets go of a parameter or buffer, for a while; 0 if it is none."""

def hold_tensor(binding: int, tensor: object, /) -> None:
    """What release_tensor gave a handle for is this tensor from now on."""

def give_input(scope: int, name: str, tensor: object, /) -> None:
    """A tensor that the model is given which is called next."""

def optimizer_seen() -> None:
    """Steps are the optimizer's from now on."""

def start() -> None:
    """The first step begins here; may wait for the user. Only the first call does anything."""

def enter_backward(creates_graph: bool, /) -> int: ...
def leave_backward(creates_graph: bool, accumulates: bool, token: int, /) -> None:
    """Around a call of the autograd engine; both may wait for the user."""

def set_grad_scale(scale: float, /) -> None:
    """What the loss is multiplied with, until it is set to 0."""

def notify(line: str, /) -> None:
    """A line for the user, on stderr and wherever the job is watched."""

def set_scope(module: object, scope: int, model: bool, /) -> None: ...
def current_scope() -> tuple[int, bool]:
    """The innermost module scope of this thread, and whether it is inside anything."""

def enter_program() -> int: ...
def leave_program(depth: int, /) -> None:
    """Around code of the program that an optimizer calls: what it does is no part of the optimizer."""

def enter_region(inputs: list[object], /) -> bool: ...
def leave_region(outputs: list[object] | None, /) -> None:
    """Around a region of compiled code, which is one node; left only if the first says so. None: it has raised."""

def step_end() -> None:
    """A step has ended; may wait for the user, and may raise what ends the program."""

def close(exit_code: int, type_name: str | None, message: str | None, trace: str | None, /) -> None: ...
def close_at_exit() -> None:
    """Closes when the process exits, with its exit code."""
