"""Advice about findings: likely causes, and what to look at next."""

from __future__ import annotations

from graphdbg.client.models import Advice

from .definition import CompoundRule, ExpressionRule
from .python_rule import PythonRule

# The advice of built-in rules that are expressions; rules in Python have their own.
ADVICE = {
    "vanishing_gradient": Advice(
        (
            "Activations before it are saturated or inactive, so that no gradient passes through them.",
            "The network is deep and has no normalization or residual connections.",
            "The dtype cannot represent the gradient: float16 without a gradient scaler.",
        ),
        (
            "Compare the gradients of later layers: the first small one names the layer that stops them.",
            "Look at the activations behind this layer, and at their shares of zeros.",
        ),
    ),
    "exploding_tensor": Advice(
        (
            "A division by zero, or a logarithm or root of zero or of a negative number.",
            "The loss diverged: the learning rate is too high for these weights.",
            "The input data contain NaN or infinities.",
        ),
        (
            "Evaluate first_non_finite: it names the op that made the first such value.",
            "Look at the history of the tensor: growth from step to step points to the learning rate.",
        ),
    ),
    "tensor_variance": Advice(
        (
            "The initialization does not fit the number of inputs of the layer.",
            "A normalization is missing or in the wrong mode.",
        ),
        ("Compare the variance with that of the layer before.", "Check that the model is in training mode."),
    ),
    "all_zero": Advice(
        (
            "An activation is inactive for all of its inputs (dead ReLU).",
            "A mask, a dropout or an index selects nothing.",
            "For a gradient: the output is not used by the loss, or is detached from it.",
        ),
        (
            "Follow the inputs to the first tensor that is not zero.",
            "For a gradient: follow the outputs of the parameter to the loss.",
        ),
    ),
    "unchanged_tensor": Advice(
        (
            "The parameter is in no optimizer, or in one that holds a stale copy of it.",
            "Its gradient is missing or zero.",
            "The learning rate is zero, or so small that the dtype rounds the update away.",
        ),
        (
            "Look at the gradient of the same parameter.",
            "Run the job with `--break-on not_training`, which names the cause of many such faults.",
        ),
    ),
    "weight_update_ratio": Advice(
        (
            "The learning rate is too high or too low for this layer.",
            "The gradient is not clipped, or vanishes before it reaches this layer.",
            "The weights are close to zero, so that every update is large beside them.",
        ),
        (
            "Look at the gradient of the same parameter and at its history.",
            "Change the learning rate tenfold and compare the first steps.",
        ),
    ),
    "dead_relu": Advice(
        (
            "A step with a high learning rate has pushed the biases far below zero.",
            "The initialization or the input makes all results before the ReLU negative.",
        ),
        (
            "Look at the step at which the share begins to grow, and at the gradients before it.",
            "Lower the learning rate, or use LeakyReLU or GELU.",
        ),
    ),
    "saturated_activation": Advice(
        (
            "The weights before it are too large, or have grown during training.",
            "The input data are not scaled.",
        ),
        (
            "Look at the histogram of the input, and at the history of the weights before it.",
            "Add a normalization before the activation, or scale the input.",
        ),
    ),
    "poor_weight_initialization": Advice(
        (
            "The standard deviation of the initialization does not fit the number of inputs of a layer.",
            "Weights are constant, or zero, so that all units of a layer learn the same.",
            "The learning rate is so low, or so high, that the loss does not fall from the start.",
        ),
        (
            "Compare the variances of the layers' results in the first step.",
            "Use the initialization for the activation: He for ReLU, Xavier for tanh.",
        ),
    ),
    "loss_not_decreasing": Advice(
        (
            "The learning rate is too low, or too high.",
            "The parameters do not get the gradient: they are frozen, or in no optimizer.",
            "Training has converged.",
        ),
        (
            "Look at the changes of the weights: weight_update_ratio.",
            "Run the job with `--break-on not_training`, which names the cause of many such faults.",
        ),
    ),
    "gradient_spike": Advice(
        (
            "A batch with outliers or wrong labels.",
            "The learning rate is too high, or its warm-up is too short.",
        ),
        (
            "Look at the batch of this step: `graphdbg show RUN --step N --collection inputs`.",
            "Clip the gradients, and compare the loss of the steps behind.",
        ),
    ),
    "replicas_disagree": Advice(
        (
            "A parameter is not synchronized: it was made after the model was wrapped, or is used outside of it.",
            "Ranks began with different seeds or checkpoints.",
            "An op is not deterministic on one of the ranks.",
        ),
        (
            "Compare the ranks: `graphdbg diff RUN --rank 0 --rank 1` names the first op that differs.",
            "Look at the gradient of this parameter on each rank.",
        ),
    ),
    "slow_step": Advice(
        (
            "The data loader waits for the disk or the network.",
            "An evaluation, a checkpoint or a compilation is part of the step.",
            "Another process uses the same processor or device.",
        ),
        (
            "Compare the step on other ranks: if all are slow, they wait for the slowest.",
            "Look at what was recorded of the step: `graphdbg show RUN --step N`.",
        ),
    ),
}


def advice_for(rule: ExpressionRule | CompoundRule | PythonRule) -> Advice | None:
    """The advice about findings of a rule; None if there is none."""
    if isinstance(rule, PythonRule):
        advice = Advice(tuple(rule.rule.causes), tuple(rule.rule.next))
        return advice if advice.causes or advice.next else None
    return ADVICE.get(rule.parts[0].base)
