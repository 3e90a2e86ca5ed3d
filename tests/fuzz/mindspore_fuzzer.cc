// Messages of MindSpore's protocol come from unauthenticated clients. Graphs,
// values and hits with any content must be translated or rejected.
//
// An input consists of one byte, which selects the kind of message, and a graph
// in one chunk, a value or a hit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "proto/mindspore/debugger.pb.h"
#include "server/mindspore/graph_assembly.h"
#include "server/mindspore/graph_translation.h"
#include "server/mindspore/hits.h"
#include "server/mindspore/tensor_answer.h"
#include "server/mindspore/values.h"

namespace graphdbg::mindspore {
namespace {

void TakeGraph(const std::string& bytes) {
  GraphAssembly assembly;
  debugger::Chunk chunk;
  chunk.set_buffer(bytes);
  chunk.set_finished(true);
  if (!assembly.Add(chunk).ok()) return;
  const auto graphs = assembly.Take();
  if (!graphs.ok()) return;
  NodeTable table;
  for (const debugger::GraphProto& graph : *graphs) {
    const graph::GraphPatch patch = TranslateGraph(graph, table);
    for (const NodeEntry& node : table.nodes()) {
      uint32_t slot = 0;
      if (table.ById(table.OwnerOf(node, slot).id) == nullptr) std::abort();
    }
  }
}

void TakeValue(const std::string& bytes) {
  debugger::ValueProto proto;
  if (!proto.ParseFromString(bytes)) return;
  TextOf(proto);
  const std::optional<Value> value = ValueOf(proto);
  if (!value) return;
  Measure(*value);
  jobs::TensorOrder order;
  AnswerWith(order, *value, 1);
}

void TakeHit(const std::string& bytes) {
  debugger::WatchpointHit hit;
  if (!hit.ParseFromString(bytes)) return;
  NodeTable table;
  const NodeEntry& node = table.Ensure("", hit.tensor().node_name(), "node");
  NodeOfHit(hit, table);
  TranslateHit(hit, WireWatchpoint{}, node);
  ErrorText(hit.error_code());
}

}  // namespace
}  // namespace graphdbg::mindspore

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      graphdbg::mindspore::TakeGraph(bytes);
      break;
    case 1:
      graphdbg::mindspore::TakeValue(bytes);
      break;
    default:
      graphdbg::mindspore::TakeHit(bytes);
  }
  return 0;
}
