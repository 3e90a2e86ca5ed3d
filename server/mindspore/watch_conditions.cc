#include "server/mindspore/watch_conditions.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/conditions/catalogue.h"
#include "server/base/error.h"

namespace graphdbg::mindspore {
namespace {

using debugger::WatchCondition;
using Numbers = std::map<std::string, double>;

// Clients before 2022 read these two by position: atol, then rtol.
constexpr char kRtol[] = "rtol";
constexpr char kAtol[] = "atol";

// The parameters of a condition in the order in which clients read them, with a
// null pointer at the end.
struct Layout {
  WatchCondition::Condition condition;
  const char* params[7];
};

constexpr Layout kLayouts[] = {
    {WatchCondition::tensor_initialization,
     {"zero_percentage_ge", "max_gt", "min_lt"}},
    {WatchCondition::tensor_too_large,
     {"abs_mean_gt", "max_gt", "min_gt", "mean_gt"}},
    {WatchCondition::tensor_too_small,
     {"abs_mean_lt", "max_lt", "min_lt", "mean_lt"}},
    {WatchCondition::tensor_all_zero, {"zero_percentage_ge"}},
    {WatchCondition::tensor_change_too_large,
     {"abs_mean_update_ratio_gt", "epsilon"}},
    {WatchCondition::tensor_change_too_small,
     {"abs_mean_update_ratio_lt", "epsilon"}},
    {WatchCondition::tensor_not_changed, {kRtol, kAtol, "equal_nan"}},
    {WatchCondition::tensor_range,
     {"range_start_inclusive", "range_end_inclusive", "range_percentage_lt",
      "range_percentage_gt", "max_min_lt", "max_min_gt"}},
    {WatchCondition::sd_gt, {"param"}},
    {WatchCondition::sd_lt, {"param"}},
};

// Conditions with one value. Release 1.1 and later represent them as parameters
// of other conditions.
struct Simple {
  const char* name;
  WatchCondition::Condition old_condition;
  WatchCondition::Condition condition;
};

constexpr Simple kSimple[] = {
    {"max_gt", WatchCondition::max_gt, WatchCondition::tensor_too_large},
    {"max_lt", WatchCondition::max_lt, WatchCondition::tensor_too_small},
    {"min_gt", WatchCondition::min_gt, WatchCondition::tensor_too_large},
    {"min_lt", WatchCondition::min_lt, WatchCondition::tensor_too_small},
    {"max_min_gt", WatchCondition::max_min_gt, WatchCondition::tensor_range},
    {"max_min_lt", WatchCondition::max_min_lt, WatchCondition::tensor_range},
    {"mean_gt", WatchCondition::mean_gt, WatchCondition::tensor_too_large},
    {"mean_lt", WatchCondition::mean_lt, WatchCondition::tensor_too_small},
};

const Simple* FindSimple(const std::string& name) {
  for (const Simple& simple : kSimple) {
    if (name == simple.name) return &simple;
  }
  return nullptr;
}

absl::Status Unsupported(const std::string& id, const std::string& why) {
  return Error(absl::StatusCode::kUnimplemented, "unsupported_condition",
               absl::StrCat("MindSpore's debugger cannot check \"", id, "\"",
                            why.empty() ? "" : ": ", why));
}

// The given parameters, completed with defaults.
Numbers Resolve(const conditions::Condition& row, const Numbers& given) {
  bool any_tested = false;
  for (const auto& parameter : row.params) {
    any_tested |= parameter.tested && given.count(parameter.name) > 0;
  }
  Numbers resolved = given;
  for (const auto& parameter : row.params) {
    if (!parameter.default_value || (parameter.tested && any_tested)) continue;
    resolved.emplace(parameter.name, *parameter.default_value);
  }
  return resolved;
}

WireCondition Make(WatchCondition::Condition condition, Numbers values,
                   std::map<std::string, std::string> names = {}) {
  WireCondition wire;
  wire.names = std::move(names);
  wire.condition.set_condition(condition);
  for (const Layout& layout : kLayouts) {
    if (layout.condition != condition) continue;
    for (const char* const* name = layout.params; *name != nullptr; ++name) {
      auto& param = *wire.condition.add_params();
      param.set_name(*name);
      auto value = values.find(*name);
      param.set_disabled(value == values.end());
      if (value == values.end()) continue;
      param.set_value(value->second);
      wire.condition.set_value(static_cast<float>(value->second));
    }
  }
  return wire;
}

WireCondition MakeOld(WatchCondition::Condition condition, double value = 0) {
  WireCondition wire;
  wire.condition.set_condition(condition);
  wire.condition.set_value(static_cast<float>(value));
  return wire;
}

// --- 1.0 --------------------------------------------------------------------

absl::StatusOr<std::vector<WireCondition>> OldConditionsOf(
    const conditions::Condition& row, const Numbers& values) {
  const int number = row.wire_condition.value_or(-1);
  if (number == WatchCondition::tensor_general_overflow) {
    return std::vector{MakeOld(WatchCondition::nan),
                       MakeOld(WatchCondition::inf)};
  }
  if (number >= 0 && number <= WatchCondition::overflow) {
    return std::vector{MakeOld(WatchCondition::Condition(number))};
  }
  if (const Simple* simple = FindSimple(row.id)) {
    return std::vector{MakeOld(simple->old_condition, values.at("value"))};
  }
  std::vector<WireCondition> wire;
  for (const auto& parameter : row.params) {
    auto value = values.find(parameter.name);
    if (value == values.end()) continue;
    const Simple* simple = FindSimple(parameter.name);
    if (simple == nullptr) {
      return Unsupported(row.id, absl::StrCat("MindSpore 1.0 has no \"",
                                              parameter.name, "\""));
    }
    wire.push_back(MakeOld(simple->old_condition, value->second));
  }
  if (wire.empty()) return Unsupported(row.id, "");
  return wire;
}

// --- 1.1 and later ----------------------------------------------------------

// Conditions that have no number of their own on the wire.
absl::StatusOr<std::vector<WireCondition>> ComposedOf(
    const conditions::Condition& row, const Numbers& values) {
  if (row.id == "abs_mean_gt" || row.id == "abs_mean_lt") {
    const bool greater = row.id == "abs_mean_gt";
    return std::vector{Make(greater ? WatchCondition::tensor_too_large
                                    : WatchCondition::tensor_too_small,
                            {{row.id, values.at("value")}},
                            {{row.id, "abs_mean"}})};
  }
  if (row.id == "abs_max_gt") {
    const double value = values.at("value");
    return std::vector{Make(WatchCondition::tensor_too_large,
                            {{"max_gt", value}}, {{"max_gt", "max"}}),
                       Make(WatchCondition::tensor_too_small,
                            {{"min_lt", -value}}, {{"min_lt", "min"}})};
  }
  if (row.id == "activation_inactive") {
    // "At least x" is the same as "more than the next smaller number than x".
    const double above =
        std::nextafter(values.at("inactive_percentage_ge"),
                       -std::numeric_limits<double>::infinity());
    return std::vector{
        Make(WatchCondition::tensor_range,
             {{"range_end_inclusive", 0}, {"range_percentage_gt", above}},
             {{"range_percentage_gt", "inactive_percentage_ge"}})};
  }
  return Unsupported(row.id, "");
}

}  // namespace

absl::StatusOr<std::vector<WireCondition>> WireConditionsOf(
    const model::Condition& condition, const Profile& profile, bool ascend) {
  const conditions::Condition* row = conditions::Find(condition.id);
  if (row == nullptr) return Unsupported(condition.id, "unknown condition");
  if (condition.params.count("axis") > 0) {
    return Unsupported(row->id, "it tests whole tensors, and not channels");
  }
  const Numbers values = Resolve(*row, condition.params);
  if (row->wire_condition == WatchCondition::overflow && !ascend) {
    return Unsupported(row->id, "only Ascend devices report it");
  }
  if (profile.simple_conditions) return OldConditionsOf(*row, values);
  if (!row->wire_condition) return ComposedOf(*row, values);
  if (const Simple* simple = FindSimple(row->id)) {
    std::string measure = row->id.substr(0, row->id.rfind('_'));
    return std::vector{Make(simple->condition,
                            {{simple->name, values.at("value")}},
                            {{simple->name, std::move(measure)}})};
  }
  const auto number = WatchCondition::Condition(*row->wire_condition);
  if (number == WatchCondition::sd_gt || number == WatchCondition::sd_lt) {
    return std::vector{
        Make(number, {{"param", values.at("value")}}, {{"param", "sd"}})};
  }
  std::vector<WireCondition> wire = {Make(number, values)};
  if (number == WatchCondition::tensor_not_changed && profile.atol_first) {
    wire[0].condition.mutable_params()->SwapElements(0, 1);
  }
  return wire;
}

WireCondition NeverMatches(const Profile& profile) {
  if (profile.simple_conditions) {
    return MakeOld(WatchCondition::max_gt,
                   std::numeric_limits<double>::infinity());
  }
  return Make(WatchCondition::tensor_too_large, {});
}

}  // namespace graphdbg::mindspore
