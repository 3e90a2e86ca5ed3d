#include "server/http/tls.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace graphdbg::http {
namespace {

namespace fs = std::filesystem;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<FILE, decltype(&std::fclose)>;

Key MakeKey() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

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

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    dir_ = fs::path(::testing::TempDir()) /
           (std::string("tls.") +
            ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    files_.certificate = (dir_ / "cert.pem").string();
    files_.key = (dir_ / "key.pem").string();
  }

  // Both replace the file, as tools that renew certificates do.
  void WriteCertificate(const std::string& name, EVP_PKEY* key) {
    Certificate certificate = MakeCertificate(name, key);
    {
      File file(std::fopen((dir_ / "new").c_str(), "w"), &std::fclose);
      PEM_write_X509(file.get(), certificate.get());
    }
    fs::rename(dir_ / "new", files_.certificate);
  }
  void WriteKey(EVP_PKEY* key, mode_t mode = 0600) {
    {
      File file(std::fopen((dir_ / "new").c_str(), "w"), &std::fclose);
      PEM_write_PrivateKey(file.get(), key, nullptr, nullptr, 0, nullptr,
                           nullptr);
    }
    chmod((dir_ / "new").c_str(), mode);
    fs::rename(dir_ / "new", files_.key);
  }

  fs::path dir_;
  TlsFiles files_;
};

TEST_F(TlsTest, LoadsACertificateAndItsKey) {
  Key key = MakeKey();
  WriteCertificate("gpu7", key.get());
  WriteKey(key.get());
  auto tls = Tls::Load(files_);
  ASSERT_TRUE(tls.ok()) << tls.status();
  EXPECT_TRUE((*tls)->Names("gpu7"));
  EXPECT_FALSE((*tls)->Names("gpu8"));
  // 32 bytes and the colons between them.
  EXPECT_EQ((*tls)->Fingerprint().size(), 32u * 3 - 1);
  EXPECT_EQ((*tls)->Fingerprint().find_first_not_of("0123456789ABCDEF:"),
            std::string::npos);
}

TEST_F(TlsTest, AKeyThatOthersCanReadIsRefused) {
  Key key = MakeKey();
  WriteCertificate("gpu7", key.get());
  for (mode_t mode : {0640, 0604, 0644, 0660}) {
    WriteKey(key.get(), mode);
    const absl::Status status = Tls::Load(files_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << mode;
    EXPECT_NE(std::string(status.message()).find("chmod 600 " + files_.key),
              std::string::npos)
        << status;
  }
}

TEST_F(TlsTest, ErrorsNameTheFile) {
  Key key = MakeKey();
  EXPECT_NE(std::string(Tls::Load(files_).status().message())
                .find(files_.certificate),
            std::string::npos);
  WriteCertificate("gpu7", key.get());
  Key other = MakeKey();
  WriteKey(other.get());
  EXPECT_NE(std::string(Tls::Load(files_).status().message()).find(files_.key),
            std::string::npos);
}

TEST_F(TlsTest, FilesThatChangeAreLoadedAgain) {
  Key key = MakeKey();
  WriteCertificate("gpu7", key.get());
  WriteKey(key.get());
  std::shared_ptr<Tls> tls = *Tls::Load(files_);
  EXPECT_EQ(*tls->Refresh(), false);
  const Tls::Context before = tls->context();
  const std::string fingerprint = tls->Fingerprint();

  // Until both files have been replaced, the old pair stays in use.
  Key renewed = MakeKey();
  WriteCertificate("gpu8", renewed.get());
  EXPECT_FALSE(tls->Refresh().ok());
  EXPECT_EQ(tls->context(), before);
  EXPECT_TRUE(tls->Names("gpu7"));
  // An error is reported once.
  EXPECT_EQ(*tls->Refresh(), false);

  WriteKey(renewed.get());
  EXPECT_EQ(*tls->Refresh(), true);
  EXPECT_NE(tls->context(), before);
  EXPECT_TRUE(tls->Names("gpu8"));
  EXPECT_NE(tls->Fingerprint(), fingerprint);
}

TEST_F(TlsTest, ANewKeyThatOthersCanReadIsNotUsed) {
  Key key = MakeKey();
  WriteCertificate("gpu7", key.get());
  WriteKey(key.get());
  std::shared_ptr<Tls> tls = *Tls::Load(files_);
  const Tls::Context before = tls->context();
  WriteKey(key.get(), 0644);
  EXPECT_FALSE(tls->Refresh().ok());
  EXPECT_EQ(tls->context(), before);
  chmod(files_.key.c_str(), 0600);
  EXPECT_EQ(*tls->Refresh(), true);
}

}  // namespace
}  // namespace graphdbg::http
