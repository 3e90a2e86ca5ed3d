// The table of all routes, and the dispatcher that calls their handlers.
#ifndef SERVER_API_ROUTES_H_
#define SERVER_API_ROUTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/api/handlers.h"
#include "server/api/services.h"
#include "server/http/router.h"

namespace graphdbg::api {

enum class Access { kOpen, kToken };

// The WebSocket for events, which checks the token itself.
struct EventSocket {};

struct Route {
  bool is_event_socket() const {
    return std::holds_alternative<EventSocket>(operation);
  }

  std::string_view method;
  // The complete path, for example "/api/v1/jobs/{job}".
  std::string path;
  Access access = Access::kToken;
  // The parameters that the query may contain.
  std::vector<std::string_view> query;
  // A JobOperation requires "{job}" in the path.
  std::variant<EventSocket, Operation, JobOperation> operation;
  // Limit for a body that the operation reads piece by piece; 0 if it does not.
  uint64_t max_upload_bytes = 0;
};

const std::vector<Route>& Routes();

// `services` must outlive the router.
void AddRoutes(const Services& services, http::Router& router);

}  // namespace graphdbg::api

#endif  // SERVER_API_ROUTES_H_
