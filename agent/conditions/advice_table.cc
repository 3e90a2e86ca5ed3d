#include "agent/conditions/advice_table.h"

namespace graphdbg::conditions {

const std::vector<SymptomAdvice>& GeneralAdvice() {
  static const auto* const rows = new std::vector<SymptomAdvice>{
      {Symptom::kNonFinite,
       {"A division by zero, or a logarithm or root of zero or of a negative "
        "number.",
        "The loss diverged: the learning rate is too high for these weights.",
        "The input data contain NaN or infinities."},
       {"Look at the inputs: if one is not finite, follow it to the first op "
        "that made it so.",
        "Compare the inputs with those of the previous step: values that grow "
        "from step to step point to the learning rate.",
        "Watch the batch and the labels for NaN and infinities."}},
      {Symptom::kTooLarge,
       {"The learning rate is too high.",
        "A normalization is missing, or its input has almost no variance.",
        "The input data are not scaled."},
       {"Look at the history: growth from step to step points to the learning "
        "rate, a sudden jump to the batch.",
        "Compare the tensor with the output of the normalization before it."}},
      {Symptom::kTooSmall,
       {"The weights before it are too small, or decay too fast.",
        "A saturated activation, or a mask that covers almost everything.",
        "The dtype cannot represent the values: they underflow."},
       {"Look at the inputs, and at the share of zeros.",
        "Repeat the step in float32 and compare."}},
      {Symptom::kAllZero,
       {"An activation is inactive for all of its inputs (dead ReLU).",
        "A mask, a dropout or an index selects nothing.",
        "For a gradient: the output is not used by the loss, or is detached "
        "from "
        "it."},
       {"Follow the inputs to the first tensor that is not zero.",
        "For a gradient: follow the outputs of the parameter to the loss."}},
      {Symptom::kUnchanged,
       {"The parameter is in no optimizer, or in one that holds a stale copy "
        "of "
        "it.",
        "Its gradient is missing or zero.",
        "The learning rate is zero, or so small that the dtype rounds the "
        "update "
        "away.",
        "The step was skipped by a gradient scaler."},
       {"Look at the gradient of the same parameter.",
        "Check that the optimizer was created after the model was moved or "
        "replaced.",
        "Look at the learning rate and at the scaler's scale."}},
      {Symptom::kChangeTooLarge,
       {"The learning rate is too high, or its warm-up is too short.",
        "The gradient is not clipped, or is clipped after the step."},
       {"Look at the gradient and at its history.",
        "Reduce the learning rate tenfold and compare the first steps."}},
      {Symptom::kChangeTooSmall,
       {"The learning rate is too low, or has decayed.",
        "The gradient vanishes before it reaches this layer.",
        "The update is below the precision of the dtype: bfloat16 loses "
        "changes "
        "below 0.4 %."},
       {"Look at the gradient of the same parameter and of later layers.",
        "Keep the weights in float32."}},
      {Symptom::kRange,
       {"The input of the op is not scaled, so that the op works outside its "
        "useful range.",
        "The weights before it have grown or shrunk during training."},
       {"Look at the histogram, then at that of the inputs.",
        "Look at the history of the weights before it."}},
      {Symptom::kVariance,
       {"The initialization does not fit the number of inputs of the layer.",
        "A normalization is missing or in the wrong mode."},
       {"Compare the variance with that of the previous layer.",
        "Check that the model is in training mode."}},
      {Symptom::kInitialization,
       {"The weights were never initialized, or were overwritten by a "
        "checkpoint "
        "that does not fit.",
        "The standard deviation of the initialization does not fit the layer."},
       {"Look at the histogram of the weights.",
        "Check the names that the checkpoint reported as missing or "
        "unexpected."}},
      {Symptom::kInactive,
       {"The bias before the activation is too negative, often after a step "
        "with "
        "a learning rate that was too high.",
        "The inputs are not normalized."},
       {"Look at the histogram of the activation's input.",
        "Try an activation with a slope below zero, such as LeakyReLU or "
        "GELU."}},
      {Symptom::kVanishingGradient,
       {"Saturated activations (sigmoid, tanh, softmax) between here and the "
        "loss.",
        "Many layers without residual connections or normalization.",
        "The gradient underflows in float16 because the loss is not scaled."},
       {"Walk towards the loss to the first gradient that is not small.",
        "Compare the input of the activation there with its useful range."}},
      {Symptom::kLargeGradient,
       {"The gradient is not clipped.",
        "The learning rate is too high, so that the loss climbs.",
        "A division by a very small number in the forward pass."},
       {"Walk towards the loss to the first gradient that is large.",
        "Look at the history of the loss."}},
      {Symptom::kGradientAlwaysZero,
       {"An activation after the parameter is inactive for all inputs (dead "
        "ReLU), or saturated.",
        "A multiplication by zero, a mask or a clamp stops the gradient.",
        "The output does not depend on the parameter, like a softmax over a "
        "single element."},
       {"Step to the activation after this parameter and look at its output.",
        "Walk from the loss back to the first gradient that is zero."}},
      {Symptom::kGradientMissing,
       {"The parameter's output is detached from the loss: .detach(), .data, "
        ".item(), NumPy, or a block without gradients.",
        "forward does not call the layer."},
       {"Look for these in the forward of the module that holds the parameter.",
        "If the parameter is meant to be unused, set requires_grad to False."}},
      {Symptom::kNotOptimized,
       {"The optimizer was created before the layer was added, replaced, moved "
        "or sharded.",
        "The parameter was left out of the list that the optimizer was given."},
       {"Create the optimizer after the model is complete, on its device and "
        "sharded.",
        "If the parameter is meant to be frozen, set requires_grad to False, "
        "which saves the computation of its gradient."}},
      {Symptom::kNoEffect,
       {"The update is smaller than the precision of the dtype: bfloat16 loses "
        "changes below 0.4 %, float32 below 0.00001 %.",
        "The learning rate is far too small.",
        "The gradient is far below the eps of Adam, which divides by the sum "
        "of both: the loss or its scale is far too small."},
       {"Keep the weights in float32, and compute in bfloat16 by autocast.",
        "Compare the learning rate times the gradient with the weight."}},
      {Symptom::kLearningRate,
       {"The scheduler has ended, or counts other steps than it was made for.",
        "A warm-up starts at zero and is never advanced.",
        "A parameter group was given a rate of zero, which a scheduler "
        "multiplies.",
        "The sign of a rate that was computed is wrong."},
       {"Print the learning rate of each parameter group at each step.",
        "Check that scheduler.step() is called as often as the scheduler "
        "expects.",
        "To freeze parameters on purpose, set requires_grad to False."}},
      {Symptom::kNotReset,
       {"zero_grad() is not called.",
        "zero_grad() is called on another optimizer or model, or after "
        "backward()."},
       {"Call optimizer.zero_grad() after each optimizer.step().",
        "To accumulate gradients on purpose, step the optimizer less often."}},
      {Symptom::kLossDetached,
       {"The loss was detached, or made from numbers: torch.tensor(loss.item())"
        ", .data, NumPy.",
        "requires_grad was set on the loss to silence an error.",
        "The forward pass ran in a block without gradients."},
       {"Look at grad_fn of the loss: it should not be None.",
        "Compute the loss from the output of the model with ops of PyTorch "
        "only."}},
      {Symptom::kLossBroadcast,
       {"The output has a dimension of size 1 that the labels lack, or the "
        "other way round.",
        "The losses of samples and their weights differ in such a dimension."},
       {"Remove it by output.squeeze(1), or add it by labels.unsqueeze(1).",
        "Assert that both shapes are equal before the loss."}},
      {Symptom::kNormalizedTwice,
       {"The model ends with a softmax or sigmoid, and the loss function "
        "contains another one: cross_entropy and "
        "binary_cross_entropy_with_logits expect logits."},
       {"Remove it from the model, and apply it only where probabilities are "
        "needed.",
        "Or choose a loss of probabilities: nll_loss of their logarithm, or "
        "binary_cross_entropy."}},
      {Symptom::kConstantOutput,
       {"A softmax over the wrong dimension, or over one of size 1.",
        "All activations of a layer are inactive, so that only the biases "
        "after it count.",
        "The input is overwritten, or multiplied by zero."},
       {"Compare the outputs of the layers for two samples: find the first "
        "layer where they are equal.",
        "For two classes with one output, use a sigmoid with "
        "binary_cross_entropy_with_logits."}},
      {Symptom::kWrongMode,
       {"train() is not called after an evaluation, or eval() before one.",
        "A pretrained model was loaded, which is in evaluation mode.",
        "F.dropout(x) is active in both modes, and so is the dropout_p of "
        "scaled_dot_product_attention."},
       {"Call model.train() before training and model.eval() before each "
        "evaluation.",
        "Pass training=self.training to functions that drop elements.",
        "To freeze a normalization on purpose, set only that module to "
        "eval()."}},
      {Symptom::kRepeatedBatch,
       {"next(iter(loader)) makes a new iterator in each step.",
        "The dataset ignores the index that it is given."},
       {"Iterate over the loader, or keep its iterator.",
        "Compare two samples of the dataset."}},
      {Symptom::kAutocast,
       {"The device type given to autocast is not that of the model.",
        "PyTorch has no such device here, and has disabled autocast with a "
        "warning."},
       {"Pass the type of the model's device to torch.autocast."}},
      {Symptom::kCast,
       {"Methods of a tensor return a new one; only those of a module change "
        "it in place.",
        "The result is not assigned."},
       {"Assign the result: x = x.half().",
        "Check the dtype and device of the model's inputs."}},
      {Symptom::kReplicas,
       {"The model is called as `model.module(...)`, or its parameters are "
        "changed, without the gradients being averaged over the ranks.",
        "A checkpoint was loaded, or a parameter initialized, on some ranks "
        "only, after the model was wrapped.",
        "The optimizers of the ranks differ: another learning rate, another "
        "order of parameters, a step that one rank has skipped.",
        "Faulty hardware, if it is always the same machine."},
       {"Look at the same parameter and its gradient on each rank.",
        "Compare the ranks: record them, and `graphdbg diff RUN --rank 0 "
        "--rank 1` names the first op that differs."}},
      {Symptom::kExpression,
       {"The learning rate, the initialization or the scale of the input data "
        "does not fit, so that the values cross the limit of the expression.",
        "The batch of this step differs from those before it.",
        "The limit is too strict for this tensor."},
       {"Look at the history of the tensor: a slow drift points to the "
        "learning rate, a sudden jump to the batch.",
        "Follow the inputs to the first op whose values are unusual.",
        "Compare the limit with the values of a healthy run."}},
  };
  return *rows;
}

const std::vector<OpAdvice>& AdviceOfOps() {
  static const auto* const rows = new std::vector<OpAdvice>{
      {Symptom::kNonFinite,
       {"log", "log2", "log10", "log1p"},
       {},
       {"The logarithm of zero: a softmax or sigmoid before it has rounded to "
        "exactly 0."},
       {"Replace log(softmax(x)) by log_softmax(x), and log(sigmoid(x)) by "
        "logsigmoid(x) or a loss that takes logits.",
        "Otherwise, clamp the input from below."}},
      {Symptom::kNonFinite,
       {"sqrt", "rsqrt", "norm", "linalg_vector_norm", "sqrtgrad"},
       {},
       {"The root of zero, whose derivative is infinite, or of a negative "
        "number "
        "that rounding made from zero."},
       {"Add a small epsilon under the root, not to its result."}},
      {Symptom::kNonFinite,
       {"div", "reciprocal", "realdiv", "floordiv"},
       {},
       {"A division by zero, often by a standard deviation, a norm or a count "
        "that is zero for this batch."},
       {"Look at the divisor: add an epsilon to it, or mask the elements where "
        "it "
        "is zero."}},
      {Symptom::kNonFinite,
       {"std", "var", "std_mean", "var_mean"},
       {},
       {"The standard deviation of a single value (NaN if it is unbiased), or "
        "its gradient where all values are equal."},
       {"Look at the size of the reduced dimension.",
        "Use the biased variance, and add an epsilon before the root."}},
      {Symptom::kNonFinite,
       {"exp", "exp2", "expm1", "pow", "logcumsumexp"},
       {},
       {"The exponential overflows: float32 does above 88.7, float16 above "
        "11.1."},
       {"Subtract the maximum before the exponential, as softmax and logsumexp "
        "do."}},
      {Symptom::kNonFinite,
       {"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "einsum", "conv2d",
        "convolution", "scaled_dot_product_attention", "batchmatmul"},
       {"float16"},
       {"The products exceed 65,504, the largest float16; attention scores do "
        "so "
        "before they are scaled."},
       {"Scale the queries before the product, or compute it in bfloat16 or "
        "float32.",
        "Look at the largest absolute values of the inputs."}},
      {Symptom::kNonFinite,
       {"mul", "add", "sum", "mean", "cast", "_to_copy", "to"},
       {"float16"},
       {"The result exceeds 65,504, the largest float16."},
       {"Compute this op in bfloat16 or float32."}},
      {Symptom::kNonFinite,
       {"softmax", "_softmax", "log_softmax", "_log_softmax"},
       {},
       {"A row whose scores are all masked with -inf has no largest value."},
       {"Look for rows of the mask that leave nothing.",
        "Use a large finite number instead of -inf for such rows."}},
      {Symptom::kNonFinite,
       {"nll_loss", "nll_loss_forward", "cross_entropy", "cross_entropy_loss"},
       {},
       {"No label of the batch counts, because all are ignored: the mean is "
        "0/0.",
        "The probability of a label is exactly 0."},
       {"Look at the labels of this batch."}},
      {Symptom::kNonFinite,
       {"binary_cross_entropy"},
       {},
       {"The probability is exactly 0 or 1."},
       {"Use binary_cross_entropy_with_logits on the value before the "
        "sigmoid."}},
      {Symptom::kNonFinite,
       {"acos", "asin", "atanh", "acosh"},
       {},
       {"The argument lies outside the domain, or on its border, where the "
        "derivative is infinite."},
       {"Clamp the argument to the inside of the domain."}},
      {Symptom::kNonFinite,
       {"native_batch_norm", "batch_norm", "native_layer_norm", "layer_norm",
        "native_group_norm", "cudnn_batch_norm", "batchnorm", "layernorm"},
       {},
       {"The input already contains NaN or infinities, or its variance "
        "overflows."},
       {"Look at the input and at its largest absolute value.",
        "Look at the running statistics: one bad batch spoils them for good."}},
      {Symptom::kAllZero,
       {"relu", "threshold", "clamp_min", "hardtanh", "relu6"},
       {},
       {"The ReLU is dead: all of its inputs are negative."},
       {"Look at the bias of the layer before it, and at its last large "
        "update."}},
      {Symptom::kVanishingGradient,
       {"sigmoid_backward", "tanh_backward", "_softmax_backward_data",
        "_log_softmax_backward_data"},
       {},
       {"The activation is saturated: its output is at the end of its range."},
       {"Look at the input of the activation in the forward pass."}},
  };
  return *rows;
}

}  // namespace graphdbg::conditions
