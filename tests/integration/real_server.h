// Runs the server program as users do, and uses its HTTP API as their clients
// do.
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

// Not thread safe. Every failure fails the test.
class RealServer {
 public:
  using Json = nlohmann::json;

  // Starts the server without authentication, on free ports. `more` are
  // additional arguments.
  explicit RealServer(std::filesystem::path data_dir,
                      std::vector<std::string> more = {});
  ~RealServer();

  // Sends SIGKILL, so that nothing is closed in good order.
  void Kill();
  // Shuts down in good order.
  void Stop();
  // Starts the server on the same ports and data directory.
  void StartAgain();

  pid_t pid() const { return pid_; }
  uint16_t http_port() const { return http_port_; }
  uint16_t debugger_port() const { return debugger_port_; }
  // Open with --mindspore-allow only.
  uint16_t mindspore_port() const { return mindspore_port_; }
  const std::filesystem::path& data_dir() const { return data_dir_; }

  http::testing::Reply Fetch(const std::string& method,
                             const std::string& target,
                             const std::string& body = {}) const;
  // The body of a response, which must have the status 200.
  Json Get(const std::string& target) const;
  // Repeats the request until the response passes, for at most 30 s. The
  // response may have any status; it is 404 before the job exists.
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

// Encodes `text` as a value in a URL.
std::string UrlEncoded(const std::string& text);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_REAL_SERVER_H_
