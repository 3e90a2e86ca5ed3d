"""The graph of a jitted function: its equations as ops, with names, lines and edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from .. import _c_api
from . import callbacks, names, structure, versions
from .sources import Sources
from .steps import Role


@dataclass(frozen=True)
class Made:
    """An output of an op, by the op's number in the program."""

    op: int
    slot: int


@dataclass(frozen=True)
class Given:
    """An argument of the function, or with `constant` a value that it closes over, by its number."""

    number: int
    constant: bool = False


@dataclass(frozen=True)
class Written:
    """A number that is NaN or infinite and that is written into the function."""


Producer = Made | Given
# Where the value of a variable may come from.
Bound = Producer | Written
_WRITTEN = Written()


@dataclass
class Op:
    """An equation.

    Attributes:
        inputs: The producers of its inputs, without literals.
        avals: The types of its outputs.
        taps: The numbers of the outputs' values; None for what is no tensor.
        loop: The number of the outermost loop that it is in; 0 outside loops.
        forward: The op of the forward pass whose gradient it computes.
        parameter: The argument whose gradient it makes.
        called: The code of the program's function that it calls back.
        is_written: It only makes an array of a number that is NaN or infinite and is written into the function,
            such as for elements that are not selected.
    """

    name: str
    stage: str
    primitive: str
    stack: _c_api.SourceStack
    inputs: list[Producer]
    avals: list[Any]
    taps: list[int | None]
    loop: int = 0
    forward: int | None = None
    parameter: int | None = None
    called: CodeType | None = None
    is_branching: bool = False
    is_written: bool = False


@dataclass
class Argument:
    name: str
    kind: str
    category: str
    aval: Any


@dataclass
class Program:
    """A jitted function at certain types of its arguments."""

    name: str
    role: Role
    ops: list[Op] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)
    constants: list[Argument] = field(default_factory=list)
    # The op and slot of each tapped value.
    tapped: list[tuple[int, int]] = field(default_factory=list)
    shards: bool = False

    def is_like(self, other: Program) -> bool:
        """Whether the other one, of the same name but for its number, is the same function traced again."""

        def types(program: Program) -> list[Any]:
            arguments = [(str(each.aval.shape), str(each.aval.dtype)) for each in program.arguments]
            ops = [
                (
                    each.primitive,
                    each.stage,
                    each.inputs,
                    [str(aval.shape) for aval in each.avals if hasattr(aval, "shape")],
                )
                for each in program.ops
            ]
            return [*arguments, *ops]

        return types(self) == types(other)


def program_of(closed: Any, name: str, role: Role) -> Program:
    return _Builder(closed, name, role).build()


