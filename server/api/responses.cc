#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {

absl::StatusOr<std::shared_ptr<jobs::Job>> JobOf(const Services& services,
                                                 const http::Request& request) {
  const std::string& id = request.path_params.at("job");
  std::shared_ptr<jobs::Job> job = services.directory.Find(id);
  if (!job) {
    return Error(absl::StatusCode::kNotFound, "unknown_job",
                 "there is no job '" + id + "'");
  }
  return job;
}

http::Response JsonResponse(const Json& json, int status) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "application/json");
  response.headers.Set("Cache-Control", "no-store");
  response.body = Dump(json);
  return response;
}

}  // namespace graphdbg::api
