#include "server/http/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/system/error_code.hpp>

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

}  // namespace

absl::StatusOr<std::shared_ptr<Tls>> Tls::Load(const TlsFiles& files) {
  std::shared_ptr<Tls> tls(new Tls);
  ssl::context& context = tls->context_;
  context.set_options(ssl::context::default_workarounds |
                      ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  error_code ec;
  context.use_certificate_chain_file(files.certificate, ec);
  if (ec) return Unusable("certificate", files.certificate, ec);
  context.use_private_key_file(files.key, ssl::context::pem, ec);
  if (ec) return Unusable("key", files.key, ec);
  if (!files.client_authority.empty()) {
    RETURN_IF_ERROR(UseClientAuthority(files.client_authority, context));
  }
  return tls;
}

bool Tls::Names(std::string_view host) const {
  // native_handle() is not const, but OpenSSL only reads the certificate here.
  auto* handle = const_cast<ssl::context&>(context_).native_handle();
  X509* const certificate = SSL_CTX_get0_certificate(handle);
  if (certificate == nullptr || host.empty()) return false;
  const std::string name(host);
  return X509_check_host(certificate, name.data(), name.size(), 0, nullptr) ==
             1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1;
}

}  // namespace graphdbg::http
