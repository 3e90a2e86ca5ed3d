#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/handlers.h"
#include "server/base/gzip.h"
#include "server/http/header_lists.h"

namespace graphdbg::api {

Answer GetGraphIndex(const Services&, const http::Request& request,
                     const JobPtr& job) {
  Arguments arguments(request);
  CO_ASSIGN_OR_RETURN(const std::shared_ptr<const model::GraphFile> file,
                      co_await job->Index(arguments.Text("graph")));
  // A client without this header accepts any encoding (RFC 9110 section
  // 12.5.3).
  const std::string_view accepted = request.headers.Get("Accept-Encoding");
  const bool gzip = accepted.empty() || http::ListsToken(accepted, "gzip");
  const std::string etag =
      "\"" + file->version + (gzip ? "" : "-identity") + "\"";
  http::Response response;
  response.headers.Set("ETag", etag);
  response.headers.Set("Vary", "Accept-Encoding");
  // Clients revalidate their copy each time; it rarely has changed.
  response.headers.Set("Cache-Control", "private, no-cache");
  if (http::MatchesEtag(request.headers.Get("If-None-Match"), etag)) {
    response.status = 304;
    co_return response;
  }
  response.headers.Set("Content-Type", "application/octet-stream");
  if (gzip) {
    response.headers.Set("Content-Encoding", "gzip");
    response.body = file->gzip;
    co_return response;
  }
  CO_ASSIGN_OR_RETURN(response.body, Gunzip(file->gzip, file->bytes));
  co_return response;
}

}  // namespace graphdbg::api
