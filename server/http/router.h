// Which handler answers a method and a path.
#ifndef SERVER_HTTP_ROUTER_H_
#define SERVER_HTTP_ROUTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"

namespace graphdbg::http {

// Filled before the server starts, constant afterwards: safe from any thread.
class Router {
 public:
  // `pattern` is a path whose segments may be "{name}", as
  // "/api/v1/jobs/{job}". A fixed segment wins over a name.
  void Add(std::string method, std::string_view pattern, Handler handler);
  // One that reads its body itself, of at most so many bytes; the connection
  // ends after its answer.
  void AddUpload(std::string method, std::string_view pattern,
                 uint64_t max_bytes, Handler handler);
  // A WebSocket.
  void AddChannel(std::string_view pattern, ChannelHandler handler);
  // Answers GET where no pattern matches.
  void SetFallback(Handler handler) { fallback_ = std::move(handler); }

  struct Match {
    // At most one of these is set.
    const Handler* handler = nullptr;
    const ChannelHandler* channel = nullptr;
    // Of an upload's body; 0: it is none.
    uint64_t max_upload_bytes = 0;
    std::map<std::string, std::string> params;
    // The methods of the path, if the path is known and the method is not.
    std::vector<std::string> allow;
  };
  // HEAD finds the handler of GET.
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

  // More fixed segments first.
  std::vector<Route> routes_;
  Handler fallback_;
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_ROUTER_H_
