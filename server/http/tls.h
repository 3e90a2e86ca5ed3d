// TLS for a server that listens beyond its own machine.
#ifndef SERVER_HTTP_TLS_H_
#define SERVER_HTTP_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace graphdbg::http {

// Names of PEM files.
struct TlsFiles {
  // With the certificates that lead to its root, if there are any.
  std::string certificate;
  std::string key;
  // Empty: clients need no certificate. Else only those come in that have one
  // of this authority.
  std::string client_authority;
};

// Immutable after Load; any thread.
class Tls {
 public:
  // INVALID_ARGUMENT, naming the file, for one that cannot be read or used.
  static absl::StatusOr<std::shared_ptr<Tls>> Load(const TlsFiles& files);

  // Whether the certificate is for this host name or address.
  bool Names(std::string_view host) const;

  boost::asio::ssl::context& context() { return context_; }

 private:
  Tls() = default;

  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_TLS_H_
