#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/caller.h"
#include "server/api/decode.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/model/enum_names.h"

namespace graphdbg::api {
namespace {

constexpr size_t kRanksPage = 1'000;
constexpr uint64_t kMaxRanksPage = 10'000;

// The product in the User-Agent header: "graphdbg" for "graphdbg/0.1 (...)".
// Every browser identifies itself as Mozilla.
std::string ClientOf(const http::Request& request) {
  constexpr size_t kMaxLength = 64;
  const std::string_view agent = request.headers.Get("User-Agent");
  const std::string_view product = agent.substr(0, agent.find_first_of("/ "));
  if (product == "Mozilla") return "browser";
  return std::string(product.substr(0, kMaxLength));
}

// For the audit log: "step 3", "continue_to forward/fc1 on rank 2", "next_node
// outside forward/fc1".
std::string DescribeControl(const model::ControlRequest& control) {
  std::string text(model::ToString(control.verb));
  if (control.verb == model::ControlVerb::kStep) {
    text += " " + std::to_string(control.steps);
  }
  if (!control.node.empty()) text += " " + control.node;
  const model::PassedNodes& passed = control.passed;
  if (passed.within) text += " within " + *passed.within;
  if (passed.outside) text += " outside " + *passed.outside;
  if (passed.other_line) text += " other_line";
  if (control.rank) text += " on rank " + std::to_string(*control.rank);
  return text;
}

}  // namespace

Answer ListJobs(const Services& services, const http::Request&) {
  Json jobs = Json::array();
  for (const auto& job : services.directory.Jobs()) {
    jobs.push_back(Encode(*job->LastKnown()));
  }
  co_return JsonResponse({{"jobs", std::move(jobs)}});
}

Answer GetJob(const Services&, const http::Request&, const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const model::Job info, co_await job->Describe());
  co_return JsonResponse(Encode(info));
}

Answer ListRanks(const Services&, const http::Request& request,
                 const JobPtr& job) {
  Arguments arguments(request);
  const auto state = arguments.Choice<model::JobState>("state");
  const size_t limit =
      arguments.Integer("limit", 1, kMaxRanksPage).value_or(kRanksPage);
  // The first rank of the page.
  const uint32_t from = arguments.Integer32("cursor").value_or(0);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::Job info, co_await job->Describe());
  Json ranks = Json::array();
  Json next;
  for (const model::Rank& rank : info.ranks) {
    if (rank.rank < from || (state && rank.state != *state)) continue;
    if (ranks.size() == limit) {
      next = std::to_string(rank.rank);
      break;
    }
    ranks.push_back(Encode(rank));
  }
  co_return JsonResponse(
      {{"ranks", std::move(ranks)}, {"next_cursor", std::move(next)}});
}

Answer DeleteJob(const Services& services, const http::Request&,
                 const JobPtr& job) {
  CO_RETURN_IF_ERROR(co_await services.directory.Forget(job->id()));
  http::Response response;
  response.status = 204;
  co_return response;
}

Answer ControlJob(const Services&, const http::Request& request,
                  const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(model::ControlRequest control,
                      DecodeControl(request.body));
  Note(request, DescribeControl(control));
  if (control.verb == model::ControlVerb::kTerminate) {
    CO_RETURN_IF_ERROR(
        auth::RequireRole(CallerOf(request), auth::Role::kAdmin));
  }
  control.user = CallerOf(request).name;
  control.client = ClientOf(request);
  control.peer = request.peer;
  CO_ASSIGN_OR_RETURN(const std::string command,
                      co_await job->Control(std::move(control)));
  co_return JsonResponse({{"command_id", command}}, 202);
}

}  // namespace graphdbg::api
