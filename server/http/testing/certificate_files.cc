#include "server/http/testing/certificate_files.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

namespace graphdbg::http::testing {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<FILE, decltype(&std::fclose)>;

Certificate MakeCertificate(const std::string& name, EVP_PKEY* key) {
  Certificate certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(
      subject, "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  X509_sign(certificate.get(), key, EVP_sha256());
  return certificate;
}

}  // namespace

Key MakeKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

void WriteCertificate(const std::string& path, const std::string& name,
                      EVP_PKEY* key) {
  const Certificate certificate = MakeCertificate(name, key);
  {
    const File file(std::fopen((path + ".new").c_str(), "w"), &std::fclose);
    PEM_write_X509(file.get(), certificate.get());
  }
  std::filesystem::rename(path + ".new", path);
}

void WriteKey(const std::string& path, EVP_PKEY* key, mode_t mode) {
  {
    const File file(std::fopen((path + ".new").c_str(), "w"), &std::fclose);
    PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr,
                         nullptr);
  }
  chmod((path + ".new").c_str(), mode);
  std::filesystem::rename(path + ".new", path);
}

}  // namespace graphdbg::http::testing
