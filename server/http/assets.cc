#include "server/http/assets.h"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "proto/wire/status_macros.h"
#include "server/http/header_lists.h"
#include "server/http/problem.h"
#include "server/http/url_decoding.h"

namespace graphdbg::http {
namespace {

using nlohmann::json;

// Most preferred first.
constexpr std::array<const char*, 3> kEncodings = {"br", "gzip", "identity"};
constexpr size_t kIdentity = 2;

absl::StatusOr<std::string_view> Range(std::string_view data,
                                       const json& range) {
  if (!range.is_array() || range.size() != 2 ||
      !range[0].is_number_unsigned() || !range[1].is_number_unsigned()) {
    return absl::InvalidArgumentError("asset pack: malformed range");
  }
  uint64_t offset = range[0].get<uint64_t>();
  uint64_t size = range[1].get<uint64_t>();
  if (offset > data.size() || size > data.size() - offset) {
    return absl::InvalidArgumentError(
        "asset pack: range exceeds the size of the pack");
  }
  return data.substr(offset, size);
}

std::string Text(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<Assets> Assets::Parse(std::string_view pack) {
  uint64_t index_size = 0;
  if (pack.size() < sizeof(index_size)) {
    return absl::InvalidArgumentError("asset pack: too short");
  }
  std::memcpy(&index_size, pack.data(), sizeof(index_size));
  pack.remove_prefix(sizeof(index_size));
  if (index_size > pack.size()) {
    return absl::InvalidArgumentError(
        "asset pack: index exceeds the size of the pack");
  }
  json index = json::parse(pack.substr(0, index_size), nullptr, false);
  std::string_view data = pack.substr(index_size);
  if (!index.is_array()) {
    return absl::InvalidArgumentError("asset pack: index is not a list");
  }
  Assets assets;
  for (const json& entry : index) {
    Asset asset;
    asset.content_type = Text(entry, "type");
    asset.hash = Text(entry, "hash");
    asset.immutable = entry.value("immutable", false);
    for (size_t i = 0; i < kEncodings.size(); ++i) {
      auto range = entry.find(kEncodings[i]);
      if (range == entry.end()) continue;
      ASSIGN_OR_RETURN(asset.bytes[i], Range(data, *range));
    }
    if (asset.bytes[kIdentity].data() == nullptr) {
      return absl::InvalidArgumentError("asset pack: file without content");
    }
    assets.assets_.emplace(Text(entry, "path"), std::move(asset));
  }
  return assets;
}

Response Assets::Serve(const Request& request) const {
  std::string path = PercentDecode(request.path, false).value_or("");
  if (path == "/") path = "/index.html";
  auto found = assets_.find(path);
  if (found == assets_.end()) {
    return ProblemResponse(404, "not_found", "no resource at " + path);
  }
  const Asset& asset = found->second;
  size_t choice = kIdentity;
  std::string_view accepted = request.headers.Get("Accept-Encoding");
  for (size_t i = 0; i < kIdentity; ++i) {
    if (asset.bytes[i].data() != nullptr &&
        ListsToken(accepted, kEncodings[i])) {
      choice = i;
      break;
    }
  }
  Response response;
  // Each encoding is a separate representation, with an ETag of its own.
  std::string etag = "\"" + asset.hash + "-" + kEncodings[choice] + "\"";
  response.headers.Set("ETag", etag);
  response.headers.Set("Vary", "Accept-Encoding");
  response.headers.Set(
      "Cache-Control",
      asset.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (MatchesEtag(request.headers.Get("If-None-Match"), etag)) {
    response.status = 304;
    return response;
  }
  response.headers.Set("Content-Type", asset.content_type);
  if (choice != kIdentity) {
    response.headers.Set("Content-Encoding", kEncodings[choice]);
  }
  response.static_body = asset.bytes[choice];
  return response;
}

}  // namespace graphdbg::http
