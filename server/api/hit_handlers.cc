// Hits, their causes, and the incidents that they belong to.
#include <charconv>

#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxHitsPage = 1'000;
constexpr uint64_t kMaxIncidents = 1'000;
constexpr uint32_t kIncidents = 200;

// A malformed id is NOT_FOUND, like the id of a hit that does not exist.
absl::StatusOr<uint64_t> HitId(const http::Request& request) {
  const std::string& text = request.path_params.at("hit");
  uint64_t id = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || stop != end) {
    return Error(absl::StatusCode::kNotFound, "unknown_hit",
                 "there is no hit '" + text + "'");
  }
  return id;
}

}  // namespace

Answer ListHits(const Services&, const http::Request& request,
                const JobPtr& job) {
  Arguments arguments(request);
  model::HitQuery query;
  query.watchpoint = arguments.Integer32("watchpoint");
  query.rank = arguments.Integer32("rank");
  query.step = arguments.Integer("step", 0, UINT64_MAX);
  query.incident = arguments.Integer("incident", 1, UINT64_MAX);
  query.node = arguments.Text("node");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxHitsPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::HitPage result,
                      co_await job->Hits(std::move(query)));
  co_return JsonResponse(Encode(result));
}

Answer GetDiagnosis(const Services&, const http::Request& request,
                    const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const uint64_t hit, HitId(request));
  CO_ASSIGN_OR_RETURN(const model::Diagnosis found,
                      co_await job->Diagnose(hit));
  co_return JsonResponse(Encode(found));
}

Answer ListIncidents(const Services&, const http::Request& request,
                     const JobPtr& job) {
  Arguments arguments(request);
  const auto limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxIncidents).value_or(kIncidents));
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::IncidentPage page,
                      co_await job->Incidents(limit));
  co_return JsonResponse(Encode(page));
}

}  // namespace graphdbg::api
