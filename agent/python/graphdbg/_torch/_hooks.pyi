"""The extension module of the compiled adapter (agent/adapters/pytorch/hooks)."""

from collections.abc import Callable, Sequence
from typing import Any

PARAMETER: int
BUFFER: int

def load(agent: str, adapter: str, /) -> None:
    """Loads libgraphdbg.so and libgraphdbg_torch.so. Must be called first; raises ImportError."""

def open(torch_version: str, job_name: str, joins: bool = False, /) -> bool:
    """Opens the agent; False if there is nothing to debug. May be called again after `close`.

    With `joins`, the program trains already, and only `connect` starts the job.
    """

def install(
    module_class: type,
    on_unknown: Callable[..., None],
    on_model: Callable[..., None],
    terminated: type[BaseException],
    on_detached: Callable[[], None],
    on_start: Callable[[bool], tuple[int, int] | None],
    library_directories: Sequence[str],
    /,
) -> None:
    """Starts to follow calls of modules.

    `on_unknown(module)` is called for a module that has no scope yet; a call of a
    module that has none afterwards is not followed. `on_model(module, *args, **kwargs)`
    is called before each call of a model. Before the first step, `on_start(trains)`
    returns this process's rank and the number of ranks (0 if they are not known), or
    None to be called again at the next occasion; `trains` is False for a call of a
    model, and True for a backward pass or an optimizer's step.
    """

def uninstall(module_class: type, /) -> bool:
    """Takes out what `install` has put into the class. False if something has replaced it: it stays, inert."""

def connect() -> bool:
    """Waits for the server instead of the thread that trains, which `follow` is called on later. False: none.

    Called after `open` with `joins`. Nothing is followed yet.
    """

def follow() -> None:
    """The first step begins. Called after `connect` and `install`, between two steps."""

def forget() -> None:
    """Releases all tensors. Called after `close` if the program goes on."""

def is_paused() -> bool:
    """Whether a thread waits for the user or the server."""

def disable() -> None:
    """Stops following. Called in a forked child."""

def declare_scope(path: str, type_name: str, now: bool, /) -> int:
    """Returns the scope of a module path. `now` adds it to the graph before its first op runs."""

def bind_tensor(scope: int, name: str, kind: int, tensor: object, /) -> None:
    """Declares a parameter or buffer and binds it to a torch.Tensor."""

def release_tensor(tensor: object, /) -> int:
    """Releases a parameter or buffer temporarily. Returns a handle for hold_tensor; 0 for other tensors."""

def hold_tensor(binding: int, tensor: object, /) -> None:
    """Binds the node whose handle release_tensor returned to this tensor."""

def give_input(scope: int, name: str, tensor: object, /) -> None:
    """Declares an input of the model that is called next."""

def optimizer_seen() -> None:
    """From now on, an optimizer's step ends a step of the job."""

def start() -> None:
    """Starts the first step; may wait for the user. Later calls do nothing."""

def around_steps(before: Callable[..., Any], after: Callable[..., None], /) -> tuple[Callable[..., Any], ...]:
    """Returns hooks for register_optimizer_step_pre_hook and ..._post_hook that call these, see pass_steps_of."""

def around_backward(
    run_backward: Callable[..., Any], before: Callable[[Sequence[object]], None], /
) -> Callable[..., Any]:
    """Returns a function that tells the adapter of a call of the autograd engine around `run_backward`.

    `before` is called with the roots of each pass that accumulates gradients, see pass_steps_of. The function may
    wait for the user.
    """

def pass_steps_of(optimizer: object | None, until: float = 0, /) -> None:
    """From now on, each step of this optimizer on this thread without arguments only ends a step of the job.

    Functions given to around_steps are not called for it, nor the one given to around_backward, until a watchpoint
    has a condition of training or this is called with None. With `until`, a time of time.perf_counter(), conditions
    of training may be watched: they are called from then on, or when there is a sign.
    """

def forget_signs() -> None:
    """The next steps are not compared with any before."""

def follow_modes(models: list[object], /) -> None:
    """A model of these that changes from training to evaluation mode, or back, is a sign."""

def sign_before_step(optimizer: object, /) -> bool:
    """Whether something has changed since the last step of this optimizer on which findings depend.

    It need not be a fault. Raises an exception if the optimizer is not like PyTorch's.
    """

def sign_before_backward(roots: Sequence[object], /) -> bool:
    """The same before a backward pass from these tensors that accumulates gradients."""

def passed_steps() -> int:
    """How many steps have been passed."""

def set_grad_scale(scale: float, /) -> None:
    """Sets the factor of the loss; 0 means that the loss is not scaled."""

def notify(line: str, /) -> None:
    """Shows a line to the user, on stderr and on every page that shows the job."""

def observe_models(on_output: Callable[[object, object], None] | None, suspicious_only: bool, /) -> None:
    """Has `on_output(module, output)` called after each call of a model, and `on_model` before each. None ends it.

    `suspicious_only`: only for calls in training mode without gradients.
    """

def watches(condition: str | None, /) -> bool:
    """Whether a watchpoint has this condition of training. None: any of them."""

def report(condition: str, tensor: object, message: str, file: str | None, line: int, /) -> bool:
    """Reports a finding about a tensor, and the user's line that it concerns.

    The tensor is a parameter, a buffer, an input, or one that an op of this step has
    produced. Returns False if its node is not known.
    """

def node_of(tensor: object, /) -> int:
    """The node of a tensor, for which the same applies; 0 if it is not known."""

def set_scope(module: object, scope: int, model: bool, /) -> None: ...
def set_input_names(module: object, tensor_class: type, names: tuple[str, ...], /) -> None:
    """From now on, these are given as inputs when the model is called with as many tensors, by position."""

def current_scope() -> tuple[int, bool]:
    """Returns this thread's innermost module scope, and whether the thread is inside a module or optimizer."""

def enter_program() -> int: ...
def leave_program(depth: int, /) -> None:
    """Called after an optimizer has called the program's own code, as enter_program is before it.

    Ops of that code do not belong to the optimizer.
    """

def enter_ignored() -> int: ...
def leave_ignored(depth: int, /) -> None:
    """Called after code whose ops are not part of the program, as enter_ignored is before it."""

def enter_region(inputs: list[object], /) -> bool: ...
def leave_region(outputs: list[object] | None, /) -> None:
    """Called after a compiled region, which is one node, if enter_region has returned True.

    `outputs` is None if the region has raised an exception.
    """

def step_end() -> None:
    """Ends a step. May wait for the user, and may raise graphdbg.Terminated."""

def last_step() -> None:
    """Ends the step that is still open because a backward pass could have followed."""

def failed(type_name: str, message: str, trace: str, scope: int, file: str, line: int, /) -> None:
    """Called before `close` if an exception ends the program. May wait for the user.

    It was raised in this line, which the module of the scope has called; 0 if none has.
    """

def close(exit_code: int, type_name: str | None, message: str | None, trace: str | None, /) -> None: ...
def close_at_exit() -> None:
    """Closes the agent with the process's exit code when the process exits."""
