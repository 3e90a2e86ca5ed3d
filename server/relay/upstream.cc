#include "server/relay/upstream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/limits.h"
#include "server/ingest/agent_connections.h"

namespace graphdbg::relay {
namespace {

// As many as a server accepts, less those whose end it may not know of yet.
constexpr int kStreams = ingest::kMaxStreamsPerConnection / 2;

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(
    const std::optional<UpstreamTls>& tls) {
  if (!tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({tls->authority, tls->key, tls->certificate});
}

std::shared_ptr<grpc::Channel> MakeChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(wire::kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ingest::kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ingest::kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Channels to the same address would share a connection otherwise.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

Upstream::Upstream(std::string address, const std::optional<UpstreamTls>& tls,
                   std::function<void(std::string_view line)> log)
    : address_(std::move(address)),
      credentials_(CredentialsOf(tls)),
      log_(std::move(log)) {}

std::shared_ptr<grpc::Channel> Upstream::Acquire() {
  absl::MutexLock lock(&mu_);
  for (Connection& connection : connections_) {
    if (connection.streams == kStreams) continue;
    ++connection.streams;
    return connection.channel;
  }
  connections_.push_back({MakeChannel(address_, credentials_), 1});
  return connections_.back().channel;
}

void Upstream::Release(const std::shared_ptr<grpc::Channel>& channel) {
  absl::MutexLock lock(&mu_);
  auto it = std::find_if(connections_.begin(), connections_.end(),
                         [&](const Connection& connection) {
                           return connection.channel == channel;
                         });
  if (it == connections_.end() || --it->streams > 0) return;
  connections_.erase(it);
}

void Upstream::SetReachable(bool reachable) {
  {
    absl::MutexLock lock(&mu_);
    if (reachable == reachable_) return;
    reachable_ = reachable;
  }
  if (!log_) return;
  log_(reachable
           ? absl::StrCat("the server at ", address_, " is there again")
           : absl::StrCat("no server at ", address_,
                          "; the ranks of this host train on, and connect "
                          "again when there is one"));
}

}  // namespace graphdbg::relay
