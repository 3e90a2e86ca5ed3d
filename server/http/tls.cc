#include "server/http/tls.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <boost/system/error_code.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::http {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

absl::Status Unusable(const std::string& what, const std::string& file,
                      const error_code& ec) {
  return absl::InvalidArgumentError("cannot use the " + what + " in " + file +
                                    ": " + ec.message());
}

absl::Status UseClientAuthority(const std::string& file,
                                ssl::context& context) {
  error_code ec;
  context.load_verify_file(file, ec);
  if (ec) return Unusable("client certificate authority", file, ec);
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return absl::OkStatus();
}

// Whoever can read the key can pose as this server.
absl::Status CheckKeyMode(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0 || (info.st_mode & 077) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the key file %s can be read by others (its mode is %04o); run 'chmod "
      "600 %s'",
      file, info.st_mode & 07777, file));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Tls>> Tls::Load(const TlsFiles& files) {
  std::shared_ptr<Tls> tls(new Tls(files));
  RETURN_IF_ERROR(tls->Refresh().status());
  return tls;
}

absl::StatusOr<bool> Tls::Refresh() {
  Stamp stamp = StampOfFiles();
  {
    absl::MutexLock lock(&mu_);
    if (stamp == stamp_) return false;
    stamp_ = std::move(stamp);
  }
  // A key and a certificate are replaced one after the other. In between they
  // do not match, which is an error, and the next change brings another try.
  ASSIGN_OR_RETURN(Context context, LoadContext());
  absl::MutexLock lock(&mu_);
  context_ = std::move(context);
  return true;
}

Tls::Stamp Tls::StampOfFiles() const {
  Stamp stamp;
  for (const std::string& file :
       {files_.certificate, files_.key, files_.client_authority}) {
    struct stat info {};
    if (stat(file.c_str(), &info) != 0) info = {};
    for (int64_t part :
         {static_cast<int64_t>(info.st_ino), static_cast<int64_t>(info.st_size),
          static_cast<int64_t>(info.st_mode),
          static_cast<int64_t>(info.st_mtim.tv_sec),
          static_cast<int64_t>(info.st_mtim.tv_nsec)}) {
      stamp.push_back(part);
    }
  }
  return stamp;
}

absl::StatusOr<Tls::Context> Tls::LoadContext() const {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  RETURN_IF_ERROR(CheckKeyMode(files_.key));
  error_code ec;
  context->use_certificate_chain_file(files_.certificate, ec);
  if (ec) return Unusable("certificate", files_.certificate, ec);
  context->use_private_key_file(files_.key, ssl::context::pem, ec);
  if (ec) return Unusable("key", files_.key, ec);
  if (!files_.client_authority.empty()) {
    RETURN_IF_ERROR(UseClientAuthority(files_.client_authority, *context));
  }
  return context;
}

Tls::Context Tls::context() const {
  absl::MutexLock lock(&mu_);
  return context_;
}

bool Tls::Names(std::string_view host) const {
  const Context current = context();
  X509* const certificate = SSL_CTX_get0_certificate(current->native_handle());
  if (certificate == nullptr || host.empty()) return false;
  const std::string name(host);
  return X509_check_host(certificate, name.data(), name.size(), 0, nullptr) ==
             1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

std::string Tls::Fingerprint() const {
  const Context current = context();
  X509* const certificate = SSL_CTX_get0_certificate(current->native_handle());
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (certificate == nullptr ||
      X509_digest(certificate, EVP_sha256(), digest, &size) != 1) {
    return {};
  }
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    absl::StrAppendFormat(&text, "%s%02X", i > 0 ? ":" : "", digest[i]);
  }
  return text;
}

}  // namespace graphdbg::http
