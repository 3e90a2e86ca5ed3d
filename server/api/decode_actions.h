// The actions of watchpoints and rules as JSON.
#ifndef SERVER_API_DECODE_ACTIONS_H_
#define SERVER_API_DECODE_ACTIONS_H_

#include <optional>
#include <vector>

#include "server/api/body_reader.h"
#include "server/api/json.h"
#include "server/model/action.h"

namespace graphdbg::api {

// Reads the field "actions"; absent if the request has none.
std::optional<std::vector<model::Action>> ReadActions(BodyReader& body);

// The JSON that ReadActions reads.
Json EncodeActions(const std::vector<model::Action>& actions);

}  // namespace graphdbg::api

#endif  // SERVER_API_DECODE_ACTIONS_H_
