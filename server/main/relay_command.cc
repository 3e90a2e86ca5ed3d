#include "server/main/relay_command.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/ingest/address.h"
#include "server/main/version.h"
#include "server/relay/relay_server.h"

namespace graphdbg {
namespace {

struct RelayFlags {
  std::string upstream;
  std::string host = "127.0.0.1";
  uint16_t port = 50051;
  std::string upstream_authority;
  std::string upstream_certificate;
  std::string upstream_key;
  std::string certificate;
  std::string key;
  bool json = false;
};

// Absent after --help and --version.
absl::StatusOr<std::optional<RelayFlags>> ParseFlags(int argc,
                                                     const char* const* argv) {
  RelayFlags flags;
  CLI::App app(
      "Stands for a debugger server on this host, and passes the streams of "
      "its ranks on to it.",
      "graphdbg relay");
  app.option_defaults()->take_last();
  app.set_version_flag("--version", kVersion);
  app.add_option("--upstream", flags.upstream,
                 "the server's address for agents, HOST:PORT")
      ->required();
  app.add_option("--host", flags.host, "address to listen on")
      ->capture_default_str();
  app.add_option("--debugger-port", flags.port,
                 "port for this host's ranks; 0 picks a free one")
      ->capture_default_str();
  app.add_option("--upstream-tls-ca", flags.upstream_authority,
                 "PEM file with the authority of the server's certificate");
  app.add_option("--upstream-tls-cert", flags.upstream_certificate,
                 "PEM file with the certificate to present to the server");
  app.add_option("--upstream-tls-key", flags.upstream_key,
                 "PEM file with that certificate's key");
  app.add_option("--tls-cert", flags.certificate,
                 "PEM file with the certificate for ranks on other hosts, "
                 "which then need GRAPHDBG_TLS_CA");
  app.add_option("--tls-key", flags.key,
                 "PEM file with the key of the certificate");
  app.add_flag("--json", flags.json, "print the addresses as a line of JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    app.exit(done);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return flags;
}

// The host of "HOST:PORT", without the brackets of an IPv6 address.
absl::StatusOr<std::string> HostOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port == 0 ||
      port > 65'535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--upstream: '", address,
                     "' is not HOST:PORT, such as debug.example:50051"));
  }
  return ingest::WithoutBrackets(address.substr(0, colon));
}

absl::StatusOr<std::string> Contents(const std::string& option,
                                     const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": cannot read ", file));
  }
  return text;
}

// Tokens and tensors cross both connections, so other machines need TLS.
absl::StatusOr<relay::RelayOptions> CheckedOptions(const RelayFlags& flags) {
  relay::RelayOptions options;
  options.upstream = flags.upstream;
  ASSIGN_OR_RETURN(const std::string upstream_host, HostOf(flags.upstream));
  if (!flags.upstream_authority.empty()) {
    relay::UpstreamTls tls;
    ASSIGN_OR_RETURN(tls.authority,
                     Contents("--upstream-tls-ca", flags.upstream_authority));
    ASSIGN_OR_RETURN(tls.certificate, Contents("--upstream-tls-cert",
                                               flags.upstream_certificate));
    ASSIGN_OR_RETURN(tls.key,
                     Contents("--upstream-tls-key", flags.upstream_key));
    options.upstream_tls = std::move(tls);
  } else if (!auth::IsLoopbackName(upstream_host)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--upstream ", flags.upstream,
        ": a server on another host needs --upstream-tls-ca, the authority of "
        "its certificate; or use 'ssh -L' and an address of this host"));
  }
  if (flags.certificate.empty() != flags.key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-cert and --tls-key must be used together");
  }
  if (!flags.certificate.empty()) {
    RETURN_IF_ERROR(Contents("--tls-cert", flags.certificate).status());
    RETURN_IF_ERROR(Contents("--tls-key", flags.key).status());
    options.tls = ingest::IngestTls{flags.certificate, flags.key, {}};
  } else if (!auth::IsLoopbackName(flags.host)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--host ", flags.host,
        ": ranks on other hosts need TLS; set --tls-cert and --tls-key"));
  }
  return options;
}

void Print(const RelayFlags& flags, uint16_t port) {
  const std::string address = ingest::JoinHostPort(flags.host, port);
  if (flags.json) {
    std::cout << nlohmann::ordered_json{{"debugger_address", address},
                                        {"upstream", flags.upstream}}
                     .dump()
              << std::endl;
    return;
  }
  std::cout << "relay:    " << address << "\nserver:   " << flags.upstream
            << "\nRanks of this host connect with GRAPHDBG_ENABLE=1 "
               "GRAPHDBG_PORT="
            << port
            << ".\nPress Ctrl-C to stop the relay; its ranks train on without "
               "it."
            << std::endl;
}

}  // namespace

absl::Status RunRelay(int argc, const char* const* argv,
                      std::function<void(std::string_view line)> log) {
  ASSIGN_OR_RETURN(const std::optional<RelayFlags> flags,
                   ParseFlags(argc, argv));
  if (!flags) return absl::OkStatus();
  ASSIGN_OR_RETURN(relay::RelayOptions options, CheckedOptions(*flags));
  options.log = std::move(log);
  // Before gRPC starts threads, which inherit the mask.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGINT);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  relay::RelayServer server(std::move(options));
  ASSIGN_OR_RETURN(const uint16_t port, server.Start(flags->host, flags->port));
  Print(*flags, port);
  int signal = 0;
  sigwait(&ending, &signal);
  return absl::OkStatus();
}

}  // namespace graphdbg
