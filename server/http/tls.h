// TLS for a server that accepts connections from other machines.
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
  // The server's certificate, followed by any intermediate certificates.
  std::string certificate;
  std::string key;
  // If set, clients must present a certificate issued by this authority.
  std::string client_authority;
};

// Immutable after Load. Any thread may use it.
class Tls {
 public:
  // INVALID_ARGUMENT, naming the file, if a file cannot be read or used.
  static absl::StatusOr<std::shared_ptr<Tls>> Load(const TlsFiles& files);

  // Whether the certificate is valid for this host name or address.
  bool Names(std::string_view host) const;

  boost::asio::ssl::context& context() { return context_; }

 private:
  Tls() = default;

  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_server};
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_TLS_H_
