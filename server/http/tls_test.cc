#include "server/http/tls.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "server/http/testing/certificate_files.h"

namespace graphdbg::http {
namespace {

namespace fs = std::filesystem;
using testing::Key;
using testing::MakeKey;

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
    testing::WriteCertificate(files_.certificate, name, key);
  }
  void WriteKey(EVP_PKEY* key, mode_t mode = 0600) {
    testing::WriteKey(files_.key, key, mode);
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
