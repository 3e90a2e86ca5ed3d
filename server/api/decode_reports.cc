#include "server/api/decode_reports.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/conditions/advice.h"
#include "proto/wire/status_macros.h"
#include "server/api/body_reader.h"
#include "server/api/decode_rules.h"

namespace graphdbg::api {
namespace {

constexpr size_t kMaxFindings = 1000;

// The advice of the rule's class; null if it has none.
std::shared_ptr<const conditions::Advice> ReadAdvice(BodyReader& body) {
  auto reader = body.Object("advice");
  if (!reader) return nullptr;
  auto advice = std::make_shared<conditions::Advice>();
  advice->causes = reader->Texts("causes").value_or(std::vector<std::string>());
  advice->next = reader->Texts("next").value_or(std::vector<std::string>());
  reader->RefuseOthers();
  return advice;
}

model::Finding ReadFinding(BodyReader& body) {
  model::Finding finding;
  finding.rule = ReadRuleName(body, "rule");
  if (const auto rank = body.Integer("rank", 0, UINT32_MAX)) {
    finding.rank = static_cast<uint32_t>(*rank);
  }
  finding.tensor = body.Text("tensor").value_or("");
  finding.mode = body.Choice<model::RunMode>("mode");
  finding.step = body.Integer("step", 0, INT64_MAX).value_or(0);
  finding.message = body.Text("message").value_or("");
  finding.advice = ReadAdvice(body);
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
  progress.rule = ReadRuleName(body, "name");
  progress.state = body.Choice<model::CheckState>("state").value_or(
      model::CheckState::kRunning);
  progress.observations =
      body.Integer("observations", 0, INT64_MAX).value_or(0);
  progress.unknown = body.Integer("unknown", 0, INT64_MAX).value_or(0);
  progress.error = body.Text("error").value_or("");
  body.RefuseOthers();
  return progress;
}

}  // namespace

absl::StatusOr<RuleReports> DecodeReports(std::string_view text) {
  ASSIGN_OR_RETURN(const ReceivedJson json, ParseObject(text));
  absl::Status status;
  BodyReader body(json, "", status);
  RuleReports reports;
  if (auto findings = body.Objects("findings")) {
    if (findings->size() > kMaxFindings) {
      body.Fail("findings", "must have at most 1000 findings");
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

}  // namespace graphdbg::api
