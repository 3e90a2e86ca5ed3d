// The JSON form of the settings. Python has validated what a configuration file
// says; here, only what would be misread is refused.
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/conditions/catalogue.h"
#include "agent/core/config_values.h"
#include "agent/core/record_settings.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Wrong(absl::string_view key, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": expected ", expected));
}

// Null if the object has no such key.
const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

absl::Status ReadNumber(const Json& object, const char* key,
                        std::optional<uint64_t>* to) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_number_unsigned()) return Wrong(key, "a number from 0");
  *to = value->get<uint64_t>();
  return absl::OkStatus();
}

absl::Status ReadTexts(const Json& object, const char* key,
                       std::vector<std::string>* to) {
  const Json* const list = Find(object, key);
  if (list == nullptr) return absl::OkStatus();
  if (!list->is_array()) return Wrong(key, "a list of texts");
  for (const Json& text : *list) {
    if (!text.is_string()) return Wrong(key, "a list of texts");
    to->push_back(text.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadSchedule(const Json& json, Schedule* schedule) {
  if (!json.is_object()) return Wrong("save", "an object");
  RETURN_IF_ERROR(ReadNumber(json, "every", &schedule->every));
  if (schedule->every == uint64_t{0}) return Wrong("every", "a number from 1");
  RETURN_IF_ERROR(ReadNumber(json, "start", &schedule->start));
  const Json* const end = Find(json, "end");
  if (end != nullptr && end->is_null()) {
    schedule->end = UINT64_MAX;
  } else {
    RETURN_IF_ERROR(ReadNumber(json, "end", &schedule->end));
  }
  const Json* const steps = Find(json, "steps");
  if (steps == nullptr) return absl::OkStatus();
  if (!steps->is_array()) return Wrong("steps", "a list of numbers");
  schedule->steps.emplace();
  for (const Json& step : *steps) {
    if (!step.is_number_unsigned()) return Wrong("steps", "a list of numbers");
    schedule->steps->push_back(step.get<uint64_t>());
  }
  return absl::OkStatus();
}

absl::Status ReadSchedules(const Json& object, Schedules* schedules) {
  const Json* const save = Find(object, "save");
  if (save == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(ReadSchedule(*save, &schedules->all));
  for (const runs::Mode mode :
       {runs::Mode::kTrain, runs::Mode::kEval, runs::Mode::kPredict}) {
    const Json* const of_mode =
        Find(*save, std::string(runs::ToString(mode)).c_str());
    if (of_mode == nullptr) continue;
    RETURN_IF_ERROR(
        ReadSchedule(*of_mode, &schedules->by_mode[static_cast<size_t>(mode)]));
  }
  return absl::OkStatus();
}

absl::Status ReadLevel(const Json& object, RecordLevel* level) {
  const Json* const value = Find(object, "level");
  if (value == nullptr) return absl::OkStatus();
  static const std::map<std::string, RecordLevel> kLevels = {
      {"off", RecordLevel::kOff},
      {"light", RecordLevel::kLight},
      {"statistics", RecordLevel::kStatistics},
      {"tensors", RecordLevel::kTensors}};
  const auto known = value->is_string()
                         ? kLevels.find(value->get<std::string>())
                         : kLevels.end();
  if (known == kLevels.end()) {
    return Wrong("level", "off, light, statistics or tensors");
  }
  *level = known->second;
  return absl::OkStatus();
}

absl::Status ReadBytes(const Json& object, const char* key, uint64_t* bytes) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (value->is_number_unsigned()) {
    *bytes = value->get<uint64_t>();
    return absl::OkStatus();
  }
  const auto parsed =
      value->is_string() ? ParseBytes(value->get<std::string>()) : std::nullopt;
  if (!parsed) return Wrong(key, "a size, such as 32MiB");
  *bytes = static_cast<uint64_t>(*parsed);
  return absl::OkStatus();
}

absl::Status ReadWord(const Json& object, const char* key, const char* no,
                      const char* yes, bool* to) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (*value != no && *value != yes) {
    return Wrong(key, absl::StrCat(no, " or ", yes));
  }
  *to = *value == yes;
  return absl::OkStatus();
}

absl::Status ReadRecord(const Json& json, RecordSettings* settings,
                        RecordLevel* level) {
  if (json.is_string()) {
    settings->directory = json.get<std::string>();
    return absl::OkStatus();
  }
  if (!json.is_object()) return Wrong("record", "a directory or an object");
  if (const Json* const to = Find(json, "to")) {
    if (!to->is_string()) return Wrong("to", "a directory");
    settings->directory = to->get<std::string>();
  }
  RETURN_IF_ERROR(ReadLevel(json, level));
  RETURN_IF_ERROR(ReadWord(json, "keep", "ring", "all", &settings->keep_all));
  RETURN_IF_ERROR(
      ReadWord(json, "when_full", "drop", "block", &settings->block));
  RETURN_IF_ERROR(ReadBytes(json, "ring", &settings->ring_bytes));
  if (const Json* const overhead = Find(json, "overhead")) {
    if (!overhead->is_number()) return Wrong("overhead", "a number");
    settings->overhead = overhead->get<double>();
  }
  std::optional<uint64_t> number = settings->after_hit;
  RETURN_IF_ERROR(ReadNumber(json, "after_hit", &number));
  settings->after_hit = *number;
  number = settings->hit_pause;
  RETURN_IF_ERROR(ReadNumber(json, "hit_pause", &number));
  settings->hit_pause = *number;
  return absl::OkStatus();
}

absl::Status ReadDigest(const Json& object, bool* digest) {
  const Json* const reductions = Find(object, "reductions");
  if (reductions == nullptr) return absl::OkStatus();
  if (!reductions->is_object()) return Wrong("reductions", "an object");
  if (const Json* const value = Find(*reductions, "digest")) {
    if (!value->is_boolean()) return Wrong("digest", "true or false");
    *digest = value->get<bool>();
  }
  return absl::OkStatus();
}

absl::Status ReadCategories(const Json& object,
                            std::vector<conditions::Category>* to) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ReadTexts(object, "categories", &names));
  static const std::map<std::string, conditions::Category> kCategories = {
      {"other", conditions::Category::kOther},
      {"weight", conditions::Category::kWeight},
      {"gradient", conditions::Category::kGradient},
      {"activation", conditions::Category::kActivation},
      {"optimizer", conditions::Category::kOptimizer}};
  for (const std::string& name : names) {
    const auto known = kCategories.find(name);
    if (known == kCategories.end()) {
      return Wrong("categories", "names of categories");
    }
    to->push_back(known->second);
  }
  return absl::OkStatus();
}

