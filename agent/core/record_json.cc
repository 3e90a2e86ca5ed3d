// The JSON form of the settings. Python has validated what a configuration file
// says; here, only what would be misread is refused.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "agent/core/config_values.h"
#include "agent/core/json_fields.h"
#include "agent/core/record_settings.h"
#include "agent/core/watchpoint_json.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::agent {
namespace {

using Json = nlohmann::ordered_json;
using json_fields::Find;
using json_fields::ReadCategories;
using json_fields::ReadTexts;
using json_fields::Wrong;

// Without collections and reductions in the configuration.
constexpr char kComparedByDefault[] = "weights";

absl::Status ReadNumber(const Json& object, const char* key,
                        std::optional<uint64_t>* to) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_number_unsigned()) return Wrong(key, "a number from 0");
  *to = value->get<uint64_t>();
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

struct LevelName {
  RecordLevel level;
  const char* name;
};

constexpr LevelName kLevelNames[] = {{RecordLevel::kOff, "off"},
                                     {RecordLevel::kLight, "light"},
                                     {RecordLevel::kStatistics, "statistics"},
                                     {RecordLevel::kTensors, "tensors"}};

const char* ToString(RecordLevel level) {
  for (const LevelName& each : kLevelNames) {
    if (each.level == level) return each.name;
  }
  return "";
}

