// All rooms of the server, wired.
#ifndef SERVER_MAIN_DEBUG_SERVER_H_
#define SERVER_MAIN_DEBUG_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/main/options.h"

namespace graphdbg {

// Start, Wait and the destructor belong to one thread.
class DebugServer {
 public:
  // `log` gets one line for each notable event, on any thread.
  DebugServer(Options options, std::function<void(std::string_view)> log);
  ~DebugServer();

  // Opens both ports. Errors are lines for the user.
  absl::Status Start();
  // Until SIGINT, SIGTERM or the end of the parent; then closes down.
  void Wait();

  // After Start. With the one-time code, if one is needed.
  const std::string& url() const;
  const std::string& http_address() const;
  const std::string& debugger_address() const;
  // Empty if there is none (--mindspore-allow).
  const std::string& mindspore_address() const;

 private:
  class Rooms;
  std::unique_ptr<Rooms> rooms_;
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_DEBUG_SERVER_H_
