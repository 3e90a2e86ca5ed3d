"""Observes programs that train with TensorFlow, with Keras or without."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import Any

from .. import _import_hook
from .._tensorflow.functions import FunctionGraphs
from .._tensorflow.updates import Updates
from . import arrays
from .first_steps import FirstSteps
from .guard import guarded
from .progress import Progress

_LAYERS = "keras.src.layers.layer"
_OPTIMIZERS = "keras.src.optimizers.base_optimizer"


def install(progress: Progress, _: str) -> None:
    import tensorflow

    # The frames of libraries tell the stage of an error.
    tensorflow.debugging.disable_traceback_filtering()
    progress.framework_imported("TensorFlow", str(tensorflow.__version__))
    _Watcher(progress).install()


class _Watcher:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._steps = FirstSteps(progress)
        self._graphs = FunctionGraphs()
        self._updates = Updates(self._graphs)
        # Graphs that compute gradients.
        self._differentiating: weakref.WeakSet[Any] = weakref.WeakSet()
        self._optimizer: Any = None
        # The first layer that was called by itself.
        self._model: Any = None
        # The variables that are trained, and whether gradients were found that nothing has applied yet.
        self._variables: list[Any] = []
        self._is_open = False
        self._thread = threading.local()

    def install(self) -> None:
        from tensorflow.python.eager.backprop import GradientTape
        from tensorflow.python.eager.context import Context

        self._graphs.install()
        Context.call_function = self._around_call(Context.call_function)
        GradientTape.__enter__ = self._around_enter(GradientTape.__enter__)
        GradientTape.gradient = self._around_gradient(GradientTape.gradient)
        _import_hook.after_import(_LAYERS, guarded(self._follow_layers))
        _import_hook.after_import(_OPTIMIZERS, guarded(self._follow_optimizers))

    # ---- functions

    def _around_call(self, call: Any) -> Any:
        @functools.wraps(call)
        def watched(context: Any, name: Any, inputs: Any, output_count: Any) -> Any:
            if getattr(self._thread, "inside", False) or not self._is_step(name.decode()):
                return call(context, name, inputs, output_count)
            self._thread.inside = True
            try:
                self._begin()
                results = call(context, name, inputs, output_count)
            finally:
                self._thread.inside = False
            self._end(results)
            self._steps.end()
            return results

        return watched

    def _is_step(self, function: str) -> bool:
        if self._updates.find(function)[0]:
            return True
        return self._optimizer is None and self._updates.search(function, self._differentiating.__contains__)[0]

    @guarded
    def _begin(self) -> None:
        self._progress.begin("forward")
        self._steps.before_update(_values(self._variables))

    @guarded
    def _end(self, results: Any) -> None:
        tracker = getattr(self._model, "_loss_tracker", None)
        # Keras returns its metrics as a value that only TensorFlow can read.
        self._steps.examine_loss(results or () if tracker is None else [tracker.result()])
        self._updated()

    def _updated(self) -> None:
        facts = {}
        if self._optimizer is not None:
            facts = {
                "optimizer": type(self._optimizer).__name__,
                "tensors": len(self._variables),
                "learning_rates": [float(self._optimizer.learning_rate)],
            }
        self._steps.after_update(_values(self._variables), **facts)

    # ---- gradients

    def _around_enter(self, enter: Any) -> Any:
        from tensorflow.python.eager.context import executing_eagerly

        @functools.wraps(enter)
        def watched(tape: Any) -> Any:
            if executing_eagerly():
                self._close_step()
                self._began_pass()
            return enter(tape)

        return watched

    @guarded
    def _began_pass(self) -> None:
        self._progress.begin("forward")

    def _close_step(self) -> None:
        """Without an optimizer, a step ends before the next one begins."""
        if self._is_open:
            self._is_open = False
            guarded(_Watcher._updated)(self)
            self._steps.end()

    def _around_gradient(self, gradient: Any) -> Any:
        from tensorflow.python.eager.context import executing_eagerly
        from tensorflow.python.framework.ops import get_default_graph

        @functools.wraps(gradient)
        def watched(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            is_eager = executing_eagerly()
            self._before_gradient(target, sources, is_eager)
            gradients = gradient(tape, target, sources, *args, **kwargs)
            if not is_eager:
                self._differentiating.add(get_default_graph())
            self._after_gradient(sources, gradients, is_eager)
            return gradients

        return watched

    @guarded
    def _before_gradient(self, target: Any, sources: Any, is_eager: bool) -> None:
        import tensorflow

        if is_eager:
            self._steps.examine_loss(tensorflow.nest.flatten(target))
            self._steps.ran("forward", "loss")
        self._progress.begin("backward")
        if not self._variables:
            self._variables = [each for each in tensorflow.nest.flatten(sources) if hasattr(each, "assign")]
            if is_eager:
                self._steps.before_update(_values(self._variables))
            self._steps.built(arrays.model("variables", self._variables, self._variables), ())

    @guarded
    def _after_gradient(self, sources: Any, gradients: Any, is_eager: bool) -> None:
        import tensorflow

        names = [getattr(each, "path", None) or getattr(each, "name", "") for each in tensorflow.nest.flatten(sources)]
        found = tensorflow.nest.flatten(gradients)
        missing = [name for name, each in zip(names, found, strict=False) if each is None]
        self._steps.note(
            "backward", with_gradient=len(names) - len(missing), trainable=len(names), without_gradient=missing[:8]
        )
        if names and len(missing) == len(names):
            message = f"none of the {len(names)} variables has a gradient"
            self._progress.found("backward", "NoGradients", message)
        if is_eager:
            self._steps.ran("backward")
            self._is_open = self._optimizer is None
        self._progress.begin("optimizer")

    # ---- Keras

    def _follow_layers(self) -> None:
        from keras.src.layers.layer import Layer
        from keras.src.utils.traceback_utils import disable_traceback_filtering

        disable_traceback_filtering()
        call = Layer.__call__

        @functools.wraps(call)
        def watched(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._progress.has_passed("forward") or getattr(self._thread, "in_layer", False):
                return call(layer, *args, **kwargs)
            self._thread.in_layer = True
            try:
                self._before_layer(layer, args)
                outputs = call(layer, *args, **kwargs)
            finally:
                self._thread.in_layer = False
            self._after_layer(layer, args, outputs)
            return outputs

        Layer.__call__ = watched

    @guarded
    def _before_layer(self, layer: Any, inputs: Any) -> None:
        self._model = layer
        if layer.built and layer.weights and not _is_symbolic(inputs):
            self._steps.built(_facts(layer), _flat(inputs))
            self._progress.begin("forward")

    @guarded
    def _after_layer(self, layer: Any, inputs: Any, outputs: Any) -> None:
        if layer.weights and not _is_symbolic(inputs):
            described = {"inputs": arrays.describe_all(_flat(inputs)), "outputs": arrays.describe_all(_flat(outputs))}
            self._steps.built(_facts(layer), _flat(inputs))
            self._steps.note("forward", **described)
            self._progress.begin("loss")

    def _follow_optimizers(self) -> None:
        from keras.src.backend.config import backend
        from keras.src.optimizers.base_optimizer import BaseOptimizer
        from tensorflow.python.eager.context import executing_eagerly
        from tensorflow.python.framework.ops import get_default_graph

        if backend() != "tensorflow":
            return
        apply = BaseOptimizer.apply

        @functools.wraps(apply)
        def watched(optimizer: Any, gradients: Any, trainable: Any = None) -> Any:
            is_inner = getattr(self._thread, "applies", False)
            if is_inner:
                return apply(optimizer, gradients, trainable)
            self._thread.applies = True
            self._begin_update(optimizer, trainable, executing_eagerly())
            try:
                result = apply(optimizer, gradients, trainable)
            finally:
                self._thread.applies = False
            if executing_eagerly():
                guarded(_Watcher._updated)(self)
                self._steps.end()
            else:
                self._updates.add(get_default_graph(), optimizer)
            return result

        BaseOptimizer.apply = watched

    @guarded
    def _begin_update(self, optimizer: Any, trainable: Any, is_eager: bool) -> None:
        self._optimizer, self._is_open = optimizer, False
        self._variables = list(trainable or optimizer._trainable_variables)
        self._progress.begin("optimizer")
        if is_eager:
            self._steps.before_update(_values(self._variables))


def _flat(values: Any) -> list[Any]:
    import tensorflow

    return list(tensorflow.nest.flatten(values))


def _is_symbolic(values: Any) -> bool:
    """Whether the values are those of a functional model that is being built."""
    return any(type(each).__name__ == "KerasTensor" for each in _flat(values))


def _facts(layer: Any) -> dict[str, Any]:
    return arrays.model(type(layer).__name__, layer.weights, layer.trainable_weights)


def _values(variables: list[Any]) -> list[Any]:
    return [each.numpy() for each in variables if hasattr(each, "numpy")]
