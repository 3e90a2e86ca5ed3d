// The frontend for unmodified MindSpore jobs: the service of MindSpore's own
// debugger protocol (proto/mindspore). It is registered on the port for agent
// connections and passes everything on to jobs, like server/ingest does for
// graphdbg's own protocol.
#ifndef SERVER_MINDSPORE_MINDSPORE_FRONTEND_H_
#define SERVER_MINDSPORE_MINDSPORE_FRONTEND_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/allow_list.h"
#include "server/mindspore/client_file_limits.h"

namespace grpc {
class Service;
}

namespace graphdbg::mindspore {

struct FrontendOptions {
  // Other machines that may connect. The protocol does not support
  // authentication.
  AllowList allow;
  // Decides about peers on this machine. If null, all of them may connect.
  std::function<absl::Status(std::string_view peer)> check_local;
  // Receives one line for each notable event, on any thread. May be null.
  std::function<void(std::string_view line)> log;
  // Returns Unix time. If null, the system's clock is used.
  std::function<int64_t()> now_unix_nano;
  // Returns the time of a clock that is never set, by which silent clients are
  // given up. If null, the system's steady clock is used.
  std::function<int64_t()> steady_nano;
  // The time for which a wait-for-command call is held, or longer by `sweep`.
  std::chrono::milliseconds refresh{25'000};
  // The directory for state that outlives the server, so that clients find
  // their jobs again on the next server. If empty, no state is stored.
  std::string state_dir;
  // The memory budget of the server. May be null.
  std::shared_ptr<MemoryBudget> memory;
  // Limits for the files in `state_dir`.
  ClientFileLimits state_limits;
  // Whether the server uses more disk space than it may. Files of disconnected
  // clients are then removed, the oldest first. May be null.
  std::function<bool()> disk_is_full;
  // The interval between checks for disconnected clients.
  std::chrono::milliseconds sweep{5'000};
};

class MindSporeFrontend {
 public:
  MindSporeFrontend(std::shared_ptr<jobs::AgentAcceptor> acceptor,
                    FrontendOptions options);
  // The gRPC server with which the service is registered must have stopped.
  ~MindSporeFrontend();

  MindSporeFrontend(const MindSporeFrontend&) = delete;
  MindSporeFrontend& operator=(const MindSporeFrontend&) = delete;

  grpc::Service* service();

  // Also listens on this address, for this protocol only, until destruction.
  // Returns the port; port 0 picks a free one. Call it at most once.
  // UNAVAILABLE, naming the address, if listening fails.
  absl::StatusOr<uint16_t> Listen(const std::string& host, uint16_t port);

  // Size of the stored state. May be called on any thread.
  uint64_t stored_bytes() const;

  // Stops storing state. Call it before the gRPC server stops, which must not
  // count as the end of the clients. May be called on any thread.
  void StopSaving();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_MINDSPORE_FRONTEND_H_
