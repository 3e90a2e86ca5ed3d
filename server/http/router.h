// Finds the handler for a method and a path.
#ifndef SERVER_HTTP_ROUTER_H_
#define SERVER_HTTP_ROUTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace graphdbg::http {

inline constexpr uint64_t kMaxBodyBytes = 1 << 20;

struct RouteOptions {
  // Exceeding it results in status 413.
  uint64_t max_body_bytes = kMaxBodyBytes;
  // Runs after the header has arrived and before any byte of the body is read.
  // May be null.
  Check check = nullptr;
};

// Filled before the server starts and constant afterwards. Find() may then be
// called on any thread.
class Router {
 public:
  // `pattern` is a path whose segments may be "{name}", for example
  // "/api/v1/jobs/{job}". Fixed segments take precedence over names.
  void Add(std::string method, std::string_view pattern, Handler handler,
           RouteOptions options = {});
  // Adds a handler that reads the request body itself. The connection closes
  // after the response.
  void AddUpload(std::string method, std::string_view pattern, Handler handler,
                 RouteOptions options);
  // Adds a WebSocket.
  void AddChannel(std::string_view pattern, ChannelHandler handler,
                  RouteOptions options = {});
  // Handles GET requests whose path matches no pattern.
  void SetFallback(Handler handler) { fallback_ = std::move(handler); }

  struct Match {
    // At most one of these is set.
    const Handler* handler = nullptr;
    const ChannelHandler* channel = nullptr;
    // Whether the handler reads the body itself.
    bool is_upload = false;
    // Null for a path without a route.
    const RouteOptions* options = nullptr;
    std::map<std::string, std::string> params;
    // The methods that the path supports, if it does not support this one.
    std::vector<std::string> allow;
  };
  // HEAD matches the handler for GET.
  Match Find(std::string_view method, std::string_view path) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    Handler handler;
    ChannelHandler channel;
    RouteOptions options;
    bool is_upload = false;
  };
  void Insert(Route route);

  // Sorted by the number of {names}, so that the most specific pattern matches
  // first.
  std::vector<Route> routes_;
  Handler fallback_;
  RouteOptions fallback_options_{.max_body_bytes = 4 << 10};
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ROUTER_H_
