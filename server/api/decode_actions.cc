#include "server/api/decode_actions.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

constexpr size_t kMaxActions = 8;
constexpr uint64_t kMaxRecordedSteps = 1'000'000;

std::optional<model::Action> WithDefaults(std::string_view kind) {
  if (kind == "pause") return model::PauseAction();
  if (kind == "stop") return model::StopAction();
  if (kind == "log") return model::LogAction();
  if (kind == "record") return model::RecordAction();
  if (kind == "capture") return model::CaptureAction();
  return std::nullopt;
}

std::string_view NameOf(const model::Action& action) {
  struct Name {
    std::string_view operator()(const model::PauseAction&) { return "pause"; }
    std::string_view operator()(const model::StopAction&) { return "stop"; }
    std::string_view operator()(const model::LogAction&) { return "log"; }
    std::string_view operator()(const model::RecordAction&) { return "record"; }
    std::string_view operator()(const model::CaptureAction&) {
      return "capture";
    }
  };
  return std::visit(Name(), action);
}

// Explains why an action is refused. Configuration files may contain more.
std::string WhyNot(const std::string& kind) {
  if (kind == "webhook" || kind == "command") {
    return "has the action " + kind +
           ", which only the configuration file of `graphdbg run` may contain";
  }
  return "is '" + kind +
         "', which is not one of pause, stop, log, record, capture";
}

model::Action ReadRecord(BodyReader& body) {
  model::RecordAction record;
  record.level =
      body.Choice<model::RecordLevel>("level").value_or(record.level);
  if (auto names = body.Texts("collections")) {
    record.collections = *std::move(names);
  }
  record.steps = static_cast<uint32_t>(
      body.Integer("steps", 1, kMaxRecordedSteps).value_or(record.steps));
  body.RefuseOthers();
  return record;
}

// An object with one key, the kind of the action.
std::optional<model::Action> ReadObject(BodyReader& item) {
  if (auto record = item.Object("record")) {
    const model::Action action = ReadRecord(*record);
    item.RefuseOthers();
    return action;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<model::Action>> ReadActions(BodyReader& body) {
  auto items = body.WordsOrObjects("actions");
  if (!items) return std::nullopt;
  if (items->size() > kMaxActions) {
    body.Fail("actions", "must have at most 8 actions");
    return std::nullopt;
  }
  std::vector<model::Action> actions;
  for (BodyReader::WordOrObject& item : *items) {
    auto action =
        item.object ? ReadObject(*item.object) : WithDefaults(item.word);
    if (!action) {
      body.Fail(item.place,
                WhyNot(item.object ? item.object->AnyName() : item.word));
      break;
    }
    actions.push_back(*std::move(action));
  }
  return actions;
}

Json EncodeActions(const std::vector<model::Action>& actions) {
  Json list = Json::array();
  for (const model::Action& action : actions) {
    const auto* const record = std::get_if<model::RecordAction>(&action);
    if (record == nullptr) {
      list.push_back(NameOf(action));
      continue;
    }
    list.push_back({{"record",
                     {{"level", model::ToString(record->level)},
                      {"collections", record->collections},
                      {"steps", record->steps}}}});
  }
  return list;
}

}  // namespace graphdbg::api
