#include "server/http/router.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_split.h"
#include "server/base/string_views.h"
#include "server/http/url_decoding.h"

namespace graphdbg::http {
namespace {

using Params = std::map<std::string, std::string>;

bool IsName(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

std::vector<std::string> Segments(std::string_view path) {
  return absl::StrSplit(ToAbsl(path), '/');
}

// The values of the {names} if the path matches. Segments are decoded after the
// path is split, so a value may contain "%2F".
std::optional<Params> MatchSegments(const std::vector<std::string>& pattern,
                                    const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  Params params;
  for (size_t i = 0; i < pattern.size(); ++i) {
    auto value = PercentDecode(path[i], false);
    if (!value) return std::nullopt;
    if (IsName(pattern[i])) {
      if (value->empty()) return std::nullopt;
      params[pattern[i].substr(1, pattern[i].size() - 2)] = std::move(*value);
    } else if (pattern[i] != *value) {
      return std::nullopt;
    }
  }
  return params;
}

}  // namespace

void Router::Add(std::string method, std::string_view pattern, Handler handler,
                 RouteOptions options) {
  Insert({std::move(method), Segments(pattern), std::move(handler), nullptr,
          std::move(options)});
}

void Router::AddUpload(std::string method, std::string_view pattern,
                       Handler handler, RouteOptions options) {
  Insert({std::move(method), Segments(pattern), std::move(handler), nullptr,
          std::move(options), true});
}

void Router::AddChannel(std::string_view pattern, ChannelHandler handler,
                        RouteOptions options) {
  Insert({"GET", Segments(pattern), nullptr, std::move(handler),
          std::move(options)});
}

void Router::Insert(Route route) {
  auto names = [](const Route& r) {
    return std::count_if(r.segments.begin(), r.segments.end(), IsName);
  };
  auto place = std::upper_bound(
      routes_.begin(), routes_.end(), route,
      [&](const Route& a, const Route& b) { return names(a) < names(b); });
  routes_.insert(place, std::move(route));
}

Router::Match Router::Find(std::string_view method,
                           std::string_view path) const {
  std::string_view wanted = method == "HEAD" ? "GET" : method;
  const std::vector<std::string> segments = Segments(path);
  Match match;
  for (const Route& route : routes_) {
    auto params = MatchSegments(route.segments, segments);
    if (!params) continue;
    if (route.method != wanted) {
      match.allow.push_back(route.method);
      continue;
    }
    match.handler = route.handler ? &route.handler : nullptr;
    match.channel = route.channel ? &route.channel : nullptr;
    match.is_upload = route.is_upload;
    match.options = &route.options;
    match.params = std::move(*params);
    match.allow.clear();
    return match;
  }
  if (match.allow.empty() && wanted == "GET" && fallback_) {
    match.handler = &fallback_;
    match.options = &fallback_options_;
  }
  return match;
}

}  // namespace graphdbg::http
