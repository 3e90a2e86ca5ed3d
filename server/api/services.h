// The services that handlers use. All of them outlive the handlers.
#ifndef SERVER_API_SERVICES_H_
#define SERVER_API_SERVICES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/api/event_buffer.h"
#include "server/audit/audit_log.h"
#include "server/auth/authenticator.h"
#include "server/base/memory_budget.h"
#include "server/http/server.h"
#include "server/jobs/interfaces.h"
#include "server/jobs/runs.h"
#include "server/model/storage.h"
#include "server/rules/live_rules.h"

namespace graphdbg::api {

struct ServerIdentity {
  std::string version;
  // "http://127.0.0.1:8080".
  std::string http_address;
  // "127.0.0.1:50051".
  std::string debugger_address;
};

struct ApiCounters {
  // Snapshots sent on event streams.
  std::atomic<uint64_t> snapshots{0};
  // Tensor downloads in progress.
  std::atomic<uint32_t> downloads{0};
};

// How a command of the program `graphdbg` has ended.
struct CommandEnd {
  int exit_code = 0;
  std::string output;
  std::string errors;
};

struct Services {
  jobs::Directory& directory;
  auth::Authenticator& auth;
  audit::AuditLog& audit;
  EventBuffer& events;
  ApiCounters& counters;
  // Constant before the first request arrives.
  const ServerIdentity& identity;
  // Whether both ports are open and the server is not shutting down.
  std::function<bool()> ready;
  // Whether the server can store what happens.
  std::function<model::Storage()> storage;
  std::function<http::ServerCounters()> http_counters;
  std::function<int64_t()> now_unix_nano;
  // Creates a job that shows the model file `name`, which `person` opens, and
  // returns the job's id.
  std::function<jobs::Task<std::string>(std::string name, std::string person,
                                        http::NextPiece bytes)>
      open_model;
  // Runs `graphdbg ARGUMENTS` as the server's user. Absent if this server does
  // not attach to the trainings of its machine.
  std::function<jobs::Task<CommandEnd>(std::vector<std::string> arguments)>
      run_command = nullptr;
  // Null if the server has no recorded runs.
  jobs::RunDirectory* runs = nullptr;
  // Null if there are no recorded runs.
  rules::LiveRules* rules = nullptr;
  // Null if memory is not limited.
  std::shared_ptr<MemoryBudget> memory = nullptr;
};

}  // namespace graphdbg::api

#endif  // SERVER_API_SERVICES_H_
