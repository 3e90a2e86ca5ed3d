"""What types of ops do."""

from __future__ import annotations

from .. import _c_api

# Hand their inputs on.
PASSED_ON = frozenset(
    (
        "Identity",
        "ReadVariableOp",
        "StopGradient",
        "PreventGradient",
        "CheckNumerics",
        "Enter",
        "Exit",
        "Snapshot",
        "IdentityN",
    )
)

# Compute nothing that could be reported.
NOT_REPORTED = frozenset(("Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "VarHandleOp", "Switch", "Merge"))

# Set a variable, such as an optimizer's number of steps.
ASSIGNMENTS = frozenset(("AssignVariableOp", "AssignAddVariableOp"))

# Inputs and outputs of the function's body are those of the op, after the first
# `n` inputs.
CALLS = {"PartitionedCall": ("f",), "StatefulPartitionedCall": ("f",)}
BRANCHES = {"If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch")}
CASES = frozenset(("Case", "StatelessCase"))
LOOPS = frozenset(("While", "StatelessWhile"))

_MOVES_VALUES = frozenset(
    (
        "BroadcastTo",
        "Concat",
        "ConcatV2",
        "DynamicStitch",
        "ExpandDims",
        "Gather",
        "GatherNd",
        "GatherV2",
        "IteratorGetNext",
        "MirrorPad",
        "Pack",
        "Pad",
        "PadV2",
        "ParallelDynamicStitch",
        "RandomShuffle",
        "Reshape",
        "ResourceGather",
        "Reverse",
        "ReverseV2",
        "Select",
        "SelectV2",
        "Slice",
        "Split",
        "SplitV",
        "Squeeze",
        "StridedSlice",
        "TensorListConcatV2",
        "TensorListGetItem",
        "TensorListStack",
        "Tile",
        "Transpose",
        "Unpack",
        "Where",
    )
)


def flags_of(op_type: str) -> int:
    """Flags of the executions of an op."""
    if op_type in _MOVES_VALUES:
        return _c_api.MOVES_VALUES
    return _c_api.UNINITIALIZED if op_type == "Empty" else 0
