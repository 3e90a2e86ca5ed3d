#include "server/http/server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status_macros.h"
#include "server/auth/origin_policy.h"
#include "server/base/error.h"
#include "server/base/throttled_log.h"
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
        acceptor_strand_(asio::make_strand(executor_)),
        refusals_(options.log),
        places_(std::make_shared<Places>(options.places)),
        shared_(std::make_shared<Shared>()) {
    shared_->options = std::move(options);
    shared_->router = std::move(router);
    if (const std::shared_ptr<Tls>& tls = shared_->options.tls) {
      shared_->site.https = true;
      shared_->site.is_own_name = [tls](auto host) { return tls->Names(host); };
    }
  }

  absl::StatusOr<uint16_t> Start();
  void Stop();
  ServerCounters counters() const;

 private:
  // Listens on the address of the options, and on ::1 if that is 127.0.0.1.
  absl::Status Listen();
  error_code ListenOn(const tcp::endpoint& endpoint);
  asio::awaitable<void> AcceptAll(tcp::acceptor& acceptor);
  void Admit(tcp::socket socket);
  void AddConnection(const std::shared_ptr<Connection>& connection)
      ABSL_LOCKS_EXCLUDED(mu_);
  void RemoveConnection(Connection* connection) ABSL_LOCKS_EXCLUDED(mu_);

  const asio::any_io_executor executor_;
  const asio::strand<asio::any_io_executor> acceptor_strand_;
  // Used only on the strand once the server has started.
  std::list<tcp::acceptor> acceptors_;
  ThrottledLog refusals_;
  const std::shared_ptr<Places> places_;
  const std::shared_ptr<Shared> shared_;

  absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections_
      ABSL_GUARDED_BY(mu_);
};

absl::StatusOr<uint16_t> Server::Core::Start() {
  RETURN_IF_ERROR(Listen());
  const uint16_t port = acceptors_.front().local_endpoint().port();
  shared_->site.frame_ancestors = shared_->options.frame_ancestors;
  shared_->site.is_embedded = shared_->options.is_embedded;
  shared_->site.ports = shared_->options.forwarded_ports;
  shared_->site.ports.insert(shared_->site.ports.begin(), port);
  for (tcp::acceptor& acceptor : acceptors_) {
    asio::co_spawn(
        acceptor_strand_,
        [self = shared_from_this(), &acceptor] {
          return self->AcceptAll(acceptor);
        },
        asio::detached);
  }
  return port;
}

error_code Server::Core::ListenOn(const tcp::endpoint& endpoint) {
  error_code ec;
  tcp::acceptor& acceptor = acceptors_.emplace_back(acceptor_strand_);
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) acceptors_.pop_back();
  return ec;
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
  if (!ec) ec = ListenOn({address, options.port});
  if (ec == asio::error::address_in_use) {
    return Error(absl::StatusCode::kAlreadyExists, "port_in_use",
                 where + " is in use by another program");
  }
  if (ec) {
    return Error(absl::StatusCode::kUnavailable, "cannot_listen",
                 "cannot listen on " + where + ": " + ec.message());
  }
  if (address == asio::ip::address_v4::loopback()) {
    // Browsers may take "localhost" for either address, and nobody else should
    // answer there. Machines without IPv6 have only one.
    ListenOn({asio::ip::address_v6::loopback(),
              acceptors_.front().local_endpoint().port()});
  }
  return absl::OkStatus();
}

asio::awaitable<void> Server::Core::AcceptAll(tcp::acceptor& acceptor) {
  auto self = shared_from_this();
  while (acceptor.is_open()) {
    error_code ec;
    tcp::socket socket(asio::make_strand(executor_));
    co_await acceptor.async_accept(socket, Into(ec));
    if (!ec) {
      Admit(std::move(socket));
      continue;
    }
    if (!acceptor.is_open()) break;
    refusals_.Write("accept",
                    "warning: cannot accept a connection: " + ec.message());
    if (ec == asio::error::no_descriptors) places_->CloseOne();
    asio::steady_timer timer(acceptor_strand_, kAcceptPause);
    co_await timer.async_wait(Into(ec));
  }
}

void Server::Core::Admit(tcp::socket socket) {
  const uint64_t open = shared_->open_connections;
  auto connection = std::make_shared<Connection>(std::move(socket), shared_);
  const bool has_place = connection->TakePlace(*places_);
  if (has_place) {
    ++shared_->connections;
  } else {
    ++shared_->connections_refused;
    refusals_.Write("connections",
                    "warning: a connection from " + connection->peer() +
                        " was refused because too many are open");
    if (open >= shared_->options.places.all + kMaxRefusals) return;
  }
  AddConnection(connection);
  asio::co_spawn(connection->executor(),
                 has_place ? connection->Run() : connection->Refuse(),
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
  asio::post(acceptor_strand_, [self = shared_from_this()] {
    error_code ignored;
    for (tcp::acceptor& acceptor : self->acceptors_) acceptor.close(ignored);
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
