// JSON of the API's answers and events.
#ifndef SERVER_API_ENCODE_H_
#define SERVER_API_ENCODE_H_

#include "agent/conditions/advice.h"
#include "server/api/json.h"
#include "server/model/diagnosis.h"
#include "server/model/graph.h"
#include "server/model/job.h"
#include "server/model/neighbours.h"
#include "server/model/storage.h"
#include "server/model/tensor.h"
#include "server/model/watch.h"

namespace graphdbg::api {

Json Encode(const model::Rank& rank);
Json Encode(const model::Job& job);
Json Encode(const model::Controller& controller);
Json Encode(const model::Storage& storage);
Json Encode(const model::GraphSummary& graph);
Json Encode(const model::Node& node);
Json Encode(const model::NodeDetail& detail);
Json Encode(const model::ScopeView& view);
Json Encode(const model::SearchResult& result);
// A node in an export, without the fields that change while the job runs.
Json EncodeExport(const model::ExportNode& node);
Json Encode(const model::NeighbourEdge& edge);
Json Encode(const model::Watchpoint& watchpoint);
Json Encode(const model::SelectionPreview& preview);
Json Encode(const conditions::Advice& advice);
Json Encode(const model::Hit& hit);
// A hit in a line: its condition, its tensor, and what was measured.
std::string Summary(const model::Hit& hit);
Json Encode(const model::HitPage& result);
Json Encode(const model::EvidenceLink& link);
Json Encode(const model::Diagnosis& diagnosis);
Json Encode(const model::Incident& incident);
Json Encode(const model::IncidentPage& page);
Json Encode(const model::Statistics& statistics);
Json Encode(const Quantiles& quantiles);
Json Encode(const model::TensorSummary& summary);
Json Encode(const model::Neighbours& neighbours);
Json Encode(const model::TensorHistory& history);
// The fields that all answers about a tensor have in common.
Json EncodeHead(const model::TensorValue& value);

// One message of the event stream.
Json Encode(const model::Event& event, int64_t time_unix_nano);

template <class T>
Json EncodeAll(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(Encode(value));
  return list;
}

}  // namespace graphdbg::api

#endif  // SERVER_API_ENCODE_H_
