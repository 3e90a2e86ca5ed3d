// TLS for a server that accepts connections from other machines.
#ifndef SERVER_HTTP_TLS_H_
#define SERVER_HTTP_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace graphdbg::http {

// Names of PEM files.
struct TlsFiles {
  // The server's certificate, followed by any intermediate certificates.
  std::string certificate;
  // Only its owner may be allowed to read it.
  std::string key;
  // If set, clients must present a certificate issued by this authority.
  std::string client_authority;
};

// The content of the files, which may be replaced while the server runs.
// Thread-safe.
class Tls {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  // INVALID_ARGUMENT, naming the file, if a file cannot be read or used, or if
  // others may read the key.
  static absl::StatusOr<std::shared_ptr<Tls>> Load(const TlsFiles& files);

  // Loads the files again if one of them has changed since the last call, and
  // returns whether new connections use new ones. After an error, which is like
  // those of Load, they use what was loaded before.
  absl::StatusOr<bool> Refresh() ABSL_LOCKS_EXCLUDED(mu_);

  // Whether the certificate is valid for this host name or address.
  bool Names(std::string_view host) const;
  // The SHA-256 digest of the certificate: "4F:0C:…".
  std::string Fingerprint() const;

  // For new connections.
  Context context() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // Properties of a file that change when it is written or replaced.
  using Stamp = std::vector<int64_t>;

  explicit Tls(const TlsFiles& files) : files_(files) {}

  Stamp StampOfFiles() const;
  absl::StatusOr<Context> LoadContext() const;

  const TlsFiles files_;
  mutable absl::Mutex mu_;
  Context context_ ABSL_GUARDED_BY(mu_);
  Stamp stamp_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::http

#endif  // SERVER_HTTP_TLS_H_
