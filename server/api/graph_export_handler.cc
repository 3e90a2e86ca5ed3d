// The graph as a file. JSON is written a page of nodes at a time; an ONNX file
// has to be known whole before its first byte.
#include <iterator>
#include <memory>
#include <utility>

#include "server/api/arguments.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/exporters/onnx_graph.h"

namespace graphdbg::api {
namespace {

using model::GraphPage;

// All nodes, then all edges, in pages that are asked for twice rather than
// held.
class JsonExport {
 public:
  JsonExport(std::shared_ptr<jobs::Job> job, GraphPage first)
      : job_(std::move(job)), graph_(first.graph), page_(std::move(first)) {}

  boost::asio::awaitable<absl::StatusOr<std::string>> Next() {
    if (part_ == Part::kDone) co_return std::string();
    if (!has_page_) {
      absl::StatusOr<GraphPage> page = co_await job_->Export(graph_, from_);
      if (!page.ok()) co_return page.status();
      page_ = *std::move(page);
    }
    std::string text;
    if (part_ == Part::kNodes && from_ == 0) text = Opening();
    for (const model::ExportNode& node : page_.nodes) Append(node, text);
    has_page_ = false;
    from_ = page_.next;
    if (from_ == 0) text += Closing();
    // Nodes may have no edges, and an empty piece would be the end.
    if (text.empty()) text = "\n";
    co_return text;
  }

 private:
  enum class Part { kNodes, kEdges, kDone };

  std::string Opening() const {
    const Json head = {{"format", "graphdbg.graph"},
                       {"version", 1},
                       {"job", job_->id()},
                       {"graph", graph_}};
    std::string text = Dump(head);
    text.pop_back();
    return text + ",\"nodes\":[";
  }

  void Append(const model::ExportNode& node, std::string& text) {
    if (part_ == Part::kNodes) return AppendItem(EncodeExport(node), text);
    for (const auto& edge : node.inputs) AppendItem(Encode(edge), text);
  }

  void AppendItem(const Json& item, std::string& text) {
    if (std::exchange(has_items_, true)) text += ",";
    text += "\n" + Dump(item);
  }

  // Of the present part, with what opens the next.
  std::string Closing() {
    has_items_ = false;
    const bool nodes = part_ == Part::kNodes;
    part_ = nodes ? Part::kEdges : Part::kDone;
    return nodes ? "],\"edges\":[" : "]}\n";
  }

  const std::shared_ptr<jobs::Job> job_;
  const std::string graph_;
  GraphPage page_;
  bool has_page_ = true;
  Part part_ = Part::kNodes;
  // Where the present page begins.
  uint64_t from_ = 0;
  bool has_items_ = false;
};

Answer OnnxFile(const Services& services, std::shared_ptr<jobs::Job> job,
                GraphPage page) {
  exporters::OnnxOptions options;
  options.graph = page.graph;
  options.producer_version = services.identity.version;
  std::vector<model::ExportNode> nodes = std::move(page.nodes);
  while (page.next != 0) {
    absl::StatusOr<GraphPage> next =
        co_await job->Export(options.graph, page.next);
    if (!next.ok()) co_return next.status();
    page = *std::move(next);
    nodes.insert(nodes.end(), std::make_move_iterator(page.nodes.begin()),
                 std::make_move_iterator(page.nodes.end()));
  }
  absl::StatusOr<std::string> bytes = exporters::ToOnnx(nodes, options);
  if (!bytes.ok()) co_return bytes.status();
  http::Response response;
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Content-Disposition",
                       "attachment; filename=\"graph.onnx\"");
  response.body = *std::move(bytes);
  co_return response;
}

}  // namespace

Answer ExportGraph(const Services& services, const http::Request& request) {
  auto job = JobOf(services, request);
  if (!job.ok()) co_return job.status();
  Arguments arguments(request);
  const std::string format = arguments.Text("format");
  if (!format.empty() && format != "json" && format != "onnx") {
    arguments.Fail("format", "'" + format + "' is none of json, onnx");
  }
  if (!arguments.status().ok()) co_return arguments.status();
  absl::StatusOr<GraphPage> first =
      co_await (*job)->Export(arguments.Text("graph"), 0);
  if (!first.ok()) co_return first.status();
  absl::StatusOr<http::Response> response = http::Response();
  if (format == "onnx") {
    response = co_await OnnxFile(services, *job, *std::move(first));
  } else {
    auto json = std::make_shared<JsonExport>(*job, *std::move(first));
    response->next_piece = [json] { return json->Next(); };
    response->headers.Set("Content-Type", "application/json");
    response->headers.Set("Content-Disposition",
                          "attachment; filename=\"graph.json\"");
  }
  if (response.ok()) response->headers.Set("Cache-Control", "no-store");
  co_return response;
}

}  // namespace graphdbg::api
