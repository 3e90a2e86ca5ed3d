// The relay's connections to its server.
#ifndef SERVER_RELAY_UPSTREAM_H_
#define SERVER_RELAY_UPSTREAM_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::relay {

// Contents of PEM files.
struct UpstreamTls {
  std::string authority;
  // Empty if the server asks for no certificate.
  std::string certificate;
  std::string key;
};

// A server accepts a limited number of streams on a connection, so that there
// are several. Thread-safe.
class Upstream {
 public:
  // `address` is "host:port". `log` receives a line when the server has become
  // unreachable, and when it is there again.
  Upstream(std::string address, const std::optional<UpstreamTls>& tls,
           std::function<void(std::string_view line)> log);

  // A connection with room for one more stream, which is given back with
  // Release().
  std::shared_ptr<grpc::Channel> Acquire();
  void Release(const std::shared_ptr<grpc::Channel>& channel);

  // Whether the server has answered at the last attempt.
  void SetReachable(bool reachable);

 private:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    int streams = 0;
  };

  const std::string address_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const std::function<void(std::string_view)> log_;

  absl::Mutex mu_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mu_);
  bool reachable_ ABSL_GUARDED_BY(mu_) = true;
};

}  // namespace graphdbg::relay

#endif  // SERVER_RELAY_UPSTREAM_H_
