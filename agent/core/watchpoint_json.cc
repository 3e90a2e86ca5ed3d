#include "agent/core/watchpoint_json.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/conditions/catalogue.h"
#include "agent/conditions/selection_message.h"
#include "agent/core/json_fields.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using Json = nlohmann::ordered_json;
using json_fields::Find;
using json_fields::ReadCategories;
using json_fields::ReadTexts;
using json_fields::Wrong;

// Takes "axis=1:" from the beginning of an expression.
void ReadAxis(std::string* text, v1::Condition* condition) {
  const size_t end = text->find(':');
  absl::string_view axis = absl::string_view(*text).substr(0, end);
  int number;
  if (end == text->npos || !absl::ConsumePrefix(&axis, "axis=") ||
      !absl::SimpleAtoi(axis, &number)) {
    return;
  }
  (*condition->mutable_params())["axis"] = number;
  text->erase(0, end + 1);
}

// How many parameters there are besides the axis, which is the last one.
size_t OwnParameters(const conditions::Condition& row) {
  const bool axis = !row.params.empty() && row.params.back().name == "axis";
  return row.params.size() - (axis ? 1 : 0);
}

// Adds a condition in the form of --break-on: "nan", "abs_max_gt:1e3",
// "tensor_too_large:mean_gt=1:max_gt=9", "expr:abs_max > 1e3",
// "expr:axis=1:abs_max > 1e3".
absl::Status ParseCondition(const std::string& text, v1::Condition* condition) {
  std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "expr") {
    condition->set_id("expression");
    ReadAxis(&parts.second, condition);
    (*condition->mutable_text_params())["expression"] = parts.second;
    return absl::OkStatus();
  }
  condition->set_id(parts.first);
  const conditions::Condition* const row = conditions::Find(parts.first);
  if (row == nullptr) return Wrong("condition", "a known condition");
  for (const absl::string_view setting :
       absl::StrSplit(parts.second, ':', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(setting, absl::MaxSplits('=', 1));
    const bool named = setting.find('=') != absl::string_view::npos;
    if (!named && OwnParameters(*row) != 1) {
      return Wrong(text, "NAME=VALUE for each parameter");
    }
    const std::string name = named ? pair.first : row->params[0].name;
    const std::string value = named ? pair.second : pair.first;
    double number;
    if (value == "true" || value == "false") {
      (*condition->mutable_params())[name] = value == "true" ? 1 : 0;
    } else if (absl::SimpleAtod(value, &number)) {
      (*condition->mutable_params())[name] = number;
    } else {
      (*condition->mutable_text_params())[name] = value;
    }
  }
  return absl::OkStatus();
}

absl::Status ReadCondition(const Json& json, v1::Condition* condition) {
  if (json.is_string()) {
    return ParseCondition(json.get<std::string>(), condition);
  }
  const Json* const id = json.is_object() ? Find(json, "id") : nullptr;
  if (id == nullptr || !id->is_string()) {
    return Wrong("condition", "a text or an object with an id");
  }
  condition->set_id(id->get<std::string>());
  const Json* const params = Find(json, "params");
  if (params == nullptr) return absl::OkStatus();
  if (!params->is_object()) return Wrong("params", "an object");
  for (const auto& [name, value] : params->items()) {
    if (value.is_boolean()) {
      (*condition->mutable_params())[name] = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
      (*condition->mutable_params())[name] = value.get<double>();
    } else if (value.is_string()) {
      (*condition->mutable_text_params())[name] = value.get<std::string>();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadDTypes(const Json& json, std::vector<DType>* to) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ReadTexts(json, "dtypes", &names));
  for (const std::string& name : names) {
    const std::optional<DType> dtype = ParseDType(name);
    if (!dtype) return Wrong("dtypes", "types such as \"float16\"");
    to->push_back(*dtype);
  }
  return absl::OkStatus();
}

absl::Status ReadRanks(const Json& json, std::vector<uint32_t>* to) {
  const Json* const ranks = Find(json, "ranks");
  if (ranks == nullptr) return absl::OkStatus();
  if (!ranks->is_array()) return Wrong("ranks", "a list of numbers");
  for (const Json& rank : *ranks) {
    if (!rank.is_number_unsigned()) return Wrong("ranks", "numbers from 0");
    to->push_back(rank.get<uint32_t>());
  }
  return absl::OkStatus();
}

absl::Status ReadLists(const Json& json, conditions::NodeLists* to) {
  RETURN_IF_ERROR(ReadTexts(json, "nodes", &to->nodes));
  RETURN_IF_ERROR(ReadTexts(json, "scopes", &to->scopes));
  RETURN_IF_ERROR(ReadTexts(json, "patterns", &to->patterns));
  RETURN_IF_ERROR(ReadTexts(json, "regexes", &to->regexes));
  RETURN_IF_ERROR(ReadCategories(json, &to->categories));
  RETURN_IF_ERROR(ReadTexts(json, "op_types", &to->op_types));
  RETURN_IF_ERROR(ReadTexts(json, "sources", &to->sources));
  RETURN_IF_ERROR(ReadDTypes(json, &to->dtypes));
  return ReadRanks(json, &to->ranks);
}

}  // namespace

absl::Status ReadWatchpointJson(const Json& json,
                                v1::SetWatchpoint* watchpoint) {
  watchpoint->set_enabled(true);
  // Nobody could continue the program.
  watchpoint->set_pause(v1::PAUSE_MODE_NONE);
  if (json.is_string()) {
    return ReadCondition(json, watchpoint->mutable_condition());
  }
  const Json* const condition =
      json.is_object() ? Find(json, "condition") : nullptr;
  if (condition == nullptr) return Wrong("watchpoints", "a condition");
  RETURN_IF_ERROR(ReadCondition(*condition, watchpoint->mutable_condition()));
  conditions::NodeSelection selection;
  RETURN_IF_ERROR(ReadLists(json, &selection));
  if (const Json* const exclude = Find(json, "exclude")) {
    if (!exclude->is_object()) return Wrong("exclude", "an object");
    RETURN_IF_ERROR(ReadLists(*exclude, &selection.exclude));
  }
  *watchpoint->mutable_selection() = conditions::ToMessage(selection);
  std::vector<std::string> actions;
  RETURN_IF_ERROR(ReadTexts(json, "actions", &actions));
  watchpoint->set_capture(
      std::find(actions.begin(), actions.end(), "capture") != actions.end());
  if (const Json* const enabled = Find(json, "enabled")) {
    watchpoint->set_enabled(*enabled != false);
  }
  if (const Json* const once = Find(json, "once")) {
    watchpoint->set_once(*once == true);
  }
  if (const Json* const count = Find(json, "ignore_count")) {
    if (!count->is_number_unsigned()) {
      return Wrong("ignore_count", "a number from 0");
    }
    watchpoint->set_ignore_count(count->get<uint32_t>());
  }
  return absl::OkStatus();
}

}  // namespace graphdbg::agent
