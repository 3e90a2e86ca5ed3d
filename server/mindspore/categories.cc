#include "server/mindspore/categories.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace graphdbg::mindspore {
namespace {

using model::Category;

constexpr absl::string_view kActivations[] = {
    "elu",       "fastgelu",   "gelu",       "hsigmoid", "hswish",
    "leakyrelu", "logsigmoid", "logsoftmax", "prelu",    "relu",
    "relu6",     "reluv2",     "sigmoid",    "softmax",  "tanh"};

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

}  // namespace

Category CategoryOfParameter(std::string_view name) {
  const std::string lower = Lower(name);
  if (absl::StrContains(lower, "optimizer-")) return Category::kOptimizer;
  const bool weight =
      absl::EndsWith(lower, ".weight") || absl::EndsWith(lower, ".bias");
  if (weight && !absl::StartsWith(lower, "gradients/")) {
    return Category::kWeight;
  }
  return Category::kOther;
}

Category CategoryOfOp(std::string_view name, std::string_view op_type) {
  const std::string lower = Lower(name);
  if (absl::StartsWith(lower, "gradients/")) return Category::kGradient;
  if (absl::StrContains(lower, "optimizer-")) return Category::kOptimizer;
  const std::string op = Lower(op_type);
  const bool activation =
      std::any_of(std::begin(kActivations), std::end(kActivations),
                  [&](absl::string_view each) { return each == op; });
  return activation ? Category::kActivation : Category::kOther;
}

}  // namespace graphdbg::mindspore
