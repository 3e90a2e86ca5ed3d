// Where MindSpore's training processes come in, unchanged: the service of their
// own debugger's wire (proto/mindspore), to be registered on the port that
// agents dial. Decodes, and hands everything to the session as graphdbg's own
// wire does.
#ifndef SERVER_MINDSPORE_MINDSPORE_FRONT_H_
#define SERVER_MINDSPORE_MINDSPORE_FRONT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/agent_port.h"
#include "server/mindspore/allow_list.h"

namespace grpc {
class Service;
}

namespace graphdbg::mindspore {

struct FrontOptions {
  // Who may come beside this machine. The wire has no means to authenticate.
  AllowList allow;
  // One line for each notable event. Any thread; empty: no log.
  std::function<void(std::string_view line)> log;
  // Unix time; empty: the system's clock.
  std::function<int64_t()> now_unix_nano;
  // How long a client is kept waiting before it is told to ask again.
  std::chrono::milliseconds refresh{25'000};
  // A directory in which it is kept what has to outlive the server, so that
  // clients find their jobs again at the next one. Empty: nothing is kept.
  std::string state_dir;
  // How often it is looked for clients that are gone.
  std::chrono::milliseconds sweep{5'000};
};

class MindSporeFront {
 public:
  MindSporeFront(std::shared_ptr<jobs::AgentAcceptor> entrance,
                 FrontOptions options);
  // After the gRPC server that has the service has ended, if there is one.
  ~MindSporeFront();

  MindSporeFront(const MindSporeFront&) = delete;
  MindSporeFront& operator=(const MindSporeFront&) = delete;

  grpc::Service* service();

  // Listens there too, for this wire alone, and returns the port, which is a
  // free one for port 0. Once, until the destructor. UNAVAILABLE, naming the
  // address, if it is in use or not ours.
  absl::StatusOr<uint16_t> Listen(const std::string& host, uint16_t port);

  // What happens from now on is not kept. Before the server that has the
  // service ends, which is no end of the clients. Any thread.
  void StopKeeping();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_MINDSPORE_FRONT_H_
