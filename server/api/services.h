// What handlers work with. Everything in it outlives them.
#ifndef SERVER_API_SERVICES_H_
#define SERVER_API_SERVICES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "server/api/event_hub.h"
#include "server/auth/authenticator.h"
#include "server/http/server.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::api {

struct ServerIdentity {
  std::string version;
  // "http://127.0.0.1:8080".
  std::string http_address;
  // "127.0.0.1:50051".
  std::string debugger_address;
};

struct ApiCounters {
  // Snapshots sent to readers of events.
  std::atomic<uint64_t> snapshots{0};
  // Of whole tensors, under way.
  std::atomic<uint32_t> downloads{0};
};

struct Services {
  jobs::Directory& directory;
  auth::Authenticator& auth;
  EventHub& events;
  ApiCounters& counters;
  // Constant once requests come in.
  const ServerIdentity& identity;
  // Whether both ports are open and the server is not on its way down.
  std::function<bool()> ready;
  std::function<http::ServerCounters()> http_counters;
  std::function<int64_t()> now_unix_nano;
  // Makes a job of a model file of that name and gives its id.
  std::function<jobs::Task<std::string>(std::string name,
                                        http::NextPiece bytes)>
      open_model;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_SERVICES_H_
