#include "server/main/certificate_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "server/http/testing/certificate_files.h"

namespace graphdbg {
namespace {

using http::testing::MakeKey;
using http::testing::WriteCertificate;
using http::testing::WriteKey;

TEST(CertificateWatchTest, SaysWhichCertificateIsInUse) {
  const std::filesystem::path dir =
      std::filesystem::path(::testing::TempDir()) / "certificate-watch";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  const http::TlsFiles files{dir / "cert.pem", dir / "key.pem", ""};
  std::vector<std::string> lines;
  const auto log = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_FALSE(CertificateWatch::Load(files, log).ok());
  EXPECT_TRUE(lines.empty());

  const auto key = MakeKey();
  WriteCertificate(files.certificate, "gpu7", key.get());
  WriteKey(files.key, key.get());
  auto watch = CertificateWatch::Load(files, log);
  ASSERT_TRUE(watch.ok()) << watch.status();
  const std::string first = watch->tls()->Fingerprint();
  EXPECT_EQ(lines.back(),
            "TLS certificate " + files.certificate + ", SHA-256 " + first);
  watch->Check();
  EXPECT_EQ(lines.size(), 1u);

  const auto renewed = MakeKey();
  WriteCertificate(files.certificate, "gpu8", renewed.get());
  watch->Check();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[1].find("stays as it was"), std::string::npos) << lines[1];
  EXPECT_EQ(watch->tls()->Fingerprint(), first);

  WriteKey(files.key, renewed.get());
  watch->Check();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(watch->tls()->Fingerprint(), first);
  EXPECT_EQ(lines[2], "new TLS certificate " + files.certificate +
                          ", SHA-256 " + watch->tls()->Fingerprint());
}

}  // namespace
}  // namespace graphdbg
