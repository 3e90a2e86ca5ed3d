// Counts responses in the server's memory budget until they have been sent.
#ifndef SERVER_API_RESPONSE_MEMORY_H_
#define SERVER_API_RESPONSE_MEMORY_H_

#include "absl/status/status.h"
#include "server/api/services.h"
#include "server/http/message.h"

namespace graphdbg::api {

// Reserves the memory of a large body, which stays in use for as long as the
// client takes to read it. RESOURCE_EXHAUSTED "out_of_memory_budget".
absl::Status ReserveBody(const Services& services, http::Response& response);

}  // namespace graphdbg::api

#endif  // SERVER_API_RESPONSE_MEMORY_H_
