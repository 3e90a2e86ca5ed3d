#include <utility>

#include "server/api/arguments.h"
#include "server/api/handlers.h"
#include "server/base/gzip.h"
#include "server/http/text.h"

namespace graphdbg::api {

Answer GetGraphIndex(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  absl::StatusOr<std::shared_ptr<const model::GraphFile>> file =
      co_await (*job)->Index(arguments.Text("graph"));
  if (!file.ok()) co_return file.status();
  // Who says nothing of encodings takes any (RFC 9110 section 12.5.3).
  const std::string_view accepted = request.headers.Get("Accept-Encoding");
  const bool gzip = accepted.empty() || http::ListsToken(accepted, "gzip");
  const std::string etag =
      "\"" + (*file)->version + (gzip ? "" : "-identity") + "\"";
  http::Response response;
  response.headers.Set("ETag", etag);
  response.headers.Set("Vary", "Accept-Encoding");
  // Asked again each time, and seldom sent again.
  response.headers.Set("Cache-Control", "private, no-cache");
  if (http::MatchesEtag(request.headers.Get("If-None-Match"), etag)) {
    response.status = 304;
    co_return response;
  }
  response.headers.Set("Content-Type", "application/octet-stream");
  if (gzip) {
    response.headers.Set("Content-Encoding", "gzip");
    response.body = (*file)->gzip;
    co_return response;
  }
  absl::StatusOr<std::string> plain = Gunzip((*file)->gzip, (*file)->bytes);
  if (!plain.ok()) co_return plain.status();
  response.body = *std::move(plain);
  co_return response;
}

}  // namespace graphdbg::api
