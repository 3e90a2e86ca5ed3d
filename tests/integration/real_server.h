// The server's program as people run it, and its HTTP API as their programs
// use it.
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

// One thread. Whatever fails fails the test.
class RealServer {
 public:
  using Json = nlohmann::json;

  // Started without authentication, on ports that are free. `more` are further
  // arguments.
  explicit RealServer(std::filesystem::path data_dir,
                      std::vector<std::string> more = {});
  ~RealServer();

  // kill -9: nothing is closed in good order.
  void Kill();
  // In good order.
  void Stop();
  // On the same ports and the same data.
  void StartAgain();

  uint16_t debugger_port() const { return debugger_port_; }
  // With --mindspore-allow.
  uint16_t mindspore_port() const { return mindspore_port_; }
  const std::filesystem::path& data_dir() const { return data_dir_; }

  http::testing::Reply Fetch(const std::string& method,
                             const std::string& target,
                             const std::string& body = {}) const;
  // What it answers with 200.
  Json Get(const std::string& target) const;
  // Asks again and again until the answer passes, for 30 s. The answer may be
  // one of any status: before its job is there, it is 404.
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

// As a value in an address.
std::string UrlEncoded(const std::string& text);

}  // namespace graphdbg::integration

#endif  // TESTS_INTEGRATION_REAL_SERVER_H_
