"""The gradients that an optimizer's ops and the parameters depend on."""

from __future__ import annotations

from .graph import NodeTable

# Parts of the names of ops.
_ADAPTIVE = ("sqrt", "sign", "adam", "adagrad", "lamb", "rmsprop")


def _divides(op_type: str) -> bool:
    return any(part in op_type.lower() for part in _ADAPTIVE)


class Updates:
    """The part of a graph that updates parameters.

    Attributes:
        parameter_of: By the node of a parameter's gradient: the parameter.
        gradients_of: The nodes of the gradients by which a parameter, or what an optimizer's op returns, is changed.
            Ops of the optimizer that are connected to each other have those of all of them: one that only multiplies a
            state by a constant reads no gradient itself.
        adaptive: Ops of optimizers that divide a gradient by its size: those that are connected to one of the types
            _ADAPTIVE.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.parameter_of: dict[int, int] = {}
        self.gradients_of: dict[int, tuple[int, ...]] = {}
        self.adaptive: set[int] = set()
        for number, node in nodes.nodes.items():
            forward = nodes.nodes.get(node.values["forward_node_id"])
            if node.category == "gradient" and forward is not None and forward.kind == "parameter":
                parameter = node.values["forward_node_id"]
                self.parameter_of[number] = parameter
                self.gradients_of[parameter] = (*self.gradients_of.get(parameter, ()), number)
        self._first: dict[int, int] = {}
        self._add_optimizers()

    def _add_optimizers(self) -> None:
        ops = [number for number, node in self._nodes.nodes.items() if node.category == "optimizer"]
        self._first = {number: number for number in ops}
        read: dict[int, set[int]] = {}
        for number in ops:
            for each in self._nodes.nodes[number].values["inputs"]:
                producer = each["node_id"]
                if producer in self._first:
                    self._first[self._root(producer)] = self._root(number)
                elif producer in self.parameter_of:
                    read.setdefault(number, set()).add(producer)
        divide = {self._root(number) for number in ops if _divides(self._nodes.nodes[number].op_type)}
        self.adaptive = {number for number in ops if self._root(number) in divide}
        together: dict[int, set[int]] = {}
        for number, gradients in read.items():
            together.setdefault(self._root(number), set()).update(gradients)
        for number in ops:
            found = together.get(self._root(number))
            if found:
                self.gradients_of[number] = tuple(sorted(found))

    def _root(self, number: int) -> int:
        """One of the ops that are connected to an op, the same for all of them."""
        while self._first[number] != number:
            self._first[number] = self._first[self._first[number]]
            number = self._first[number]
        return number
