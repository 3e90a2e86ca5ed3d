// The whole server: creates all components and connects them.
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

// Call Start, Wait and the destructor on one thread.
class DebugServer {
 public:
  // `log` receives one line for each notable event, on any thread.
  DebugServer(Options options, std::function<void(std::string_view)> log);
  ~DebugServer();

  // Opens all ports. Error messages are shown to the user.
  absl::Status Start();
  // Waits for SIGINT, SIGTERM or the end of the parent process, then shuts
  // down.
  void Wait();

  // The functions below are valid after Start().

  // The address of the page, with the one-time code if one is needed.
  const std::string& url() const;
  const std::string& http_address() const;
  const std::string& debugger_address() const;
  // Empty without --mindspore-allow.
  const std::string& mindspore_address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_DEBUG_SERVER_H_
