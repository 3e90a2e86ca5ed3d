// Headers that decide about access. No other text than the token opens the API,
// and no other name than the server's own counts as one.
//
// An input consists of lines: Authorization, Host, Origin, Sec-Fetch-Site, the
// query, and what is left.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/auth/authenticator.h"
#include "server/auth/origin_policy.h"
#include "server/http/byte_range.h"
#include "server/http/guard.h"
#include "server/http/header_lists.h"
#include "server/http/url_decoding.h"

namespace graphdbg {
namespace {

constexpr char kToken[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

std::string TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string line(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

void CheckToken(const std::string& header) {
  static const auto* const auth =
      new auth::Authenticator({kToken, "agent"}, {});
  const bool right = absl::AsciiStrToLower(header.substr(0, 7)) == "bearer " &&
                     header.substr(7) == kToken;
  if (auth->CheckAuthorization(header).ok() != right) std::abort();
}

void CheckNames(const std::string& host, const std::string& origin,
                const std::string& site) {
  http::Request request;
  request.method = "GET";
  request.headers.Set("Host", host);
  if (!origin.empty()) request.headers.Set("Origin", origin);
  request.headers.Set("Sec-Fetch-Site", site);
  http::Site ours;
  ours.ports = {8080};
  auth::IsLoopbackPeer(host);
  if (http::CheckSource(request, ours)) return;
  const std::string name = absl::AsciiStrToLower(host);
  const bool is_ours = absl::StartsWith(name, "localhost:") ||
                       absl::StartsWith(name, "localhost.:") ||
                       absl::StartsWith(name, "127.") ||
                       absl::StartsWith(name, "[");
  if (!is_ours || !absl::EndsWith(name, "8080")) std::abort();
  if (!origin.empty() && absl::AsciiStrToLower(origin) != "http://" + name) {
    std::abort();
  }
  if (!site.empty() && site != "none" && site != "same-origin") std::abort();
}

void Take(std::string_view input) {
  CheckToken(TakeLine(input));
  const std::string host = TakeLine(input);
  const std::string origin = TakeLine(input);
  CheckNames(host, origin, TakeLine(input));
  http::ParseQuery(TakeLine(input));
  http::PercentDecode(input, false);
  http::ListsToken(input, "gzip");
  http::MatchesEtag(input, "\"tag\"");
  if (const auto range = http::ParseRange(input)) {
    const auto bytes = range->In(10);
    if (bytes && (bytes->begin >= bytes->end || bytes->end > 10)) std::abort();
  }
}

}  // namespace
}  // namespace graphdbg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphdbg::Take({reinterpret_cast<const char*>(data), size});
  return 0;
}
