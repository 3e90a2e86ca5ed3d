// Reads rules of requests.
#ifndef SERVER_API_DECODE_RULES_H_
#define SERVER_API_DECODE_RULES_H_

#include <vector>

#include "server/api/body_reader.h"
#include "server/model/rules.h"

namespace graphdbg::api {

// Reads the field "rules"; empty if it is absent. An empty list is an error.
std::vector<model::RuleSpec> ReadRules(BodyReader& body);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_RULES_H_
