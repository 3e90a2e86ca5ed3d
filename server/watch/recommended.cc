#include "server/watch/recommended.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace graphdbg::watch {
namespace {

using model::PauseMode;
using model::Selection;
using model::WatchpointSpec;

WatchpointSpec Spec(const char* condition, std::map<std::string, double> params,
                    PauseMode pause, Selection selection = {}) {
  WatchpointSpec spec;
  spec.condition.id = condition;
  spec.condition.params = std::move(params);
  spec.selection = std::move(selection);
  spec.pause = pause;
  return spec;
}

// Matches PyTorch's names of an op ("tanh", "tanh_1", in-place "tanh_") and
// MindSpore's ("Tanh-op12").
Selection Ops(const std::string& torch, const std::string& mindspore) {
  Selection selection;
  selection.patterns = {"**/" + torch, "**/" + torch + "_*",
                        "**/" + mindspore + "-op*"};
  return selection;
}

// Excludes biases, which often start at zero and then change by any ratio.
Selection Weights() {
  Selection selection;
  selection.patterns = {"**/*weight*"};
  return selection;
}

// Gradients of layers, by the names of their ops. Other ops of the backward
// pass produce zeros as intermediate results.
Selection Gradients() {
  Selection selection;
  selection.patterns = {"backward/**mm", "backward/**mm_*",
                        "backward/**_backward*", "**/*Backprop*-op*",
                        "**/*Grad*-op*"};
  return selection;
}

// Gradients and outputs of layers.
Selection GradientsAndOutputs() {
  Selection selection = Gradients();
  for (const char* pattern :
       {"forward/**mm", "forward/**mm_*", "forward/**conv*", "forward/**relu*",
        "**/Conv*-op*", "**/MatMul-op*", "**/ReLU-op*"}) {
    selection.patterns.push_back(pattern);
  }
  return selection;
}

// Almost no element is in the range where the function is not flat.
WatchpointSpec Saturated(const char* torch, const char* mindspore, double low,
                         double high) {
  return Spec("activation_range",
              {{"range_start_inclusive", low},
               {"range_end_inclusive", high},
               {"range_percentage_lt", 0.1}},
              PauseMode::kStep, Ops(torch, mindspore));
}

// Weights that do not learn: those of a layer that is frozen, and those of the
// first layers of a network in which the gradient vanishes, however large a
// gradient is in it. Less than this share is lost in float32. Looked at in a
// few steps only, none of them at the start of a warm-up, and listed without
// pausing, because layers are also frozen on purpose.
WatchpointSpec UnchangedWeights() {
  WatchpointSpec spec = Spec("expression", {}, PauseMode::kNone, Weights());
  spec.condition.text_params["expression"] =
      "change_ratio < 1e-7 && (step == 20 || step == 200 || step == 2000)";
  return spec;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::vector<WatchpointSpec> RecommendedSet(const RecommendedOptions& options) {
  std::vector<WatchpointSpec> set = {
      Spec("tensor_overflow", {}, PauseMode::kNode),
      Spec("weight_initialization", {{"zero_percentage_ge", 100}},
           PauseMode::kStep, Weights()),
      Spec("weight_change_too_large", {{"abs_mean_update_ratio_gt", 1}},
           PauseMode::kStep, Weights()),
      Spec("gradient_vanishing", {{"abs_mean_lt", 1e-9}}, PauseMode::kStep,
           Gradients()),
      // Such a gradient is close to overflow and makes any update too large.
      Spec("gradient_too_large", {{"abs_mean_gt", 1e3}}, PauseMode::kStep),
      Spec("tensor_all_zero", {{"zero_percentage_ge", 100}}, PauseMode::kStep,
           GradientsAndOutputs()),
      Saturated("tanh", "Tanh", std::tanh(-8.8), std::tanh(8.8)),
      Saturated("sigmoid", "Sigmoid", Sigmoid(-16.2), Sigmoid(16.2)),
      Spec("activation_range",
           {{"range_start_inclusive", -1},
            {"range_end_inclusive", 0},
            {"range_percentage_gt", 99.9}},
           PauseMode::kStep, Ops("relu", "ReLU")),
  };
  // MindSpore's name of the op on Ascend.
  set.back().selection.patterns.push_back("**/ReLUV2-op*");
  if (options.expressions) set.push_back(UnchangedWeights());
  if (options.ascend)
    set.push_back(Spec("operator_overflow", {}, PauseMode::kNode));
  return set;
}

bool IsRecommended(const WatchpointSpec& watchpoint,
                   const WatchpointSpec& recommended) {
  return watchpoint.condition.id == recommended.condition.id &&
         watchpoint.selection == recommended.selection;
}

uint32_t FindRecommended(const WatchTable& table,
                         const WatchpointSpec& recommended) {
  for (uint32_t id : table.Ids()) {
    if (IsRecommended(table.SpecOf(id), recommended)) return id;
  }
  return 0;
}

}  // namespace graphdbg::watch
