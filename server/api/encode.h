// What a session tells, as JSON.
#ifndef SERVER_API_ENCODE_H_
#define SERVER_API_ENCODE_H_

#include "server/api/json.h"
#include "server/session/types.h"

namespace graphdbg::api {

Json Encode(const session::JobInfo& job);
Json Encode(const session::GraphInfo& graph);
Json Encode(const session::NodeInfo& node);
Json Encode(const session::NodeDetail& detail);
Json Encode(const session::ScopeView& view);
Json Encode(const session::SearchResult& result);
// As exports say it: what does not change while others look.
Json EncodeExport(const session::ExportNode& node);
Json Encode(const session::NeighbourEdge& edge);
Json Encode(const session::WatchpointInfo& watchpoint);
Json Encode(const session::HitInfo& hit);
Json Encode(const session::HitResult& result);
Json Encode(const session::StatisticsInfo& statistics);
Json Encode(const session::TensorSummary& summary);
Json Encode(const session::Neighbours& neighbours);
Json Encode(const session::TensorHistory& history);
// All but the data: what JSON and statistics answers have in common.
Json EncodeHead(const session::TensorValue& value);

// One message of the event stream.
Json Encode(const session::Event& event, int64_t time_unix_nano);

template <class T>
Json EncodeAll(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(Encode(value));
  return list;
}

}  // namespace graphdbg::api

#endif  // SERVER_API_ENCODE_H_
