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
constexpr size_t kMaxFindings = 1'000;

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

std::string ReadName(BodyReader& body, const char* key) {
  auto name = body.Text(key);
  if (!name || name->empty() || name->size() > kMaxNameBytes) {
    body.Fail(key, "must be a text of 1 to 200 bytes");
  }
  return std::move(name).value_or("");
}

// Without RefuseOthers, and without `when`.
model::RuleSpec ReadFields(BodyReader& body) {
  model::RuleSpec rule;
  rule.name = ReadName(body, "name");
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

// Without RefuseOthers.
model::RuleSpec ReadRule(BodyReader& body) {
  model::RuleSpec rule = ReadFields(body);
  const auto when = body.Text("when");
  if (!when) body.Fail("when", "is missing");
  rule.when = when.value_or("");
  return rule;
}

std::vector<model::RuleAction> ReadActions(BodyReader& body) {
  return Choices<model::RuleAction>(body, "actions")
      .value_or(std::vector<model::RuleAction>());
}

void ReadLiveRule(BodyReader& body, AddedRules& added) {
  if (auto python_class = body.Text("class")) {
    model::RuleSpec spec = ReadFields(body);
    added.reported.push_back(
        {{std::move(spec), ReadActions(body)}, *std::move(python_class)});
  } else {
    model::RuleSpec spec = ReadRule(body);
    added.expressions.push_back({std::move(spec), ReadActions(body)});
  }
  body.RefuseOthers();
}

model::Finding ReadFinding(BodyReader& body) {
  model::Finding finding;
  finding.rule = ReadName(body, "rule");
  if (const auto rank = body.Integer("rank", 0, UINT32_MAX)) {
    finding.rank = static_cast<uint32_t>(*rank);
  }
  finding.tensor = body.Text("tensor").value_or("");
  finding.mode = body.Choice<model::RunMode>("mode");
  finding.step = body.Integer("step", 0, INT64_MAX).value_or(0);
  finding.message = body.Text("message").value_or("");
  const Scalars values = body.ReadScalars("values");
  finding.values = values.numbers;
  for (const auto& [key, text] : values.texts) {
    body.Fail("values." + key, "must be a number");
  }
  body.RefuseOthers();
  return finding;
}

rules::RuleProgress ReadProgress(BodyReader& body) {
  rules::RuleProgress progress;
  progress.rule = ReadName(body, "name");
  progress.state = body.Choice<model::CheckState>("state").value_or(
      model::CheckState::kRunning);
  progress.observations =
      body.Integer("observations", 0, INT64_MAX).value_or(0);
  progress.unknown = body.Integer("unknown", 0, INT64_MAX).value_or(0);
  progress.error = body.Text("error").value_or("");
  body.RefuseOthers();
  return progress;
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

absl::StatusOr<RuleReports> DecodeReports(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson json, ParseObject(text));
  absl::Status status;
  BodyReader body(json, "", status);
  RuleReports reports;
  if (auto findings = body.Objects("findings")) {
    if (findings->size() > kMaxFindings) {
      body.Fail("findings", "must be at most 1000");
    }
    for (BodyReader& each : *findings) {
      reports.findings.push_back(ReadFinding(each));
    }
  }
  if (auto progress = body.Objects("rules")) {
    for (BodyReader& each : *progress) {
      reports.progress.push_back(ReadProgress(each));
    }
  }
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return reports;
}

absl::StatusOr<AddedRules> DecodeLiveRules(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson json, ParseObject(text));
  absl::Status status;
  BodyReader body(json, "", status);
  AddedRules added;
  for (BodyReader& reader : RuleReaders(body)) ReadLiveRule(reader, added);
  if (added.expressions.empty() && added.reported.empty()) {
    body.Fail("rules", "is missing");
  } else if (!added.expressions.empty() && !added.reported.empty()) {
    body.Fail("rules", "must all have a class, or none");
  }
  body.RefuseOthers();
  RETURN_IF_ERROR(status);
  return added;
}

}  // namespace graphdbg::api
