// Reads rules of requests.
#ifndef SERVER_API_DECODE_RULES_H_
#define SERVER_API_DECODE_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/api/body_reader.h"
#include "server/model/rules.h"
#include "server/rules/reported_rule.h"

namespace graphdbg::api {

// Reads the name of a rule from this field, which is required.
std::string ReadRuleName(BodyReader& body, const char* field);

// Reads the field "rules"; empty if it is absent. An empty list is an error.
std::vector<model::RuleSpec> ReadRules(BodyReader& body);

// The body of POST /jobs/{job}/rules: rules of one kind.
struct AddedRules {
  // Expressions.
  std::vector<model::LiveRule> expressions;
  // Classes, which the caller evaluates.
  std::vector<rules::ReportedRule> reported;
};
absl::StatusOr<AddedRules> DecodeLiveRules(std::string_view text);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_RULES_H_