class _Builder:
    def __init__(self, closed: Any, name: str, role: Role) -> None:
        self._jaxpr = closed.jaxpr
        self._program = Program(name, role)
        self._names = names.Names()
        self._sources = Sources()
        self._loops = 0
        # The last op of the forward pass that each line of code has made, by primitive.
        self._forward: dict[Any, int] = {}
        self._read_forward: set[int] = set()
        self._backward_left = sum(names.is_transposed(stack) for stack in self._stacks(self._jaxpr, ""))
        self._backward_seen = False

    def _stacks(self, jaxpr: Any, outer: str) -> Iterator[str]:
        for equation in jaxpr.eqns:
            stack = _joined(outer, equation)
            inner = structure.inner_jaxprs(equation)
            for each in inner:
                yield from self._stacks(each, stack)
            if not structure.is_call(equation):
                yield stack

    def build(self) -> Program:
        jaxpr = self._jaxpr
        producers: dict[Any, Bound] = {variable: Given(i) for i, variable in enumerate(jaxpr.invars)}
        producers |= {variable: Given(i, constant=True) for i, variable in enumerate(jaxpr.constvars)}
        self._visit(jaxpr, producers, _Place())
        self._add_arguments()
        self._link_gradients([_look_up(producers, atom) for atom in jaxpr.outvars])
        return self._program

    # ---- equations

    def _visit(self, jaxpr: Any, producers: dict[Any, Bound], place: _Place) -> None:
        for equation in jaxpr.eqns:
            here = place.within(equation, self._sources)
            inputs = [found for atom in equation.invars if (found := _look_up(producers, atom)) is not None]
            if structure.is_loop(equation) and not here.loop:
                self._loops += 1
                here.loop = self._loops
            if equation.primitive.name in structure.OF_DEVICES:
                self._program.shards = True
            made_inside: list[Bound] = []
            for number, inner in enumerate(structure.inner_jaxprs(equation)):
                within = _bound(equation, number, inner, producers)
                self._visit(inner, within, here)
                if structure.is_call(equation):
                    made = [_look_up(within, atom) for atom in inner.outvars]
                    producers |= {
                        outer: found for outer, found in zip(equation.outvars, made, strict=False) if found is not None
                    }
                else:
                    made_inside += [found for atom in inner.outvars if (found := _look_up(within, atom)) is not None]
            if not structure.is_call(equation):
                own = self._add(equation, [*inputs, *made_inside], here, place.loop)
                producers |= {variable: Made(own, slot) for slot, variable in enumerate(equation.outvars)}

    def _add(self, equation: Any, bound: list[Bound], here: _Place, loop: int) -> int:
        program = self._program
        number = len(program.ops)
        primitive = equation.primitive.name
        inputs = [each for each in bound if not isinstance(each, Written)]
        stage = self._stage_of(here.stack)
        taps: list[int | None] = []
        for slot, variable in enumerate(equation.outvars):
            taps.append(len(program.tapped) if structure.is_tappable(equation, variable) else None)
            if taps[-1] is not None:
                program.tapped.append((number, slot))
        scope = names.scope_of(here.stack)
        if stage == names.OPTIMIZER:
            scope = here.optimizer or scope
        key = (here.traceback, primitive)
        forward = self._forward.get(key, self._forward.get(here.traceback)) if stage == names.BACKWARD else None
        if stage == names.FORWARD:
            self._forward[key] = self._forward[here.traceback] = number
            self._read_forward |= {each.number for each in inputs if isinstance(each, Given) and not each.constant}
            if not scope:
                scope = self._scope_of_parameter(inputs)
        program.ops.append(
            Op(
                name=self._names.unique("/".join(filter(None, (stage, program.name, scope, primitive)))),
                stage=stage,
                primitive=primitive,
                stack=here.source,
                inputs=inputs,
                avals=[variable.aval for variable in equation.outvars],
                taps=taps,
                loop=loop,
                forward=forward,
                called=callbacks.code_of(equation),
                is_branching=structure.is_branching(equation) or structure.is_loop(equation),
                is_written=primitive in structure.FROM_LITERALS and bool(bound) and all(map(self._is_written, bound)),
            )
        )
        return number

    def _is_written(self, bound: Bound) -> bool:
        return isinstance(bound, Written) or (isinstance(bound, Made) and self._program.ops[bound.op].is_written)

    def _stage_of(self, stack: str) -> str:
        if names.is_transposed(stack):
            self._backward_left -= 1
            self._backward_seen = True
            return names.BACKWARD
        if self._program.role.updates:
            return names.OPTIMIZER
        after = self._backward_seen and self._backward_left == 0
        return names.OPTIMIZER if after and not names.is_differentiated(stack) else names.FORWARD

    def _scope_of_parameter(self, inputs: Sequence[Producer]) -> str:
        """The module of the parameter that an op reads: libraries such as nnx name no scopes."""
        for each in inputs:
            if isinstance(each, Given) and not each.constant and each.number in self._program.role.state:
                path = names.path_of(self._argument_name(each.number)).split("/")
                return "/".join(path[1:-1])
        return ""

    def _link_gradients(self, outputs: Sequence[Bound | None]) -> None:
        """Finds the gradient of each parameter: what its next value was computed from, or what the function returns."""
        program = self._program
        for argument, output in program.role.state.items():
            if program.arguments[argument].kind == "parameter":
                self._link_gradient(argument, outputs[output])
        if program.role.gradients:
            self._link_returned(outputs)

    def _link_gradient(self, argument: int, output: Bound | None) -> None:
        """The nearest op of the backward pass with the parameter's shape makes its gradient, before it is clipped."""
        ops, shape = self._program.ops, self._program.arguments[argument].aval.shape
        level: list[Bound | None] = [output]
        seen = set[int]()
        while level:
            made = [each.op for each in level if isinstance(each, Made) and each.op not in seen]
            seen.update(made)
            for number in made:
                if ops[number].stage == names.BACKWARD and getattr(ops[number].avals[0], "shape", None) == shape:
                    ops[number].parameter = argument
                    return
            level = [each for number in made if ops[number].stage == names.OPTIMIZER for each in ops[number].inputs]

    def _link_returned(self, outputs: Sequence[Bound | None]) -> None:
        """Gradients are returned in the order of the arguments."""
        program = self._program
        left = [
            n for n, each in enumerate(program.arguments) if n in self._read_forward and hasattr(each.aval, "shape")
        ]
        for output in outputs:
            if not isinstance(output, Made) or program.ops[output.op].stage != names.BACKWARD:
                continue
            op = program.ops[output.op]
            argument = next((n for n in left if program.arguments[n].aval.shape == op.avals[output.slot].shape), None)
            if argument is not None:
                op.parameter = argument
                left.remove(argument)

    # ---- arguments

    def _argument_name(self, number: int) -> str:
        given = getattr(getattr(self._jaxpr, "debug_info", None), "arg_names", None) or ()
        name = given[number] if number < len(given) else None
        return str(name) if name else f"argument_{number}"

    def _add_arguments(self) -> None:
        program = self._program
        for number, variable in enumerate(self._jaxpr.invars):
            path = names.path_of(self._argument_name(number)) or f"argument_{number}"
            kind, category, stage = self._kind_of(number, variable.aval)
            name = self._names.unique(f"{stage}/{program.name}/{path}")
            program.arguments.append(Argument(name, kind, category, variable.aval))
        for number, variable in enumerate(self._jaxpr.constvars):
            name = self._names.unique(f"{names.FORWARD}/{program.name}/constant_{number}")
            program.constants.append(Argument(name, "constant", "other", variable.aval))

    def _kind_of(self, number: int, aval: Any) -> tuple[str, str, str]:
        if number not in self._program.role.state:
            return "input", "other", names.FORWARD
        is_float = structure.is_plain(aval) and aval.dtype.kind not in "iub"
        if number in self._read_forward and is_float:
            return "parameter", "weight", names.FORWARD
        if self._program.role.updates and is_float:
            return "parameter", "weight", names.OPTIMIZER
        return "buffer", "optimizer", names.OPTIMIZER


