// The server as users run it, and its HTTP API as their programs use it.
#ifndef TESTS_INTEGRATION_REAL_SERVER_H_
#define TESTS_INTEGRATION_REAL_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/http/testing/client.h"

namespace graphdbg::integration {

// A server process. Every error fails the test. Not thread-safe.
class RealServer {
 public:
  using Json = nlohmann::json;

  // Starts the server without authentication on free ports. `more` are further
  // arguments.
  explicit RealServer(std::filesystem::path data_dir,
                      std::vector<std::string> more = {});
  ~RealServer();

  // Kills the server with SIGKILL, without an orderly shutdown.
  void Kill();
  // Shuts the server down in an orderly way.
  void Stop();
  // Restarts the server with the same ports and data directory.
  void StartAgain();

  uint16_t debugger_port() const { return debugger_port_; }
  // With --mindspore-allow.
  uint16_t mindspore_port() const { return mindspore_port_; }
  const std::filesystem::path& data_dir() const { return data_dir_; }

  http::testing::Reply Fetch(const std::string& method,
                             const std::string& target,
                             const std::string& body = {}) const;
  // The response, whose status must be 200.
  Json Get(const std::string& target) const;
  // Repeats the request for up to 30 s until the response passes. The response
  // may have any status, such as 404 before the job exists.
  Json GetUntil(const std::string& target,
                const std::function<bool(const Json&)>& passes) const;

 private:
  void End(int signal);

  const std::filesystem::path data_dir_;
  const std::vector<std::string> more_;
  uint16_t http_port_ = 0;
  uint16_t debugger_port_ = 0;
  uint16_t mindspore_port_ = 0;
  pid_t pid_ = -1;
};

// Encodes a text as a value in a URL.
std::string UrlEncoded(const std::string& text);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_REAL_SERVER_H_