absl::Status ReadCollection(const Json& json, CollectionSettings* collection) {
  const Json* const name = json.is_object() ? Find(json, "name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    return Wrong("collections", "objects with a name");
  }
  collection->name = name->get<std::string>();
  RETURN_IF_ERROR(ReadLevel(json, &collection->level));
  RETURN_IF_ERROR(ReadSchedules(json, &collection->save));
  RETURN_IF_ERROR(ReadDigest(json, &collection->digest));
  RETURN_IF_ERROR(ReadTexts(json, "include", &collection->include));
  RETURN_IF_ERROR(ReadTexts(json, "exclude", &collection->exclude));
  RETURN_IF_ERROR(ReadTexts(json, "op_types", &collection->op_types));
  RETURN_IF_ERROR(ReadTexts(json, "kinds", &collection->kinds));
  RETURN_IF_ERROR(ReadTexts(json, "nodes", &collection->nodes.nodes));
  RETURN_IF_ERROR(ReadTexts(json, "scopes", &collection->nodes.scopes));
  RETURN_IF_ERROR(ReadTexts(json, "patterns", &collection->nodes.patterns));
  return ReadCategories(json, &collection->nodes.categories);
}

absl::Status ReadCollections(const Json& json, RecordLevel level,
                             RecordSettings* settings) {
  CollectionSettings defaults;
  defaults.level = level;
  RETURN_IF_ERROR(ReadDigest(json, &defaults.digest));
  const Json* const list = Find(json, "collections");
  if (list == nullptr) {
    for (const std::string& name : DefaultCollections(settings->black_box)) {
      defaults.name = name;
      settings->collections.push_back(defaults);
    }
  } else if (!list->is_array()) {
    return Wrong("collections", "a list");
  } else {
    for (const Json& each : *list) {
      CollectionSettings collection = defaults;
      RETURN_IF_ERROR(ReadCollection(each, &collection));
      settings->collections.push_back(std::move(collection));
    }
  }
  if (settings->collections.size() > kMaxCollections) {
    return Wrong("collections", absl::StrCat("at most ", kMaxCollections));
  }
  return absl::OkStatus();
}

