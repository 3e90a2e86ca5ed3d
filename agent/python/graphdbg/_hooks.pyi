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
    optimizer_exists: Callable[[], bool],
    terminated: type[BaseException],
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

def set_scope(module: object, scope: int, model: bool, /) -> None: ...
def current_scope() -> tuple[int, bool]:
    """The innermost module scope of this thread, and whether it is inside anything."""

def step_end() -> None:
    """A step has ended; may wait for the user, and may raise what ends the program."""

def close(exit_code: int, type_name: str | None, message: str | None, trace: str | None, /) -> None: ...
def close_at_exit() -> None:
    """Closes when the process exits, with its exit code."""
