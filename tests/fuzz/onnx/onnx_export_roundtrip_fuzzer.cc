// Graphs of any job are exported as ONNX, and ONNX files of anybody are opened.
// The reader reads every op that the exporter writes.
//
// An input is one byte and length-delimited messages of an agent if the byte is
// even; otherwise one byte and an ONNX file.
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "agent/onnx_splitter/graph_messages.h"
#include "agent/onnx_splitter/model_file.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/validate.h"
#include "server/exporters/onnx_graph.h"
#include "server/graph/graph_store.h"
#include "server/graph/graph_view.h"
#include "server/ingest/decode.h"

using google::protobuf::io::ArrayInputStream;
using google::protobuf::util::ParseDelimitedFromZeroCopyStream;

namespace graphdbg {
namespace {

class NoAnnotations final : public graph::Annotations {
 public:
  uint64_t HitsOf(graph::Child) const override { return 0; }
  model::Watched WatchedOf(graph::Child) const override { return {}; }
  bool Covers(uint32_t, graph::NodeIndex) const override { return false; }
};

// The number of ops in the messages that the reader writes for a model. Absent
// if it refuses the model, which it does in one line.
std::optional<size_t> OpsRead(const std::string& bytes) {
  std::istringstream file(bytes);
  std::stringstream messages;
  absl::Status read;
  try {
    auto model = onnx_splitter::ReadModel(&file, "model");
    read = model.status();
    if (model.ok()) {
      read = onnx_splitter::WriteGraph(*std::move(model), "m", &messages);
    }
  } catch (const std::exception& error) {
    read = absl::InvalidArgumentError(error.what());
  }
  if (!read.ok()) return std::nullopt;
  google::protobuf::io::IstreamInputStream input(&messages);
  v1::AgentMessage message;
  size_t ops = 0;
  while (ParseDelimitedFromZeroCopyStream(&message, &input, nullptr)) {
    if (!wire::Validate(message).ok()) std::abort();
    for (const v1::Node& node : message.graph().nodes()) {
      ops += node.kind() == v1::NODE_KIND_OP;
    }
    message.Clear();
  }
  return ops;
}

void CheckExport(const model::GraphPage& page) {
  size_t ops = 0;
  for (const model::ExportNode& node : page.nodes) {
    ops += node.node.kind == model::NodeKind::kOp;
  }
  const auto bytes = exporters::ToOnnx(page.nodes, {page.graph, "1"});
  if (!bytes.ok()) std::abort();
  const std::optional<size_t> read = OpsRead(*bytes);
  if (read && *read == ops) return;
  std::fprintf(stderr, "%zu ops were exported, %s read\n", ops,
               read ? std::to_string(*read).c_str() : "none");
  std::abort();
}

void ExportGraphs(ArrayInputStream* stream) {
  graph::GraphStore store;
  graph::AgentIds ids;
  v1::AgentMessage message;
  while (ParseDelimitedFromZeroCopyStream(&message, stream, nullptr)) {
    if (wire::Validate(message).ok() && message.has_graph()) {
      const jobs::AgentReport report = ingest::DecodeReport(message);
      if (const auto* patch = std::get_if<graph::GraphPatch>(&report)) {
        (void)store.Apply(*patch, ids);
      }
    }
    message.Clear();
  }
  const NoAnnotations annotations;
  const graph::GraphView view(store, annotations);
  for (const model::GraphSummary& graph : view.Graphs()) {
    const auto page = view.Page(graph.id, 0);
    if (page.ok() && page->next == 0) CheckExport(*page);
  }
}

}  // namespace
}  // namespace graphdbg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    ArrayInputStream stream(data + 1, static_cast<int>(size - 1));
    graphdbg::ExportGraphs(&stream);
  } else {
    graphdbg::OpsRead({reinterpret_cast<const char*>(data + 1), size - 1});
  }
  return 0;
}
