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
          "has an older copy of it."),
      Row("update_without_effect", "Update without effect",
          "An optimizer's steps leave a parameter unchanged although its "
          "gradient and its learning rate are not zero."),
      Row("learning_rate_not_positive", "Learning rate not positive",
          "The learning rate is negative, or zero for all parameters of an "
          "optimizer in three successive steps."),
      Row("gradient_not_reset", "Gradient not reset",
          "Gradients are added to those of earlier steps of the optimizer, "
          "which were not set to zero."),
      Row("loss_detached", "Detached loss",
          "A backward pass starts at a tensor that does not depend on any "
          "parameter of the optimizer."),
      Row("loss_broadcast", "Loss broadcasts the labels",
          "The loss subtracts labels of shape [N] from outputs of shape [N, 1] "
          "or the other way round, which compares each with each."),
      Row("output_constant", "Constant output",
          "The model's output does not depend on its input in three "
          "successive steps: it is the same for all samples."),
      Row("wrong_mode", "Wrong mode",
          "A model with dropout or batch normalization trains in evaluation "
          "mode, or evaluates in training mode."),
      Row("batch_repeated", "Repeated batch",
          "A model gets the same inputs in three successive steps although a "
          "data loader has other batches."),
      Row("autocast_without_effect", "Autocast without effect",
          "Autocast is enabled for another kind of device than the model's, so "
          "that it changes nothing."),
      Row("replicas_differ", "Replicas differ",
          "After a step of the optimizer, a parameter of a data parallel model "
          "is not the same, bit by bit, on all ranks."),
  };
}

}  // namespace graphdbg::conditions
