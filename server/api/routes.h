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

// The role that a route requires; kOpen requires not even a token.
enum class Access { kOpen, kView, kControl, kAdmin };

// How an operation gets the body of its request.
struct Body {
  uint64_t max_bytes = 0;
  // The operation reads the body piece by piece.
  bool in_pieces = false;
};

inline constexpr Body kSmallBody{4 << 10};
// For bodies that contain names of nodes or expressions.
inline constexpr Body kLargeBody{http::kMaxBodyBytes};
inline constexpr Body kModelBody{uint64_t{1} << 30, true};

// The WebSocket for events, which also accepts a token in its first message.
struct EventSocket {};

struct Route {
  bool is_event_socket() const {
    return std::holds_alternative<EventSocket>(operation);
  }

  std::string_view method;
  // The complete path, for example "/api/v1/jobs/{job}".
  std::string path;
  Access access = Access::kAdmin;
  // The parameters that the query may contain.
  std::vector<std::string_view> query;
  // A JobOperation requires "{job}" or "{run}" in the path, a RunOperation
  // "{run}".
  std::variant<EventSocket, Operation, JobOperation, RunOperation> operation;
  Body body = kSmallBody;
};

const std::vector<Route>& Routes();

// `services` must outlive the router.
void AddRoutes(const Services& services, http::Router& router);

}  // namespace graphdbg::api

#endif  // SERVER_API_ROUTES_H_
