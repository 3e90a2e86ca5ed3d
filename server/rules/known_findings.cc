#include "server/rules/known_findings.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/model/enum_names.h"

namespace graphdbg::rules {
namespace {

using Json = nlohmann::json;

Json OrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

std::string KeyOf(const Json& rule, const Json& rank, const Json& tensor,
                  const Json& mode, const Json& step) {
  return Json::array({rule, rank, tensor, mode, step})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

KnownFindings::KnownFindings(std::string_view lines) {
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(lines.data(), lines.size()), '\n')) {
    const Json finding = Json::parse(line.begin(), line.end(), nullptr,
                                     /*allow_exceptions=*/false);
    if (!finding.is_object()) continue;
    const auto field = [&finding](const char* name) {
      return finding.value(name, Json());
    };
    ++counts_[KeyOf(field("rule"), field("rank"), field("tensor"),
                    field("mode"), field("step"))];
  }
}

bool KnownFindings::Take(const model::Finding& finding) {
  if (counts_.empty()) return false;
  const auto known = counts_.find(
      KeyOf(finding.rule, finding.rank ? Json(*finding.rank) : Json(),
            OrNull(finding.tensor),
            finding.mode ? Json(model::ToString(*finding.mode)) : Json(),
            finding.step));
  if (known == counts_.end()) return false;
  if (--known->second == 0) counts_.erase(known);
  return true;
}

}  // namespace graphdbg::rules
