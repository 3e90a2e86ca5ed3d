// Keys and certificates that tests make for themselves.
#ifndef SERVER_HTTP_TESTING_CERTIFICATE_FILES_H_
#define SERVER_HTTP_TESTING_CERTIFICATE_FILES_H_

#include <openssl/evp.h>
#include <sys/types.h>

#include <memory>
#include <string>

namespace graphdbg::http::testing {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Key MakeKey();

// Both write a PEM file, and replace the earlier one at once, as tools that
// renew certificates do. The certificate is issued by itself, for the host
// `name`, and valid for an hour.
void WriteCertificate(const std::string& path, const std::string& name,
                      EVP_PKEY* key);
void WriteKey(const std::string& path, EVP_PKEY* key, mode_t mode = 0600);

}  // namespace graphdbg::http::testing

#endif  // SERVER_HTTP_TESTING_CERTIFICATE_FILES_H_
