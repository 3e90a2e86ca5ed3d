#include "server/api/arguments.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxSearchPage = 1'000;
constexpr uint64_t kMaxDepth = 20;

}  // namespace

Answer ListGraphs(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  absl::StatusOr<std::vector<model::GraphSummary>> graphs =
      co_await (*job)->Graphs();
  if (!graphs.ok()) co_return graphs.status();
  co_return JsonResponse({{"graphs", EncodeAll(*graphs)}});
}

Answer GetScope(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  std::string graph = arguments.Text("graph");
  std::string name = arguments.Text("name");
  const auto aggregate = arguments.Number32("aggregate");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::ScopeView> view =
      co_await (*job)->Scope(std::move(graph), std::move(name), aggregate);
  if (!view.ok()) co_return view.status();
  co_return JsonResponse(Encode(*view));
}

Answer GetNode(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  std::string name = arguments.RequiredText("name");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::NodeDetail> node =
      co_await (*job)->Node(std::move(name));
  if (!node.ok()) co_return node.status();
  co_return JsonResponse(Encode(*node));
}

Answer GetNeighbours(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  model::NeighbourQuery query;
  query.node = arguments.RequiredText("name");
  query.slot = arguments.Number32("slot").value_or(0);
  query.depth = static_cast<uint32_t>(
      arguments.Integer("depth", 1, kMaxDepth).value_or(query.depth));
  query.rank = arguments.Number32("rank").value_or(0);
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::Neighbours> neighbours =
      co_await (*job)->Around(std::move(query));
  if (!neighbours.ok()) co_return neighbours.status();
  co_return JsonResponse(Encode(*neighbours));
}

Answer SearchNodes(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  model::SearchQuery query;
  query.q = arguments.Text("q");
  query.category = arguments.Choice<model::Category>("category");
  query.kind = arguments.Choice<model::NodeKind>("kind");
  query.op_type = arguments.Text("op_type");
  query.source = arguments.Text("source");
  query.watchpoint = arguments.Number32("watchpoint");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxSearchPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<model::SearchResult> result =
      co_await (*job)->Search(std::move(query));
  if (!result.ok()) co_return result.status();
  co_return JsonResponse(Encode(*result));
}

}  // namespace graphdbg::api
