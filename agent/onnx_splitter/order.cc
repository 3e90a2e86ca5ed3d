#include "agent/onnx_splitter/order.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::onnx_splitter {
namespace {

// Adds the values that a subgraph reads but does not define.
void AddOuterReads(const onnx::GraphProto& graph, std::set<std::string>* all) {
  std::set<std::string> made, reads;
  for (const auto& input : graph.input()) made.insert(input.name());
  for (const auto& tensor : graph.initializer()) made.insert(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    reads.merge(ReadsOf(node));
    made.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) reads.insert(output.name());
  for (const std::string& name : reads) {
    if (made.count(name) == 0) all->insert(name);
  }
}

// Returns a node on a cycle: `node`, which could not be sorted, or one that it
// depends on.
int FindNodeInCycle(const onnx::GraphProto& graph, int node,
                    const std::vector<int>& missing,
                    const std::unordered_map<std::string, int>& producer) {
  std::set<int> seen;
  while (seen.insert(node).second) {
    for (const std::string& name : ReadsOf(graph.node(node))) {
      const auto made = producer.find(name);
      if (made == producer.end() || missing[made->second] == 0) continue;
      node = made->second;
      break;
    }
  }
  return node;
}

}  // namespace

std::set<std::string> ReadsOf(const onnx::NodeProto& node) {
  std::set<std::string> reads(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) AddOuterReads(attribute.g(), &reads);
    for (const auto& graph : attribute.graphs()) AddOuterReads(graph, &reads);
  }
  reads.erase("");
  return reads;
}

absl::Status SortNodes(onnx::GraphProto* graph) {
  for (onnx::NodeProto& node : *graph->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      RETURN_IF_ERROR(SortNodes(attribute.mutable_g()));
    }
  }
  std::unordered_map<std::string, int> producer;
  const int count = graph->node_size();
  for (int i = 0; i < count; ++i) {
    for (const std::string& output : graph->node(i).output()) {
      if (!output.empty()) producer[output] = i;
    }
  }
  std::vector<int> missing(count, 0);
  std::vector<std::vector<int>> readers(count);
  for (int i = 0; i < count; ++i) {
    for (const std::string& name : ReadsOf(graph->node(i))) {
      const auto made = producer.find(name);
      if (made == producer.end()) continue;
      readers[made->second].push_back(i);
      ++missing[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
  sorted.Reserve(count);
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    *sorted.Add() = std::move(*graph->mutable_node(i));
    for (int reader : readers[i]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < count; ++i) {
    if (missing[i] == 0) continue;
    const onnx::NodeProto& node =
        graph->node(FindNodeInCycle(*graph, i, missing, producer));
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", node.name().empty() ? node.op_type() : node.name(),
        " depends on its own output, directly or through other nodes"));
  }
  graph->mutable_node()->Swap(&sorted);
  return absl::OkStatus();
}

}  // namespace graphdbg::onnx_splitter
