// The server's TLS certificate, which may be renewed while the server runs.
#ifndef SERVER_MAIN_CERTIFICATE_WATCH_H_
#define SERVER_MAIN_CERTIFICATE_WATCH_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/tls.h"

namespace graphdbg {

// Logs which certificate is in use, so that users can compare it with what
// their browser shows.
class CertificateWatch {
 public:
  using Log = std::function<void(std::string_view line)>;

  // Errors as http::Tls::Load.
  static absl::StatusOr<CertificateWatch> Load(const http::TlsFiles& files,
                                               Log log);

  // Loads the certificate again if its files have changed. To be called
  // periodically.
  void Check();

  const std::shared_ptr<http::Tls>& tls() const { return tls_; }

 private:
  CertificateWatch(std::string file, std::shared_ptr<http::Tls> tls, Log log);

  void Announce(std::string_view what) const;

  std::string file_;
  std::shared_ptr<http::Tls> tls_;
  Log log_;
};

}  // namespace graphdbg

#endif  // SERVER_MAIN_CERTIFICATE_WATCH_H_
