#include "server/http/guard.h"

#include <gtest/gtest.h>

namespace graphdbg::http {
namespace {

Request Get() {
  Request request;
  request.method = "GET";
  request.headers.Set("Host", "127.0.0.1:8080");
  return request;
}

int StatusOf(const Request& request, const Site& site = {}) {
  auto refusal = CheckSource(request, site);
  if (!refusal) refusal = CheckContentType(request, BodyKind::kJson);
  return refusal ? refusal->status : 200;
}

TEST(GuardTest, RefusesNamesThatAreNotLoopback) {
  Request request = Get();
  EXPECT_EQ(StatusOf(request), 200);
  for (const char* host : {"", "evil.com", "127.0.0.1.evil.com", "0.0.0.0",
                           "localhost.evil.com:8080", "[::1", "[::1]x"}) {
    request.headers.Set("Host", host);
    EXPECT_EQ(StatusOf(request), 421) << host;
  }
}

TEST(GuardTest, ASiteAnswersToItsOwnNamesToo) {
  Site site;
  site.https = true;
  site.is_own_name = [](std::string_view host) { return host == "gpu7"; };
  Request request = Get();
  EXPECT_EQ(StatusOf(request, site), 200);
  request.headers.Set("Host", "gpu7:8080");
  EXPECT_EQ(StatusOf(request, site), 200);
  request.headers.Set("Origin", "https://gpu7:8080");
  EXPECT_EQ(StatusOf(request, site), 200);
  request.headers.Set("Origin", "http://gpu7:8080");
  EXPECT_EQ(StatusOf(request, site), 403);
  request.headers.Set("Host", "gpu8:8080");
  EXPECT_EQ(StatusOf(request, site), 421);
}

TEST(GuardTest, RefusesPagesOfOtherOrigins) {
  Request request = Get();
  request.headers.Set("Origin", "http://127.0.0.1:8080");
  EXPECT_EQ(StatusOf(request), 200);
  for (const char* origin :
       {"", "null", "http://127.0.0.1:8081", "http://localhost:8080",
        "https://127.0.0.1:8080", "http://evil.com"}) {
    request.headers.Set("Origin", origin);
    EXPECT_EQ(StatusOf(request), 403) << origin;
  }
}

TEST(GuardTest, TheHostNamesAPortOfTheServerOrOfATunnel) {
  Site site;
  site.ports = {8080, 9000};
  Request request = Get();
  for (const char* host : {"127.0.0.1:8080", "localhost:9000", "[::1]:8080"}) {
    request.headers.Set("Host", host);
    EXPECT_EQ(StatusOf(request, site), 200) << host;
  }
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:80", "localhost:8081", "[::1]", "[::1]:1"}) {
    request.headers.Set("Host", host);
    EXPECT_EQ(StatusOf(request, site), 421) << host;
  }
  // Without a port, the host means the port of the scheme.
  site.ports = {80};
  request.headers.Set("Host", "localhost");
  EXPECT_EQ(StatusOf(request, site), 200);
  site.https = true;
  EXPECT_EQ(StatusOf(request, site), 421);
  site.ports = {443};
  EXPECT_EQ(StatusOf(request, site), 200);
}

// Browsers send Sec-Fetch-Site also where they send no Origin.
TEST(GuardTest, RefusesRequestsOfOtherSitesExceptForLinks) {
  Request request = Get();
  for (const char* site : {"same-origin", "none"}) {
    request.headers.Set("Sec-Fetch-Site", site);
    EXPECT_EQ(StatusOf(request), 200) << site;
  }
  for (const char* site : {"cross-site", "same-site", "unheard-of"}) {
    Request other = Get();
    other.headers.Set("Sec-Fetch-Site", site);
    EXPECT_EQ(StatusOf(other), 403) << site;
    other.headers.Set("Sec-Fetch-Mode", "navigate");
    EXPECT_EQ(StatusOf(other), 403) << site;
    other.headers.Set("Sec-Fetch-Dest", "iframe");
    EXPECT_EQ(StatusOf(other), 403) << site;
    other.headers.Set("Sec-Fetch-Dest", "document");
    EXPECT_EQ(StatusOf(other), 200) << site;
    other.method = "POST";
    other.headers.Set("Content-Type", "application/json");
    EXPECT_EQ(StatusOf(other), 403) << site;
  }
}

TEST(GuardTest, PagesThatAreNamedMayShowThisOneInAFrame) {
  Site site;
  site.frame_ancestors = "http://localhost:8888";
  Request request = Get();
  request.headers.Set("Sec-Fetch-Site", "same-site");
  request.headers.Set("Sec-Fetch-Dest", "iframe");
  EXPECT_EQ(StatusOf(request, site), 403);
  request.headers.Set("Sec-Fetch-Mode", "navigate");
  EXPECT_EQ(StatusOf(request, site), 200);
  EXPECT_EQ(StatusOf(request, Site()), 403);

  Response response;
  response.frame_ancestors = FrameAncestorsOf(request, site);
  AddSecurityHeaders(response);
  const std::string_view policy =
      response.headers.Get("Content-Security-Policy");
  EXPECT_NE(policy.find("frame-ancestors http://localhost:8888"),
            std::string_view::npos);
  EXPECT_FALSE(response.headers.Has("X-Frame-Options"));
}

TEST(GuardTest, EditorsMayShowSomeAddressesInAFrame) {
  Site site;
  site.is_embedded = [](const Request& request) {
    return request.path == "/embedded";
  };
  Request request = Get();
  request.headers.Set("Sec-Fetch-Site", "cross-site");
  request.headers.Set("Sec-Fetch-Dest", "iframe");
  request.headers.Set("Sec-Fetch-Mode", "navigate");
  EXPECT_EQ(StatusOf(request, site), 403);
  EXPECT_EQ(FrameAncestorsOf(request, site), "");
  request.path = "/embedded";
  EXPECT_EQ(StatusOf(request, site), 200);
  EXPECT_EQ(FrameAncestorsOf(request, site), "vscode-webview: vscode-file:");
  site.frame_ancestors = "http://localhost:8888";
  EXPECT_EQ(FrameAncestorsOf(request, site),
            "http://localhost:8888 vscode-webview: vscode-file:");
  request.method = "POST";
  request.headers.Set("Content-Type", "application/json");
  EXPECT_EQ(StatusOf(request, site), 403);
}

TEST(GuardTest, WritesNeedJson) {
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    Request request = Get();
    request.method = method;
    EXPECT_EQ(StatusOf(request), 415) << method;
    request.headers.Set("Content-Type", "text/plain");
    EXPECT_EQ(StatusOf(request), 415) << method;
    request.headers.Set("Content-Type", "application/json; charset=utf-8");
    EXPECT_EQ(StatusOf(request), 200) << method;
  }
  Request request = Get();
  request.method = "DELETE";
  EXPECT_EQ(StatusOf(request), 200);
  request.headers.Set("Content-Length", "0");
  EXPECT_EQ(StatusOf(request), 200);
  request.headers.Set("Content-Length", "3");
  EXPECT_EQ(StatusOf(request), 415);
  Request chunked = Get();
  chunked.headers.Set("Transfer-Encoding", "chunked");
  EXPECT_EQ(StatusOf(chunked), 415);
}

TEST(GuardTest, AnswersForbidScriptsOfOthersAndFraming) {
  Response response;
  AddSecurityHeaders(response);
  std::string_view policy = response.headers.Get("Content-Security-Policy");
  EXPECT_EQ(policy.find("default-src 'none'"), 0u);
  EXPECT_NE(policy.find("form-action 'none'"), std::string_view::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string_view::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string_view::npos);
  EXPECT_EQ(response.headers.Get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.headers.Get("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(response.headers.Get("Cache-Control"), "no-store");
  Response file;
  file.headers.Set("Cache-Control", "no-cache");
  AddSecurityHeaders(file);
  EXPECT_EQ(file.headers.Get("Cache-Control"), "no-cache");
}

}  // namespace
}  // namespace graphdbg::http
