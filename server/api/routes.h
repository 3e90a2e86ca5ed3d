// The table of all routes, and how a request comes to its handler.
#ifndef SERVER_API_ROUTES_H_
#define SERVER_API_ROUTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/handlers.h"
#include "server/api/services.h"
#include "server/http/router.h"

namespace graphdbg::api {

enum class Access { kOpen, kToken };

struct Route {
  std::string_view method;
  // With the base, "/api/v1/jobs/{job}".
  std::string path;
  Access access = Access::kToken;
  // Names that the query may have.
  std::vector<std::string_view> query;
  // Null: the WebSocket of events, which asks for the token itself.
  Operation operation = nullptr;
  // Of a body that the operation reads piece by piece; 0: it does not.
  uint64_t max_upload_bytes = 0;
};

const std::vector<Route>& Routes();

// `services` outlives the router.
void AddRoutes(const Services& services, http::Router& router);

}  // namespace graphdbg::api

#endif  // SERVER_API_ROUTES_H_