// Adds a condition in the form of --break-on: "nan", "abs_max_gt:1e3",
// "tensor_too_large:mean_gt=1:max_gt=9", "expr:abs_max > 1e3".
absl::Status ParseCondition(const std::string& text, v1::Condition* condition) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first == "expr") {
    condition->set_id("expression");
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
    if (!named && row->params.size() != 1) {
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

absl::Status ReadWatchpoint(const Json& json, v1::SetWatchpoint* watchpoint) {
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
  CollectionSettings lists;
  RETURN_IF_ERROR(ReadTexts(json, "nodes", &lists.nodes.nodes));
  RETURN_IF_ERROR(ReadTexts(json, "scopes", &lists.nodes.scopes));
  RETURN_IF_ERROR(ReadTexts(json, "patterns", &lists.nodes.patterns));
  RETURN_IF_ERROR(ReadCategories(json, &lists.nodes.categories));
  v1::NodeSelection* const selection = watchpoint->mutable_selection();
  for (const auto& each : lists.nodes.nodes) selection->add_nodes(each);
  for (const auto& each : lists.nodes.scopes) selection->add_scopes(each);
  for (const auto& each : lists.nodes.patterns) selection->add_patterns(each);
  for (const auto category : lists.nodes.categories) {
    selection->add_categories(static_cast<v1::NodeCategory>(category));
  }
  if (const Json* const enabled = Find(json, "enabled")) {
    watchpoint->set_enabled(*enabled != false);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadRecordJson(absl::string_view text, RecordSettings* settings) {
  Json json = Json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!json.is_object()) return Wrong("the settings", "a JSON object");
  RecordLevel level =
      settings->black_box ? RecordLevel::kLight : RecordLevel::kStatistics;
  if (const Json* const record = Find(json, "record")) {
    RETURN_IF_ERROR(ReadRecord(*record, settings, &level));
  }
  RETURN_IF_ERROR(ReadSchedules(json, &settings->save));
  RETURN_IF_ERROR(ReadCollections(json, level, settings));
  if (const Json* const list = Find(json, "watchpoints")) {
    if (!list->is_array()) return Wrong("watchpoints", "a list");
    for (const Json& each : *list) {
      v1::SetWatchpoint watchpoint;
      RETURN_IF_ERROR(ReadWatchpoint(each, &watchpoint));
      watchpoint.set_id(
          static_cast<uint32_t>(settings->watchpoints.size() + 1));
      settings->watchpoints.push_back(std::move(watchpoint));
    }
  }
  settings->json = json.dump();
  return absl::OkStatus();
}

std::string EffectiveJson(const RecordSettings& settings) {
  Json json = Json::parse(settings.json, nullptr, /*allow_exceptions=*/false);
  Json record = {{"to", settings.directory},
                 {"keep", settings.keep_all ? "all" : "ring"},
                 {"ring", settings.ring_bytes},
                 {"overhead", settings.overhead},
                 {"when_full", settings.block ? "block" : "drop"},
                 {"after_hit", settings.after_hit},
                 {"hit_pause", settings.hit_pause}};
  if (settings.black_box) record["level"] = "light";
  if (settings.ring_steps != 0) record["ring_steps"] = settings.ring_steps;
  if (Json& given = json["record"]; given.is_object()) {
    for (const char* key : {"level", "hit_tensors", "max_bytes", "parquet"}) {
      if (const Json* const value = Find(given, key)) record[key] = *value;
    }
  }
  json["record"] = std::move(record);
  if (Find(json, "collections") == nullptr) {
    json["collections"] = Json::array();
    for (const CollectionSettings& each : settings.collections) {
      json["collections"].push_back({{"name", each.name}});
    }
  }
  json.erase("watchpoints");
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace graphdbg::agent