absl::Status ReadLevel(const Json& object, RecordLevel* level) {
  const Json* const value = Find(object, "level");
  if (value == nullptr) return absl::OkStatus();
  for (const LevelName& each : kLevelNames) {
    if (*value != each.name) continue;
    *level = each.level;
    return absl::OkStatus();
  }
  return Wrong("level", "off, light, statistics or tensors");
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

absl::Status ReadBool(const Json& object, const char* key, bool* to) {
  const Json* const value = Find(object, key);
  if (value == nullptr) return absl::OkStatus();
  if (!value->is_boolean()) return Wrong(key, "true or false");
  *to = value->get<bool>();
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
  RETURN_IF_ERROR(ReadBool(json, "hit_tensors", &settings->hit_tensors));
  RETURN_IF_ERROR(ReadBytes(json, "max_bytes", &settings->max_bytes));
  if (Find(json, "tensor_rate") != nullptr) {
    settings->tensor_rate = 0;
    RETURN_IF_ERROR(ReadBytes(json, "tensor_rate", &*settings->tensor_rate));
  }
  std::optional<uint64_t> number = settings->after_hit;
  RETURN_IF_ERROR(ReadNumber(json, "after_hit", &number));
  settings->after_hit = *number;
  number = settings->hit_pause;
  RETURN_IF_ERROR(ReadNumber(json, "hit_pause", &number));
  settings->hit_pause = *number;
  return absl::OkStatus();
}

// Null if the object has no such key, or nothing there: infinities arrive as
// null.
const Json* FindNumber(const Json& object, const char* key) {
  const Json* const value = Find(object, key);
  return value == nullptr || !value->is_number() ? nullptr : value;
}

absl::Status ReadUnits(const Json& json, std::optional<UnitsSettings>* to) {
  if (json.is_null()) {
    to->reset();
    return absl::OkStatus();
  }
  const Json* const axis = json.is_object() ? Find(json, "axis") : nullptr;
  if (axis == nullptr || !axis->is_number_integer()) {
    return Wrong("units", "an object with an axis");
  }
  UnitsSettings& units = to->emplace();
  units.axis = axis->get<int64_t>();
  if (const Json* const from = FindNumber(json, "from")) {
    units.from = from->get<double>();
  }
  if (const Json* const end = FindNumber(json, "to")) {
    units.to = end->get<double>();
  }
  if (const Json* const below = FindNumber(json, "below")) {
    units.below = below->get<double>();
  }
  return absl::OkStatus();
}

absl::Status ReadReductions(const Json& object, CollectionSettings* to) {
  const Json* const reductions = Find(object, "reductions");
  if (reductions == nullptr) return absl::OkStatus();
  if (!reductions->is_object()) return Wrong("reductions", "an object");
  RETURN_IF_ERROR(ReadBool(*reductions, "digest", &to->digest));
  if (const Json* const units = Find(*reductions, "units")) {
    RETURN_IF_ERROR(ReadUnits(*units, &to->units));
  }
  return ReadBool(*reductions, "change", &to->change);
}

absl::Status ReadCollection(const Json& json, CollectionSettings* collection) {
  const Json* const name = json.is_object() ? Find(json, "name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    return Wrong("collections", "objects with a name");
  }
  collection->name = name->get<std::string>();
  RETURN_IF_ERROR(ReadLevel(json, &collection->level));
  RETURN_IF_ERROR(ReadSchedules(json, &collection->save));
  RETURN_IF_ERROR(ReadReductions(json, collection));
  RETURN_IF_ERROR(ReadTexts(json, "include", &collection->include));
  RETURN_IF_ERROR(ReadTexts(json, "exclude", &collection->exclude));
  RETURN_IF_ERROR(ReadTexts(json, "op_types", &collection->op_types));
  RETURN_IF_ERROR(ReadTexts(json, "kinds", &collection->kinds));
  RETURN_IF_ERROR(ReadTexts(json, "read_by", &collection->read_by));
  RETURN_IF_ERROR(ReadTexts(json, "nodes", &collection->nodes.nodes));
  RETURN_IF_ERROR(ReadTexts(json, "scopes", &collection->nodes.scopes));
  RETURN_IF_ERROR(ReadTexts(json, "patterns", &collection->nodes.patterns));
  return ReadCategories(json, &collection->nodes.categories);
}

absl::Status ReadCollections(const Json& json, RecordLevel level,
                             RecordSettings* settings) {
  CollectionSettings defaults;
  defaults.level = level;
  RETURN_IF_ERROR(ReadReductions(json, &defaults));
  const Json* const list = Find(json, "collections");
  const bool has_reductions = Find(json, "reductions") != nullptr;
  if (list == nullptr) {
    for (const std::string& name : DefaultCollections(settings->black_box)) {
      CollectionSettings& collection =
          settings->collections.emplace_back(defaults);
      collection.name = name;
      collection.by_default = true;
      collection.change |= name == kComparedByDefault && !has_reductions;
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

Json JsonOf(const Schedule& schedule) {
  const bool endless = !schedule.end || *schedule.end == UINT64_MAX;
  return {{"every", *schedule.every},
          {"start", *schedule.start},
          {"end", endless ? Json(nullptr) : Json(*schedule.end)},
          {"steps", *schedule.steps}};
}

// One schedule, and those of modes that differ from it.
Json JsonOf(const Schedules& schedules, const Schedules& global) {
  const auto of = [&](runs::Mode mode) {
    return JsonOf(EffectiveSchedule(schedules, global, mode));
  };
  Json save = of(runs::Mode::kUnknown);
  const Json all = save;
  for (const runs::Mode mode :
       {runs::Mode::kTrain, runs::Mode::kEval, runs::Mode::kPredict}) {
    if (of(mode) != all) save[std::string(runs::ToString(mode))] = of(mode);
  }
  return save;
}

Json ReductionsOf(const CollectionSettings& collection) {
  // An infinite bound is null.
  const auto finite = [](double number) {
    return std::isfinite(number) ? Json(number) : Json(nullptr);
  };
  Json units = nullptr;
  if (collection.units) {
    units = {{"axis", collection.units->axis},
             {"from", finite(collection.units->from)},
             {"to", finite(collection.units->to)},
             {"below", collection.units->below}};
  }
  return {{"digest", collection.digest},
          {"change", collection.change},
          {"units", units}};
}

// The collections with inherited settings filled in. Their lists are as given.
Json CollectionsOf(const Json& given, const RecordSettings& settings) {
  const Json* const list = Find(given, "collections");
  Json collections = Json::array();
  for (size_t i = 0; i < settings.collections.size(); ++i) {
    const CollectionSettings& each = settings.collections[i];
    Json collection = list == nullptr ? Json::object() : (*list)[i];
    collection["name"] = each.name;
    collection["level"] = ToString(each.level);
    collection["save"] = JsonOf(each.save, settings.save);
    collection["reductions"] = ReductionsOf(each);
    collections.push_back(std::move(collection));
  }
  return collections;
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
  settings->level = level;
  RETURN_IF_ERROR(ReadSchedules(json, &settings->save));
  RETURN_IF_ERROR(ReadCollections(json, level, settings));
  if (const Json* const list = Find(json, "watchpoints")) {
    if (!list->is_array()) return Wrong("watchpoints", "a list");
    for (const Json& each : *list) {
      v1::SetWatchpoint watchpoint;
      RETURN_IF_ERROR(ReadWatchpointJson(each, &watchpoint));
      watchpoint.set_id(
          static_cast<uint32_t>(settings->watchpoints.size() + 1));
      settings->watchpoints.push_back(std::move(watchpoint));
    }
  }
  settings->json = json.dump();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CollectionSettings>> ReadBoostJson(
    absl::string_view text, const RecordSettings& settings) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return Wrong("the settings", "a JSON object");
  RecordLevel level = RecordLevel::kTensors;
  if (const Json* const record = Find(json, "record")) {
    RETURN_IF_ERROR(ReadLevel(*record, &level));
  }
  RecordSettings given;
  given.collections = settings.collections;
  if (Find(json, "collections") != nullptr) {
    given.collections.clear();
    RETURN_IF_ERROR(ReadCollections(json, level, &given));
  }
  std::vector<CollectionSettings> boosted;
  for (const CollectionSettings& each : given.collections) {
    const auto known = std::find_if(
        settings.collections.begin(), settings.collections.end(),
        [&each](const auto& other) { return other.name == each.name; });
    CollectionSettings& added = boosted.emplace_back(
        known == settings.collections.end() ? each : *known);
    added.level = level;
    added.save = Schedules();
    added.digest = false;
    added.change = false;
    added.units.reset();
  }
  return boosted;
}

std::string EffectiveJson(const RecordSettings& settings) {
  Json json = Json::parse(settings.json, nullptr, /*allow_exceptions=*/false);
  Json record = {
      {"to", settings.directory},
      {"keep", settings.keep_all ? "all" : "ring"},
      {"ring", settings.ring_bytes},
      {"overhead", settings.overhead},
      {"when_full", settings.block ? "block" : "drop"},
      {"after_hit", settings.after_hit},
      {"hit_pause", settings.hit_pause},
      {"hit_tensors", settings.hit_tensors},
      {"max_bytes", settings.max_bytes},
      {"tensor_rate",
       settings.tensor_rate ? Json(*settings.tensor_rate) : Json(nullptr)},
      {"level", ToString(settings.level)}};
  if (settings.ring_steps != 0) record["ring_steps"] = settings.ring_steps;
  const Json* const given = Find(json, "record");
  const Json* const parquet = given != nullptr && given->is_object()
                                  ? Find(*given, "parquet")
                                  : nullptr;
  record["parquet"] = parquet == nullptr ? Json("auto") : *parquet;
  json["collections"] = CollectionsOf(json, settings);
  json["save"] = JsonOf({}, settings.save);
  json["record"] = std::move(record);
  json.erase("watchpoints");
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace graphdbg::agent
