#include "agent/conditions/advice_table.h"

namespace graphdbg::conditions {

const std::vector<OpAdvice>& AdviceOfOps() {
  static const auto* const rows = new std::vector<OpAdvice>{
      {"non_finite",
       {"log", "log2", "log10", "log1p"},
       {},
       {"The logarithm of zero: a softmax or sigmoid before it has rounded to "
        "exactly 0."},
       {"Replace log(softmax(x)) by log_softmax(x), and log(sigmoid(x)) by "
        "logsigmoid(x) or a loss that takes logits.",
        "Otherwise, clamp the input from below."}},
      {"non_finite",
       {"sqrt", "rsqrt", "norm", "linalg_vector_norm", "sqrtgrad"},
       {},
       {"The root of zero, whose derivative is infinite, or of a negative "
        "number "
        "that rounding made from zero."},
       {"Add a small epsilon under the root, not to its result."}},
      {"non_finite",
       {"div", "reciprocal", "realdiv", "floordiv"},
       {},
       {"A division by zero, often by a standard deviation, a norm or a count "
        "that is zero for this batch."},
       {"Look at the divisor: add an epsilon to it, or mask the elements where "
        "it "
        "is zero."}},
      {"non_finite",
       {"std", "var", "std_mean", "var_mean"},
       {},
       {"The standard deviation of a single value (NaN if it is unbiased), or "
        "its gradient where all values are equal."},
       {"Look at the size of the reduced dimension.",
        "Use the biased variance, and add an epsilon before the root."}},
      {"non_finite",
       {"exp", "exp2", "expm1", "pow", "logcumsumexp"},
       {},
       {"The exponential overflows: float32 does above 88.7, float16 above "
        "11.1."},
       {"Subtract the maximum before the exponential, as softmax and logsumexp "
        "do."}},
      {"non_finite",
       {"matmul", "mm", "bmm", "addmm", "baddbmm", "linear", "einsum", "conv2d",
        "convolution", "scaled_dot_product_attention", "batchmatmul"},
       {"float16"},
       {"The products exceed 65,504, the largest float16; attention scores do "
        "so "
        "before they are scaled."},
       {"Scale the queries before the product, or compute it in bfloat16 or "
        "float32.",
        "Look at the largest absolute values of the inputs."}},
      {"non_finite",
       {"mul", "add", "sum", "mean", "cast", "_to_copy", "to"},
       {"float16"},
       {"The result exceeds 65,504, the largest float16."},
       {"Compute this op in bfloat16 or float32."}},
      {"non_finite",
       {"softmax", "_softmax", "log_softmax", "_log_softmax"},
       {},
       {"A row whose scores are all masked with -inf has no largest value."},
       {"Look for rows of the mask that leave nothing.",
        "Use a large finite number instead of -inf for such rows."}},
      {"non_finite",
       {"nll_loss", "nll_loss_forward", "cross_entropy", "cross_entropy_loss"},
       {},
       {"No label of the batch counts, because all are ignored: the mean is "
        "0/0.",
        "The probability of a label is exactly 0."},
       {"Look at the labels of this batch."}},
      {"non_finite",
       {"binary_cross_entropy"},
       {},
       {"The probability is exactly 0 or 1."},
       {"Use binary_cross_entropy_with_logits on the value before the "
        "sigmoid."}},
      {"non_finite",
       {"acos", "asin", "atanh", "acosh"},
       {},
       {"The argument lies outside the domain, or on its border, where the "
        "derivative is infinite."},
       {"Clamp the argument to the inside of the domain."}},
      {"non_finite",
       {"native_batch_norm", "batch_norm", "native_layer_norm", "layer_norm",
        "native_group_norm", "cudnn_batch_norm", "batchnorm", "layernorm"},
       {},
       {"The input already contains NaN or infinities, or its variance "
        "overflows."},
       {"Look at the input and at its largest absolute value.",
        "Look at the running statistics: one bad batch spoils them for good."}},
      {"all_zero",
       {"relu", "threshold", "clamp_min", "hardtanh", "relu6"},
       {},
       {"The ReLU is dead: all of its inputs are negative."},
       {"Look at the bias of the layer before it, and at its last large "
        "update."}},
      {"vanishing_gradient",
       {"sigmoid_backward", "tanh_backward", "_softmax_backward_data",
        "_log_softmax_backward_data"},
       {},
       {"The activation is saturated: its output is at the end of its range."},
       {"Look at the input of the activation in the forward pass."}},
  };
  return *rows;
}

}  // namespace graphdbg::conditions