@dataclass
class _Place:
    """What equations inherit from those that they are inside of."""

    stack: str = ""
    source: _c_api.SourceStack = ()
    optimizer: str = ""
    traceback: Any = None
    loop: int = 0

    def within(self, equation: Any, sources: Sources) -> _Place:
        source, optimizer = sources.of(equation.source_info.traceback)
        return _Place(
            stack=_joined(self.stack, equation),
            source=source or self.source,
            optimizer=optimizer or self.optimizer,
            traceback=equation.source_info.traceback or self.traceback,
            loop=self.loop,
        )


def _joined(outer: str, equation: Any) -> str:
    own = versions.stack_text(equation.source_info.name_stack)
    return f"{outer}/{own}" if outer and own else outer or own


def _look_up(producers: dict[Any, Bound], atom: Any) -> Bound | None:
    if hasattr(atom, "val"):
        # Literals have no producer.
        return _WRITTEN if structure.is_nonfinite_literal(atom) else None
    return producers.get(atom)


def _bound(equation: Any, number: int, inner: Any, producers: dict[Any, Bound]) -> dict[Any, Bound]:
    """The producers of what the jaxpr with this number inside the equation takes."""
    outer = list(equation.invars)
    if equation.primitive.name == "while":
        conditions, bodies = equation.params["cond_nconsts"], equation.params["body_nconsts"]
        carried = outer[conditions + bodies :]
        outer = [*(outer[:conditions] if number == 0 else outer[conditions : conditions + bodies]), *carried]
    elif structure.is_branching(equation):
        outer = outer[1:]
    outer = outer[-len(inner.invars) :] if inner.invars else []
    pairs = ((variable, _look_up(producers, atom)) for variable, atom in zip(inner.invars, outer, strict=False))
    # After the first iteration, a loop has other values for what it begins with.
    without = (Written,) if structure.is_loop(equation) else ()
    return {variable: found for variable, found in pairs if found is not None and not isinstance(found, without)}
