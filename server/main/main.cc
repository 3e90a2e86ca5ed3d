// graphdbg_server: the debugger server. `graphdbg start` and `graphdbg run`
// start it.
//
// Exit codes: 0 stopped, 2 wrong usage, 3 it could not start.
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/main/debug_server.h"
#include "server/main/options.h"

namespace {

constexpr int kWrongUsage = 2;
constexpr int kNoServer = 3;

// In one piece, so that lines of several threads do not mix.
void Say(const std::string& line) { std::cerr << "graphdbg: " + line + "\n"; }

void Log(std::string_view line) {
  Say(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ ",
                       absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())),
                       absl::UTCTimeZone()) +
      std::string(line));
}

void PrintAddresses(const graphdbg::Options& options,
                    const graphdbg::DebugServer& server) {
  if (options.json) {
    nlohmann::ordered_json addresses = {
        {"url", server.url()},
        {"http_address", server.http_address()},
        {"debugger_address", server.debugger_address()},
        {"data_dir", options.data_dir}};
    if (!server.mindspore_address().empty()) {
      addresses["mindspore_address"] = server.mindspore_address();
    }
    std::cout << addresses.dump(
                     -1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
    return;
  }
  std::cout << "page:     " << server.url() << "\n"
            << "debugger: " << server.debugger_address() << "\n";
  if (!server.mindspore_address().empty()) {
    std::cout << "mindspore: " << server.mindspore_address() << "\n";
  }
  if (options.auth) {
    std::cout << "token:    in " << options.data_dir << "/token\n";
  }
  std::cout << "Ctrl-C stops the server; jobs go on without it." << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  // A pipe that nobody reads is no reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  auto options = graphdbg::ParseOptions(argc, argv);
  if (!options.ok()) {
    Say(std::string(options.status().message()));
    return kWrongUsage;
  }
  if (!options->has_value()) return 0;
  graphdbg::DebugServer server(**options, Log);
  absl::Status started = server.Start();
  if (!started.ok()) {
    Say(std::string(started.message()));
    return kNoServer;
  }
  PrintAddresses(**options, server);
  server.Wait();
  return 0;
}
