#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"

namespace graphdbg::api {
namespace {

// "graphdbg" of "graphdbg/0.1 (...)"; all browsers call themselves Mozilla.
std::string ClientOf(const http::Request& request) {
  constexpr size_t kMaxLength = 64;
  const std::string_view agent = request.headers.Get("User-Agent");
  const std::string_view product = agent.substr(0, agent.find_first_of("/ "));
  if (product == "Mozilla") return "browser";
  return std::string(product.substr(0, kMaxLength));
}

}  // namespace

Answer ListJobs(const Services& services, const http::Request&) {
  Json jobs = Json::array();
  for (const auto& job : services.directory.Jobs()) {
    absl::StatusOr<model::Job> info = co_await job->Describe();
    // One that was forgotten since is no longer in the list.
    if (info.ok()) jobs.push_back(Encode(*info));
  }
  co_return JsonResponse({{"jobs", std::move(jobs)}});
}

Answer GetJob(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<model::Job> info = co_await (*job)->Describe();
  if (!info.ok()) co_return info.status();
  co_return JsonResponse(Encode(*info));
}

Answer DeleteJob(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::Status forgotten = co_await services.directory.Forget((*job)->id());
  if (!forgotten.ok()) co_return forgotten;
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ControlJob(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<model::ControlRequest> control = DecodeControl(request.body);
  if (!control.ok()) co_return control.status();
  control->client = ClientOf(request);
  control->peer = request.peer;
  absl::StatusOr<std::string> command =
      co_await (*job)->Control(*std::move(control));
  if (!command.ok()) co_return command.status();
  co_return JsonResponse({{"command_id", *command}}, 202);
}

}  // namespace graphdbg::api
