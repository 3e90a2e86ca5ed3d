#include "server/http/guard.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/auth/origin_policy.h"
#include "server/base/string_views.h"
#include "server/http/problem.h"

namespace graphdbg::http {
namespace {

bool CarriesBody(const Request& request) {
  bool writes = request.method == "POST" || request.method == "PUT" ||
                request.method == "PATCH";
  const std::string_view length = request.headers.Get("Content-Length");
  return writes || request.headers.Has("Transfer-Encoding") ||
         length.find_first_not_of('0') != std::string_view::npos;
}

bool IsType(std::string_view content_type, std::string_view wanted) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(ToAbsl(type)),
                                ToAbsl(wanted));
}

bool IsOwn(std::string_view host_header, const Site& site) {
  if (auth::IsLoopbackHostHeader(host_header)) return true;
  return site.is_own_name && site.is_own_name(auth::HostOf(host_header));
}

bool NamesPort(std::string_view host_header, const Site& site) {
  const uint16_t port =
      auth::PortOf(host_header).value_or(site.https ? 443 : 80);
  return site.ports.empty() || std::find(site.ports.begin(), site.ports.end(),
                                         port) != site.ports.end();
}

// The views of extensions of VS Code, and its window around them.
constexpr char kEditors[] = "vscode-webview: vscode-file:";

// Browsers report how a page relates to what it requests, also where they send
// no Origin header (W3C, Fetch Metadata Request Headers).
bool IsFromOtherSite(const Request& request, const Site& own) {
  const std::string_view site = request.headers.Get("Sec-Fetch-Site");
  if (site.empty() || site == "same-origin" || site == "none") return false;
  const std::string_view target = request.headers.Get("Sec-Fetch-Dest");
  const bool is_shown =
      target == "document" ||
      (target == "iframe" && !FrameAncestorsOf(request, own).empty());
  const bool is_link = (request.method == "GET" || request.method == "HEAD") &&
                       request.headers.Get("Sec-Fetch-Mode") == "navigate";
  return !is_link || !is_shown;
}

}  // namespace

std::string FrameAncestorsOf(const Request& request, const Site& site) {
  std::string origins = site.frame_ancestors;
  if (site.is_embedded && site.is_embedded(request)) {
    absl::StrAppend(&origins, origins.empty() ? "" : " ", kEditors);
  }
  return origins;
}

std::optional<Response> CheckSource(const Request& request, const Site& site) {
  std::string_view host = request.headers.Get("Host");
  if (!IsOwn(host, site)) {
    return ProblemResponse(
        421, "wrong_host",
        "the Host header is '" + std::string(host) +
            "', but this server accepts only localhost, loopback addresses" +
            (site.is_own_name ? " and the names in its certificate"
                              : " (use 'ssh -L' for remote access)"));
  }
  if (!NamesPort(host, site)) {
    return ProblemResponse(
        421, "wrong_host",
        "the Host header is '" + std::string(host) +
            "', but this server is at port " + std::to_string(site.ports[0]) +
            "; give a tunnel the same port, or start the server with "
            "--forwarded-port");
  }
  std::string_view origin = request.headers.Get("Origin");
  if (request.headers.Has("Origin") &&
      !auth::IsSameOrigin(origin, host, site.https)) {
    return ProblemResponse(
        403, "wrong_origin",
        "pages from '" + std::string(origin) + "' may not access this server");
  }
  if (IsFromOtherSite(request, site)) {
    return ProblemResponse(403, "wrong_origin",
                           "pages of other sites may not access this server");
  }
  return std::nullopt;
}

std::optional<Response> CheckContentType(const Request& request,
                                         BodyKind body) {
  const bool json = body == BodyKind::kJson;
  const std::string wanted =
      json ? "application/json" : "application/octet-stream";
  if (CarriesBody(request) &&
      !IsType(request.headers.Get("Content-Type"), wanted)) {
    return ProblemResponse(
        415, json ? "not_json" : "not_bytes",
        "this request requires the header 'Content-Type: " + wanted + "'");
  }
  return std::nullopt;
}

void AddSecurityHeaders(Response& response) {
  const std::string& frame_ancestors = response.frame_ancestors;
  response.headers.Set(
      "Content-Security-Policy",
      std::string("default-src 'none'; script-src 'self'; style-src 'self'; "
                  "font-src 'self'; img-src 'self'; connect-src 'self'; "
                  "worker-src 'self'; base-uri 'none'; form-action 'none'; "
                  "frame-ancestors ") +
          (frame_ancestors.empty() ? "'none'" : frame_ancestors));
  response.headers.Set("X-Content-Type-Options", "nosniff");
  // It cannot name other origins, and browsers that know the policy ignore it.
  if (frame_ancestors.empty()) response.headers.Set("X-Frame-Options", "DENY");
  response.headers.Set("Referrer-Policy", "no-referrer");
  response.headers.Set("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.Set("Cross-Origin-Resource-Policy", "same-origin");
  if (!response.headers.Has("Cache-Control")) {
    response.headers.Set("Cache-Control", "no-store");
  }
}

}  // namespace graphdbg::http
