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

// Filled before the server starts and constant afterwards. Find() may then be
// called on any thread.
class Router {
 public:
  // `pattern` is a path whose segments may be "{name}", for example
  // "/api/v1/jobs/{job}". Fixed segments take precedence over names.
  void Add(std::string method, std::string_view pattern, Handler handler);
  // Adds a handler that reads the request body itself, up to `max_bytes`. The
  // connection closes after the response.
  void AddUpload(std::string method, std::string_view pattern,
                 uint64_t max_bytes, Handler handler);
  // Adds a WebSocket.
  void AddChannel(std::string_view pattern, ChannelHandler handler);
  // Handles GET requests whose path matches no pattern.
  void SetFallback(Handler handler) { fallback_ = std::move(handler); }

  struct Match {
    // At most one of these is set.
    const Handler* handler = nullptr;
    const ChannelHandler* channel = nullptr;
    // Limit for the body of an upload; 0 for other routes.
    uint64_t max_upload_bytes = 0;
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
    uint64_t max_upload_bytes = 0;
  };
  void Insert(Route route);

  // Sorted by the number of {names}, so that the most specific pattern matches
  // first.
  std::vector<Route> routes_;
  Handler fallback_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ROUTER_H_
