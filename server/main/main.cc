// graphdbg_server: the debugger server, which `graphdbg start` and
// `graphdbg run` start, and, as `graphdbg_server relay`, the relay of a host.
//
// Exit codes: 0 after a regular stop, 2 for wrong usage, 3 if the server cannot
// start.
#include <malloc.h>

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/wire/visible_text.h"
#include "server/base/string_views.h"
#include "server/main/debug_server.h"
#include "server/main/options.h"
#include "server/main/process_limits.h"
#include "server/main/relay_command.h"

namespace {

constexpr int kWrongUsage = 2;
constexpr int kNoServer = 3;

// Writes the line at once, so that lines from several threads do not mix.
void LogToStderr(const std::string& line) {
  // A log on a disk that was full continues when there is room again.
  std::cerr.clear();
  std::cerr << "graphdbg: " + line + "\n";
}

void LogWithTime(std::string_view line) {
  LogToStderr(
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ ",
                       absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now())),
                       absl::UTCTimeZone()) +
      graphdbg::wire::VisibleText(graphdbg::ToAbsl(line)));
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
    std::cout << "token:    in " << options.data_dir << "/token\n"
              << "The page's address works once and for 60 seconds; 'graphdbg "
                 "url' prints a new one.\n";
  }
  std::cout << "Press Ctrl-C to stop the server; jobs continue without it."
            << std::endl;
}

// Large blocks go back to the system as soon as they are freed. By default,
// malloc raises these limits whenever it frees a larger block, and then each
// thread's heap keeps up to 64 MiB, which count as used by the server.
void ReturnLargeBlocks() {
  constexpr int kLargeBytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kLargeBytes);
}

// Abseil, as Debian builds it, remembers in which order locks are taken, and
// aborts if two orders might deadlock some day. Tests want that; a server with
// jobs in it wants neither the abort nor the time it takes at each lock.
void ForgetOrderOfLocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

int Relay(int argc, const char* const* argv) {
  const absl::Status ended = graphdbg::RunRelay(argc, argv, LogWithTime);
  if (ended.ok()) return 0;
  LogToStderr(std::string(ended.message()));
  return absl::IsInvalidArgument(ended) ? kWrongUsage : kNoServer;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe must not terminate the server, nor a limit on the size of
  // files, which counts as a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  ReturnLargeBlocks();
  ForgetOrderOfLocks();
  if (argc > 1 && std::string_view(argv[1]) == "relay") {
    graphdbg::RaiseDescriptorLimit();
    graphdbg::AvoidCoreDumps();
    return Relay(argc - 1, argv + 1);
  }
  auto options = graphdbg::ParseOptions(argc, argv);
  if (!options.ok()) {
    LogToStderr(std::string(options.status().message()));
    return kWrongUsage;
  }
  if (!options->has_value()) return 0;
  (*options)->max_descriptors = graphdbg::RaiseDescriptorLimit();
  graphdbg::AvoidCoreDumps();
  graphdbg::DebugServer server(**options, LogWithTime);
  if (absl::Status started = server.Start(); !started.ok()) {
    LogToStderr(std::string(started.message()));
    return kNoServer;
  }
  PrintAddresses(**options, server);
  server.Wait();
  return 0;
}
