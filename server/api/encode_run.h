// JSON of answers about recorded runs.
#ifndef SERVER_API_ENCODE_RUN_H_
#define SERVER_API_ENCODE_RUN_H_

#include <string>
#include <vector>

#include "server/api/json.h"
#include "server/model/divergence.h"
#include "server/model/recording.h"
#include "server/model/run.h"
#include "server/rules/reported_rule.h"

namespace graphdbg::api {

Json Encode(const model::Run& run);
Json Encode(const model::StepPage& page);
Json Encode(const model::Collection& collection);
Json Encode(const model::RunHistory& history);
Json Encode(const model::CheckReport& report);
Json Encode(const model::Divergence& divergence);
Json Encode(const model::JobRecording& recording);
Json Encode(const model::Finding& finding);
Json Encode(const std::vector<rules::ListedRule>& rules);
// The text that DecodeLiveRules reads.
std::string EncodeRules(const std::vector<model::LiveRule>& rules);

}  // namespace graphdbg::api

#endif  // SERVER_API_ENCODE_RUN_H_
