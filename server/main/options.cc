#include "server/main/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <regex>

#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/main/version.h"

namespace graphdbg {
namespace {

// Any client that reaches the server can read the tensors of its jobs and
// control them, so other machines need TLS and a token.
absl::Status CheckHost(Options& options) {
  const bool tls = !options.tls_certificate.empty();
  if (tls != !options.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-cert and --tls-key must be used together");
  }
  if (!options.tls_client_authority.empty() && !tls) {
    return absl::InvalidArgumentError(
        "--tls-client-ca requires --tls-cert and --tls-key");
  }
  if (!auth::IsLoopbackName(options.host)) {
    const std::string prefix =
        "--host " + options.host + ": remote access requires ";
    if (!tls) {
      return absl::InvalidArgumentError(
          prefix +
          "TLS; set --tls-cert and --tls-key, or listen on 127.0.0.1 and use "
          "'ssh -L'");
    }
    if (!options.auth) {
      return absl::InvalidArgumentError(prefix +
                                        "authentication; remove --no-auth");
    }
    return absl::OkStatus();
  }
  if (options.host.find_first_of(".:") == std::string::npos) {
    options.host = "127.0.0.1";
  }
  return absl::OkStatus();
}

// The origins become part of a header.
absl::Status CheckFrameAncestors(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    static const std::regex kOrigin(
        R"(https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?)");
    if (!std::regex_match(origin, kOrigin)) {
      return absl::InvalidArgumentError(
          "--frame-ancestors: '" + origin +
          "' is not an origin such as http://localhost:8888");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Options>> ParseOptions(int argc,
                                                    const char* const* argv) {
  Options options;
  CLI::App app("The debugger server of graphdbg.", "graphdbg_server");
  // Scripts set defaults, which users override by repeating the flag.
  app.option_defaults()->take_last();
  app.set_version_flag("--version", kVersion);
  app.add_option("--host", options.host, "address to listen on")
      ->capture_default_str();
  app.add_option("--port", options.port,
                 "port for the page and the HTTP API; 0 picks a free one")
      ->capture_default_str();
  app.add_option("--debugger-port", options.debugger_port,
                 "port for agent connections; 0 picks a free one")
      ->capture_default_str();
  app.add_option("--debugger-socket", options.debugger_socket,
                 "path of a Unix socket on which the server also listens for "
                 "agents of the same user; its directory must have mode 0700");
  app.add_option("--data-dir", options.data_dir,
                 "where tokens and jobs are stored [$XDG_DATA_HOME/graphdbg or "
                 "~/.local/share/graphdbg]");
  app.add_option("--runs", options.runs,
                 "directory of recorded runs, or a single one, to show beside "
                 "the jobs; may be repeated")
      ->take_all();
  app.add_option("--attach-program", options.attach_program,
                 "path of graphdbg, with which administrators attach to "
                 "trainings of the server's user from the page; without it, "
                 "or with --no-auth, they cannot");
  const std::string oldest =
      "; when exceeded, the oldest ended jobs are deleted";
  app.add_option("--max-disk", options.max_disk_bytes,
                 "disk space for jobs, for example 10GiB" + oldest)
      ->transform(CLI::AsSizeValue(false))
      ->default_str("10GiB");
  app.add_option("--max-memory", options.max_memory_bytes,
                 "memory of the server, for example 4GiB; shortly before it is "
                 "reached, the oldest ended jobs are deleted, then new jobs "
                 "and large requests are refused")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4GiB");
  app.add_option("--max-jobs", options.max_jobs, "number of jobs" + oldest)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-age", options.max_age_days,
                 "days after which ended jobs are deleted; 0: never")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  std::string mindspore_allow;
  CLI::Option* allow = app.add_option(
      "--mindspore-allow", mindspore_allow,
      "addresses and networks whose MindSpore jobs may connect, for example "
      "10.1.0.0/16,192.168.7.5; these connections are neither authenticated "
      "nor encrypted");
  app.add_option("--mindspore-port", options.mindspore_port,
                 "port for MindSpore jobs on other machines, on all addresses; "
                 "0 picks a free one")
      ->needs(allow)
      ->capture_default_str();
  app.add_option("--tls-cert", options.tls_certificate,
                 "PEM file with the certificate for remote access; agents then "
                 "need GRAPHDBG_TLS_CA");
  app.add_option("--tls-key", options.tls_key,
                 "PEM file with the key of the certificate");
  app.add_option("--tls-client-ca", options.tls_client_authority,
                 "PEM file with a certificate authority; browsers and agents "
                 "must then present a certificate from it, besides their "
                 "token");
  app.add_option(
         "--forwarded-port", options.forwarded_ports,
         "ports at which tunnels or proxies make the page available, if "
         "not at the one of --port, for example 9000,9001")
      ->delimiter(',')
      ->take_all();
  app.add_option("--frame-ancestors", options.frame_ancestors,
                 "origins of pages, such as those of a notebook server, that "
                 "may show the page in a frame, for example "
                 "http://localhost:8888")
      ->delimiter(',')
      ->take_all();
  bool no_auth = false;
  app.add_flag("--no-auth", no_auth,
               "disable authentication; allowed on loopback only");
  app.add_flag("--json", options.json,
               "print the addresses as one line of JSON");
  std::string enable_debugger = "True";
  app.add_option("--enable-debugger", enable_debugger,
                 "accepted for compatibility")
      ->check(CLI::IsMember({"True", "true", "1"}));
  pid_t parent = 0;
  app.add_option("--parent-pid", parent, "stop when this process ends")
      ->check(CLI::PositiveNumber);
  app.add_flag("--temporary-data-dir", options.temporary_data_dir,
               "remove the data directory when that process ends");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    app.exit(done);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (allow->count() > 0) {
    auto list = mindspore::AllowList::Parse(mindspore_allow);
    if (!list.ok()) {
      return absl::InvalidArgumentError("--mindspore-allow: " +
                                        std::string(list.status().message()));
    }
    options.mindspore_allow = *std::move(list);
  }
  options.auth = !no_auth;
  RETURN_IF_ERROR(CheckHost(options));
  RETURN_IF_ERROR(CheckFrameAncestors(options.frame_ancestors));
  if (options.data_dir.empty()) options.data_dir = DefaultDataDir();
  if (options.data_dir.empty()) {
    return absl::InvalidArgumentError(
        "cannot determine the data directory because neither HOME nor "
        "XDG_DATA_HOME is set; set --data-dir");
  }
  if (parent > 0) options.parent = parent;
  return options;
}

std::string DefaultDataDir() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') {
    return std::string(data) + "/graphdbg";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return std::string(home) + "/.local/share/graphdbg";
}

}  // namespace graphdbg
