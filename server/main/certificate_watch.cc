#include "server/main/certificate_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg {

absl::StatusOr<CertificateWatch> CertificateWatch::Load(
    const http::TlsFiles& files, Log log) {
  ASSIGN_OR_RETURN(auto tls, http::Tls::Load(files));
  CertificateWatch watch(files.certificate, std::move(tls), std::move(log));
  watch.Announce("TLS certificate ");
  return watch;
}

CertificateWatch::CertificateWatch(std::string file,
                                   std::shared_ptr<http::Tls> tls, Log log)
    : file_(std::move(file)), tls_(std::move(tls)), log_(std::move(log)) {}

void CertificateWatch::Check() {
  const absl::StatusOr<bool> is_new = tls_->Refresh();
  if (!is_new.ok()) {
    log_(absl::StrCat("warning: the TLS certificate stays as it was: ",
                      std::string(is_new.status().message())));
  } else if (*is_new) {
    Announce("new TLS certificate ");
  }
}

void CertificateWatch::Announce(std::string_view what) const {
  log_(absl::StrCat(std::string(what), file_, ", SHA-256 ",
                    tls_->Fingerprint()));
}

}  // namespace graphdbg
