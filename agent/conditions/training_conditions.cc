#include "agent/conditions/training_conditions.h"

#include <utility>

namespace graphdbg::conditions {
namespace {

Condition Row(const char* id, const char* title, const char* help) {
  Condition condition;
  condition.id = id;
  condition.title = title;
  condition.help = help;
  condition.target = "training";
  condition.nan_policy = "NaN and infinities never match.";
  return condition;
}

}  // namespace

std::vector<Condition> TrainingConditions() {
  return {
      Row("gradient_always_zero", "Gradient always zero",
          "The gradient of a whole parameter is exactly zero in three "
          "successive steps, while other parameters have gradients."),
      Row("gradient_missing", "Missing gradient",
          "A parameter that requires a gradient is used by the model and gets "
          "none in three successive steps."),
      Row("parameter_not_optimized", "Parameter in no optimizer",
          "A parameter gets gradients and is in no optimizer, or the optimizer "
          "has an older copy of it, from before it was moved, replaced or "
          "sharded."),
      Row("update_without_effect", "Update without effect",
          "An optimizer's steps leave a parameter unchanged, or only shrink it "
          "by weight decay, although its gradient and its learning rate are "
          "not zero."),
      Row("learning_rate_not_positive", "Learning rate not positive",
          "The learning rate is negative, or zero in three successive steps: "
          "for all parameters of an optimizer, or for a group that was given "
          "a rate of zero."),
      Row("gradient_not_reset", "Gradient not reset",
          "Gradients are added to those of earlier steps of the optimizer, "
          "which were not set to zero."),
      Row("loss_detached", "Detached loss",
          "A backward pass starts at a tensor that does not depend on any "
          "parameter of the optimizer."),
      Row("loss_broadcast", "Loss broadcasts the labels",
          "The loss combines shapes such as [N, 1] and [N], labels or weights "
          "with outputs or losses, which combines each with each."),
      Row("loss_normalized_twice", "Loss normalizes twice",
          "The loss applies a softmax or sigmoid to values that are the result "
          "of one already, which leaves little of their gradients."),
      Row("loss_ignores_labels", "Loss ignores the labels",
          "The loss multiplies its comparison with the labels by zero, as a "
          "label smoothing of 1 does."),
      Row("loss_wrong_dimension", "Loss normalizes another dimension",
          "The loss takes the classes from another dimension than the one over "
          "which their softmax is computed, such as that of the batch."),
      Row("output_constant", "Constant output",
          "The model's output does not depend on its input: it is the same for "
          "all samples in three successive steps, or in all calls so far."),
      Row("wrong_mode", "Wrong mode",
          "A model with dropout or batch normalization, or a part of it, "
          "trains in evaluation mode, or evaluates with them active."),
      Row("batch_repeated", "Repeated batch",
          "A model gets the same inputs in three successive steps although a "
          "data loader has other batches."),
      Row("autocast_without_effect", "Autocast without effect",
          "Autocast is enabled for another kind of device than the model's, so "
          "that it changes nothing."),
      Row("cast_without_effect", "Cast without effect",
          "A tensor is cast by a statement that drops the result: x.half() "
          "does not change x."),
      Row("replicas_differ", "Replicas differ",
          "After a step of the optimizer, a parameter of a data parallel model "
          "is not the same, bit by bit, on all ranks."),
  };
}

}  // namespace graphdbg::conditions
