#include "server/http/assets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

extern "C" const unsigned char graphdbg_test_site[];
extern "C" const uint64_t graphdbg_test_site_size;

namespace graphdbg::http {
namespace {

std::string_view Pack() {
  return {reinterpret_cast<const char*>(graphdbg_test_site),
          graphdbg_test_site_size};
}

class AssetsTest : public ::testing::Test {
 protected:
  AssetsTest() : assets_(*Assets::Parse(Pack())) {}

  Response Get(const std::string& path, const std::string& encodings = "",
               const std::string& if_none_match = "") {
    Request request;
    request.method = "GET";
    request.path = path;
    if (!encodings.empty()) request.headers.Set("Accept-Encoding", encodings);
    if (!if_none_match.empty()) {
      request.headers.Set("If-None-Match", if_none_match);
    }
    return assets_.Serve(request);
  }

  Assets assets_;
};

TEST_F(AssetsTest, RootIsTheIndexAndIsAskedForEachTime) {
  Response response = Get("/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.headers.Get("Cache-Control"), "no-cache");
  EXPECT_EQ(response.bytes().substr(0, 15), "<!doctype html>");
  EXPECT_EQ(response.bytes(), Get("/index.html").bytes());
}

TEST_F(AssetsTest, HashedNamesAreKeptForEver) {
  Response response = Get("/assets/app-Ab3_x-9Z.js");
  EXPECT_EQ(response.headers.Get("Cache-Control"),
            "public, max-age=31536000, immutable");
  EXPECT_EQ(Get("/assets/plain.txt").headers.Get("Cache-Control"), "no-cache");
}

TEST_F(AssetsTest, ClientsGetTheBestEncodingTheyTake) {
  EXPECT_EQ(Get("/", "gzip, br").headers.Get("Content-Encoding"), "br");
  EXPECT_EQ(Get("/", "gzip").headers.Get("Content-Encoding"), "gzip");
  EXPECT_EQ(Get("/", "br;q=0, gzip").headers.Get("Content-Encoding"), "gzip");
  EXPECT_FALSE(Get("/", "zstd").headers.Has("Content-Encoding"));
  EXPECT_FALSE(Get("/").headers.Has("Content-Encoding"));
  EXPECT_LT(Get("/", "br").bytes().size(), Get("/").bytes().size());
  EXPECT_EQ(Get("/", "gzip").bytes().substr(0, 2), "\x1f\x8b");
}

TEST_F(AssetsTest, FilesThatDoNotShrinkComeAsTheyAre) {
  Response response = Get("/assets/plain.txt", "gzip, br");
  EXPECT_FALSE(response.headers.Has("Content-Encoding"));
  EXPECT_EQ(response.bytes(), "short");
}

TEST_F(AssetsTest, KnownTagsAreAnsweredWithoutContent) {
  std::string tag(Get("/", "br").headers.Get("ETag"));
  for (const std::string& sent :
       {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
    Response response = Get("/", "br", sent);
    EXPECT_EQ(response.status, 304) << sent;
    EXPECT_TRUE(response.bytes().empty());
    EXPECT_EQ(response.headers.Get("ETag"), tag);
  }
  EXPECT_EQ(Get("/", "gzip", tag).status, 200);
}

TEST_F(AssetsTest, UnknownPathsAreProblems) {
  for (const char* path :
       {"/nothing", "/assets/", "/../etc/passwd", "/%2e%2e/etc/passwd", "/%"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST(AssetsParseTest, DamagedPacksAreRefused) {
  std::string pack(Pack());
  EXPECT_FALSE(Assets::Parse("").ok());
  EXPECT_FALSE(Assets::Parse(pack.substr(0, 7)).ok());
  EXPECT_FALSE(Assets::Parse(pack.substr(0, 40)).ok());
  // The index is complete, the data is not.
  EXPECT_FALSE(Assets::Parse(pack.substr(0, pack.size() - 1)).ok());
  uint64_t huge = UINT64_MAX;
  std::memcpy(pack.data(), &huge, sizeof huge);
  EXPECT_FALSE(Assets::Parse(pack).ok());
}

}  // namespace
}  // namespace graphdbg::http
