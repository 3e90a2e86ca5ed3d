#include "server/http/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/base/error.h"
#include "server/http/connection.h"

namespace graphdbg::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Connections over the limit that get a response with status 503. Any further
// connection is closed without a response.
constexpr uint64_t kMaxRefusals = 64;
// Delay after a failed accept, for example when the process has run out of file
// descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};

auto Into(error_code& ec) {
  return asio::redirect_error(asio::use_awaitable, ec);
}

}  // namespace

class Server::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(asio::any_io_executor executor, std::shared_ptr<const Router> router,
       ServerOptions options)
      : executor_(std::move(executor)),
        acceptor_(asio::make_strand(executor_)),
        shared_(std::make_shared<Shared>()) {
    shared_->options = std::move(options);
    shared_->router = std::move(router);
    if (const std::shared_ptr<Tls>& tls = shared_->options.tls) {
      shared_->site = {true, [tls](auto host) { return tls->Names(host); }};
    }
  }

  absl::StatusOr<uint16_t> Start();
  void Stop();
  ServerCounters counters() const;

 private:
  absl::Status Listen();
  asio::awaitable<void> AcceptAll();
  void Admit(tcp::socket socket);
  void AddConnection(const std::shared_ptr<Connection>& connection)
      ABSL_LOCKS_EXCLUDED(mu_);
  void RemoveConnection(Connection* connection) ABSL_LOCKS_EXCLUDED(mu_);

  const asio::any_io_executor executor_;
  // Used only on its own strand once the server has started.
  tcp::acceptor acceptor_;
  const std::shared_ptr<Shared> shared_;

  absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections_
      ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<uint16_t> Server::Core::Start() {
  RETURN_IF_ERROR(Listen());
  uint16_t port = acceptor_.local_endpoint().port();
  asio::co_spawn(
      acceptor_.get_executor(),
      [self = shared_from_this()] { return self->AcceptAll(); },
      asio::detached);
  return port;
}

absl::Status Server::Core::Listen() {
  const ServerOptions& options = shared_->options;
  const std::string where = options.host + ":" + std::to_string(options.port);
  if (!auth::IsLoopbackName(options.host) && !options.tls) {
    return Error(absl::StatusCode::kFailedPrecondition, "needs_tls",
                 "cannot listen on " + options.host +
                     " without TLS, because other machines can reach this "
                     "address; configure a certificate");
  }
  error_code ec;
  bool named = auth::IsLoopbackName(options.host) &&
               options.host.find_first_of(".:") == std::string::npos;
  auto address = asio::ip::make_address(named ? "127.0.0.1" : options.host, ec);
  tcp::endpoint endpoint(address, options.port);
  if (!ec) acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec == asio::error::address_in_use) {
    return Error(absl::StatusCode::kAlreadyExists, "port_in_use",
                 where + " is in use by another program");
  }
  if (ec) {
    return Error(absl::StatusCode::kUnavailable, "cannot_listen",
                 "cannot listen on " + where + ": " + ec.message());
  }
  return absl::OkStatus();
}

asio::awaitable<void> Server::Core::AcceptAll() {
  auto self = shared_from_this();
  while (acceptor_.is_open()) {
    error_code ec;
    tcp::socket socket(asio::make_strand(executor_));
    co_await acceptor_.async_accept(socket, Into(ec));
    if (!ec) {
      Admit(std::move(socket));
      continue;
    }
    if (!acceptor_.is_open()) break;
    shared_->Log("warning: cannot accept a connection: " + ec.message());
    asio::steady_timer timer(acceptor_.get_executor(), kAcceptPause);
    co_await timer.async_wait(Into(ec));
  }
}

void Server::Core::Admit(tcp::socket socket) {
  const uint64_t limit = shared_->options.max_connections;
  const uint64_t open = shared_->open_connections;
  if (open >= limit) {
    ++shared_->connections_refused;
    if (open >= limit + kMaxRefusals) return;
  } else {
    ++shared_->connections;
  }
  auto connection = std::make_shared<Connection>(std::move(socket), shared_);
  AddConnection(connection);
  asio::co_spawn(connection->executor(),
                 open >= limit ? connection->Refuse() : connection->Run(),
                 [self = shared_from_this(), connection](std::exception_ptr) {
                   self->RemoveConnection(connection.get());
                 });
}

void Server::Core::AddConnection(
    const std::shared_ptr<Connection>& connection) {
  absl::MutexLock lock(&mu_);
  connections_[connection.get()] = connection;
  if (stopped_) {
    asio::post(connection->executor(), [connection] { connection->Abort(); });
  }
}

void Server::Core::RemoveConnection(Connection* connection) {
  absl::MutexLock lock(&mu_);
  connections_.erase(connection);
}

void Server::Core::Stop() {
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) return;
    stopped_ = true;
    for (const auto& [key, weak] : connections_) {
      auto connection = weak.lock();
      if (!connection) continue;
      asio::post(connection->executor(), [connection] { connection->Abort(); });
    }
  }
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
    error_code ignored;
    self->acceptor_.close(ignored);
  });
}

ServerCounters Server::Core::counters() const {
  ServerCounters counters;
  counters.connections = shared_->connections;
  counters.connections_refused = shared_->connections_refused;
  counters.open_connections = shared_->open_connections;
  counters.open_channels = shared_->open_channels;
  for (size_t i = 0; i < counters.responses.size(); ++i) {
    counters.responses[i] = shared_->responses[i];
  }
  return counters;
}

Server::Server(asio::any_io_executor executor,
               std::shared_ptr<const Router> router, ServerOptions options)
    : core_(std::make_shared<Core>(std::move(executor), std::move(router),
                                   std::move(options))) {}

Server::~Server() { Stop(); }

absl::StatusOr<uint16_t> Server::Start() { return core_->Start(); }

void Server::Stop() { core_->Stop(); }

ServerCounters Server::counters() const { return core_->counters(); }

}  // namespace graphdbg::http
