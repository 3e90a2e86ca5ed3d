// Reads a client's reports about the rules that it evaluates.
#ifndef SERVER_API_DECODE_REPORTS_H_
#define SERVER_API_DECODE_REPORTS_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/model/rules.h"
#include "server/rules/reported_rule.h"

namespace graphdbg::api {

// The body of POST /jobs/{job}/findings.
struct RuleReports {
  std::vector<model::Finding> findings;
  std::vector<rules::RuleProgress> progress;
};
absl::StatusOr<RuleReports> DecodeReports(std::string_view text);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_REPORTS_H_
