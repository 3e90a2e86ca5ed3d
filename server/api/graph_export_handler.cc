// Exports the graph as a file. JSON is sent one page of nodes at a time. An
// ONNX file has to be complete before its first byte can be sent.
#include <iterator>
#include <memory>
#include <utility>

#include "proto/wire/status_macros.h"
#include "server/api/arguments.h"
#include "server/api/encode.h"
#include "server/api/handlers.h"
#include "server/exporters/onnx_graph.h"

namespace graphdbg::api {
namespace {

using model::GraphPage;

// Writes all nodes, then all edges. It requests each page twice instead of
// keeping the whole graph in memory.
class JsonExport {
 public:
  JsonExport(std::shared_ptr<jobs::Job> job, GraphPage first)
      : job_(std::move(job)), graph_(first.graph), page_(std::move(first)) {}

  boost::asio::awaitable<absl::StatusOr<std::string>> Next() {
    if (part_ == Part::kDone) co_return std::string();
    if (!has_page_) {
      CO_ASSIGN_OR_RETURN(page_, co_await job_->Export(graph_, from_));
    }
    std::string text;
    if (part_ == Part::kNodes && from_ == 0) text = Opening();
    for (const model::ExportNode& node : page_.nodes) Append(node, text);
    has_page_ = false;
    from_ = page_.next;
    if (from_ == 0) text += Closing();
    // A page may contain no edges, and an empty piece would end the response.
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

  // Closes the current list and opens the next one.
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
  // The position of the current page.
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
    CO_ASSIGN_OR_RETURN(page, co_await job->Export(options.graph, page.next));
    nodes.insert(nodes.end(), std::make_move_iterator(page.nodes.begin()),
                 std::make_move_iterator(page.nodes.end()));
  }
  http::Response response;
  CO_ASSIGN_OR_RETURN(response.body, exporters::ToOnnx(nodes, options));
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Set("Content-Disposition",
                       "attachment; filename=\"graph.onnx\"");
  co_return response;
}

}  // namespace

Answer ExportGraph(const Services& services, const http::Request& request,
                   const JobPtr& job) {
  Arguments arguments(request);
  const std::string format = arguments.Text("format");
  if (!format.empty() && format != "json" && format != "onnx") {
    arguments.Fail("format", "'" + format + "' is neither json nor onnx");
  }
  CO_RETURN_IF_ERROR(arguments.status());
  CO_ASSIGN_OR_RETURN(GraphPage first,
                      co_await job->Export(arguments.Text("graph"), 0));
  absl::StatusOr<http::Response> response = http::Response();
  if (format == "onnx") {
    response = co_await OnnxFile(services, job, std::move(first));
  } else {
    auto json = std::make_shared<JsonExport>(job, std::move(first));
    response->next_piece = [json] { return json->Next(); };
    response->headers.Set("Content-Type", "application/json");
    response->headers.Set("Content-Disposition",
                          "attachment; filename=\"graph.json\"");
  }
  if (response.ok()) response->headers.Set("Cache-Control", "no-store");
  co_return response;
}

}  // namespace graphdbg::api
