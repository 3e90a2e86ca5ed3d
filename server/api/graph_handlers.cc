#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"

namespace graphdbg::api {
namespace {

constexpr uint64_t kMaxSearchPage = 1'000;
constexpr uint64_t kMaxDepth = 20;

}  // namespace

Answer ListGraphs(const Services&, const http::Request&, const JobPtr& job) {
  CO_ASSIGN_OR_RETURN(const std::vector<model::GraphSummary> graphs,
                      co_await job->Graphs());
  co_return JsonResponse({{"graphs", EncodeAll(graphs)}});
}

Answer GetScope(const Services&, const http::Request& request,
                const JobPtr& job) {
  Arguments arguments(request);
  std::string graph = arguments.Text("graph");
  std::string name = arguments.Text("name");
  const auto aggregate = arguments.Integer32("aggregate");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(
      const model::ScopeView view,
      co_await job->Scope(std::move(graph), std::move(name), aggregate));
  co_return JsonResponse(Encode(view));
}

Answer GetNode(const Services&, const http::Request& request,
               const JobPtr& job) {
  Arguments arguments(request);
  std::string name = arguments.RequiredText("name");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::NodeDetail node,
                      co_await job->Node(std::move(name)));
  co_return JsonResponse(Encode(node));
}

Answer GetNeighbours(const Services&, const http::Request& request,
                     const JobPtr& job) {
  Arguments arguments(request);
  model::NeighbourQuery query;
  query.node = arguments.RequiredText("name");
  query.slot = arguments.Integer32("slot").value_or(0);
  query.depth = static_cast<uint32_t>(
      arguments.Integer("depth", 1, kMaxDepth).value_or(query.depth));
  query.rank = arguments.Integer32("rank").value_or(0);
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::Neighbours neighbours,
                      co_await job->Around(std::move(query)));
  co_return JsonResponse(Encode(neighbours));
}

Answer SearchNodes(const Services&, const http::Request& request,
                   const JobPtr& job) {
  Arguments arguments(request);
  model::SearchQuery query;
  query.q = arguments.Text("q");
  query.in = arguments.Choice<model::SearchIn>("in");
  query.category = arguments.Choice<model::Category>("category");
  query.kind = arguments.Choice<model::NodeKind>("kind");
  query.op_type = arguments.Text("op_type");
  query.source = arguments.Text("source");
  query.watchpoint = arguments.Integer32("watchpoint");
  query.limit = static_cast<uint32_t>(
      arguments.Integer("limit", 1, kMaxSearchPage).value_or(query.limit));
  query.cursor = arguments.Text("cursor");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::SearchResult result,
                      co_await job->Search(std::move(query)));
  co_return JsonResponse(Encode(result));
}

Answer GetSource(const Services&, const http::Request& request,
                 const JobPtr& job) {
  Arguments arguments(request);
  std::string file = arguments.RequiredText("file");
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(const model::SourceFile source,
                      co_await job->Source(std::move(file)));
  co_return JsonResponse(Json{{"file", source.file}, {"text", source.text}});
}

}  // namespace graphdbg::api
