// Experiments with a paused job, and changes of it.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/api/caller.h"
#include "server/api/decode_orders.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/api/json_reading.h"
#include "server/base/error.h"

namespace graphdbg::api {
namespace {

absl::Status BadAnswer(const std::string& what) {
  return Error(absl::StatusCode::kInternal, "bad_answer",
               "the job answered an experiment with " + what);
}

// A field of what the job sent, or null if it has another type.
Json Field(const ReceivedJson& object, const char* name,
           bool (*fits)(const ReceivedJson&)) {
  const auto it = object.find(name);
  if (it == object.end() || !fits(*it)) return nullptr;
  if (it->is_string()) {
    return it->get<std::string>();
  }
  if (it->is_boolean()) return it->get<bool>();
  if (it->is_number_unsigned()) return it->get<uint64_t>();
  return Number(it->get<double>());
}

bool IsText(const ReceivedJson& value) { return value.is_string(); }
bool IsTruth(const ReceivedJson& value) { return value.is_boolean(); }
bool IsNumber(const ReceivedJson& value) { return value.is_number(); }

// The job is not trusted: only what is known is passed on.
absl::StatusOr<Json> EncodeOutcomes(const model::TensorValue& value) {
  ASSIGN_OR_RETURN(const ReceivedJson received,
                   ParseJson(value.data, "the result of the experiment"));
  const auto outcomes = received.find("outcomes");
  if (outcomes == received.end() || !outcomes->is_array()) {
    return BadAnswer("no outcomes");
  }
  Json out = {{"node", value.node},
              {"slot", value.slot},
              {"rank", value.rank},
              {"step", value.step},
              {"level", Field(received, "level", IsText)},
              {"why_not_step", Field(received, "why_not_step", IsText)},
              {"conclusion", Field(received, "conclusion", IsText)}};
  out["outcomes"] = Json::array();
  for (const ReceivedJson& outcome : *outcomes) {
    if (!outcome.is_object()) return BadAnswer("an outcome that is no object");
    out["outcomes"].push_back(
        {{"experiment", Field(outcome, "experiment", IsText)},
         {"title", Field(outcome, "title", IsText)},
         {"fails", Field(outcome, "fails", IsTruth)},
         {"same_bits", Field(outcome, "same_bits", IsTruth)},
         {"bad_count", Field(outcome, "bad_count", IsNumber)},
         {"count", Field(outcome, "count", IsNumber)},
         {"text", Field(outcome, "text", IsText)},
         {"milliseconds", Field(outcome, "milliseconds", IsNumber)}});
  }
  return out;
}

// Has the query ask about the hit.
jobs::StatusTask AskAboutHit(const JobPtr& job, uint64_t id,
                             model::TensorQuery& query) {
  model::HitQuery wanted;
  wanted.id = id;
  CO_ASSIGN_OR_RETURN(const model::HitPage found,
                      co_await job->Hits(std::move(wanted)));
  if (found.hits.empty()) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_hit",
                    absl::StrCat("the job has no hit ", id));
  }
  const model::Hit& hit = found.hits.front();
  query.node = hit.node;
  query.slot = hit.slot;
  query.rank = hit.rank;
  query.experiment->step = hit.step;
  query.experiment->hit = Encode(hit).dump();
  co_return absl::OkStatus();
}

std::vector<uint32_t> RanksOf(const ChangeRequest& wanted, const JobPtr& job) {
  if (wanted.rank) return {*wanted.rank};
  std::vector<uint32_t> ranks;
  for (const model::Rank& rank : job->LastKnown()->ranks) {
    ranks.push_back(rank.rank);
  }
  return ranks;
}

}  // namespace

Answer RunExperiments(const Services&, const http::Request& request,
                      const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(WhatIfRequest wanted, DecodeWhatIf(request.body));
  if (wanted.hit) {
    CO_RETURN_IF_ERROR(co_await AskAboutHit(job, *wanted.hit, wanted.query));
  }
  Note(request, absl::StrCat(wanted.query.node, ":", wanted.query.slot));
  CO_ASSIGN_OR_RETURN(const model::TensorValue value,
                      co_await job->Tensor(std::move(wanted.query)));
  CO_ASSIGN_OR_RETURN(const Json outcomes, EncodeOutcomes(value));
  co_return JsonResponse(outcomes);
}

Answer ChangeJob(const Services&, const http::Request& request,
                 const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const ChangeRequest wanted, DecodeChange(request.body));
  Note(request, wanted.description);
  Json changes = Json::array();
  for (const uint32_t rank : RanksOf(wanted, job)) {
    model::TensorQuery query = wanted.query;
    query.rank = rank;
    query.changed_by = CallerOf(request).name;
    CO_ASSIGN_OR_RETURN(const model::TensorValue value,
                        co_await job->Tensor(std::move(query)));
    changes.push_back({{"rank", rank}, {"text", value.data}});
  }
  co_return JsonResponse({{"changes", std::move(changes)}});
}

}  // namespace graphdbg::api
