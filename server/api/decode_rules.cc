#include "server/api/decode_rules.h"

#include <optional>
#include <string>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

// A check takes no more: see runs/rule_selection.h.
constexpr size_t kMaxRules = 64;
constexpr size_t kMaxNameBytes = 200;
constexpr uint64_t kMaxObservations = 1'000'000'000;

template <class Enum>
std::optional<std::vector<Enum>> Choices(BodyReader& body, const char* name) {
  const auto words = body.Texts(name);
  if (!words) return std::nullopt;
  std::vector<Enum> values;
  for (const std::string& word : *words) {
    const auto value = model::Parse<Enum>(word);
    if (!value) {
      body.Fail(name + ("[" + std::to_string(values.size()) + "]"),
                "'" + word + "' is none of " + model::AllNames<Enum>());
      break;
    }
    values.push_back(*value);
  }
  return values;
}

model::RuleSelection ReadSelection(BodyReader& body) {
  model::RuleSelection selection;
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"collections", &selection.collections},
      {"include", &selection.include},
      {"exclude", &selection.exclude},
      {"op_types", &selection.op_types},
      {"nodes", &selection.nodes},
      {"scopes", &selection.scopes},
      {"patterns", &selection.patterns}};
  for (const auto& [name, list] : lists) {
    if (auto texts = body.Texts(name)) *list = std::move(*texts);
  }
  if (auto chosen = Choices<model::Category>(body, "categories")) {
    selection.categories = std::move(*chosen);
  }
  body.RefuseOthers();
  return selection;
}

// Without RefuseOthers.
model::RuleSpec ReadRule(BodyReader& body) {
  model::RuleSpec rule;
  const auto name = body.Text("name");
  if (!name || name->empty() || name->size() > kMaxNameBytes) {
    body.Fail("name", "must be a text of 1 to 200 bytes");
  }
  const auto when = body.Text("when");
  if (!when) body.Fail("when", "is missing");
  rule.name = name.value_or("");
  rule.when = when.value_or("");
  if (auto select = body.Object("select")) {
    rule.selection = ReadSelection(*select);
  }
  if (auto series = Choices<model::SeriesPart>(body, "series")) {
    rule.series = std::move(*series);
  }
  const Scalars reduce = body.ReadScalars("reduce");
  for (const auto& [key, number] : reduce.numbers) {
    body.Fail("reduce." + key, "must be a text such as max(l2)");
  }
  rule.reduce.assign(reduce.texts.begin(), reduce.texts.end());
  rule.hold = static_cast<uint32_t>(
      body.Integer("for", 1, kMaxObservations).value_or(1));
  rule.cool_down = static_cast<uint32_t>(
      body.Integer("cool_down", 0, kMaxObservations).value_or(rule.cool_down));
  return rule;
}

model::LiveRule ReadLiveRule(BodyReader& body) {
  model::LiveRule rule;
  rule.spec = ReadRule(body);
  if (auto actions = Choices<model::RuleAction>(body, "actions")) {
    rule.actions = std::move(*actions);
  }
  body.RefuseOthers();
  return rule;
}

// Readers of the rules; empty if there are none, or an error.
std::vector<BodyReader> RuleReaders(BodyReader& body) {
  auto readers = body.Objects("rules");
  if (!readers) return {};
  if (readers->empty() || readers->size() > kMaxRules) {
    body.Fail("rules", "must be a list of 1 to 64 rules");
    return {};
  }
  return *std::move(readers);
}

}  // namespace

std::vector<model::RuleSpec> ReadRules(BodyReader& body) {
  std::vector<model::RuleSpec> rules;
  for (BodyReader& reader : RuleReaders(body)) {
    rules.push_back(ReadRule(reader));
    reader.RefuseOthers();
  }
  return rules;
}

absl::StatusOr<std::vector<model::LiveRule>> DecodeLiveRules(
    std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson json, ParseObject(text));
  absl::Status status;
  BodyReader body(json, "", status);
  std::vector<model::LiveRule> rules;
  for (BodyReader& reader : RuleReaders(body)) {
    rules.push_back(ReadLiveRule(reader));
  }
  if (rules.empty()) body.Fail("rules", "is missing");
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return rules;
}

}  // namespace graphdbg::api
