#include "server/diagnosis/facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace graphdbg::diagnosis {
namespace {

// An output may have very many readers.
constexpr size_t kMaxReaders = 64;
// Ops that are looked at to find earlier runs.
constexpr size_t kMaxAncestors = 4'096;

NodeFacts Describe(const graph::GraphStore& graph, graph::NodeIndex index) {
  if (index == graph::kNoNode) return {};
  const graph::Node& node = graph.node(index);
  return {node.name, BaseOp(node.op_type), node.kind, node.attributes,
          node.category};
}

// Finds the op with the same name, but for one number, which differs by one:
// that of the layer before it or else after it.
void FindSibling(const graph::GraphStore& graph, Facts& facts) {
  const std::string& name = facts.node.name;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    uint32_t number = 0;
    const char* const last = name.data() + end;
    const auto parsed = std::from_chars(name.data() + begin, last, number);
    if (parsed.ec == std::errc() && parsed.ptr == last) {
      for (const uint32_t other : {number - 1, number + 1}) {
        const std::string sibling =
            absl::StrCat(name.substr(0, begin), other, name.substr(end));
        const graph::NodeIndex index = graph.FindNode(sibling);
        if (index == graph::kNoNode ||
            BaseOp(graph.node(index).op_type) != facts.node.op) {
          continue;
        }
        facts.sibling = sibling;
        facts.sibling_layer = absl::StrCat(other);
        return;
      }
    }
    begin = end + 1;
  }
}

// Those of the forward op if a backward op has none.
const std::vector<graph::FrameIndex>& StackOf(const graph::GraphStore& graph,
                                              const graph::Node& node) {
  if (!node.stack.empty() || node.forward == graph::kNoNode) return node.stack;
  return graph.node(node.forward).stack;
}

uint32_t EarlierRuns(const graph::GraphStore& graph, graph::NodeIndex index) {
  const graph::Node& node = graph.node(index);
  const std::vector<graph::FrameIndex>& stack = StackOf(graph, node);
  if (stack.empty()) return 0;
  uint32_t runs = 0;
  absl::flat_hash_set<graph::NodeIndex> seen = {index};
  std::vector<graph::NodeIndex> open = {index};
  while (!open.empty()) {
    const graph::NodeIndex reader = open.back();
    open.pop_back();
    for (const graph::Input& input : graph.node(reader).inputs) {
      if (input.control || input.node == graph::kNoNode) continue;
      const graph::Node& producer = graph.node(input.node);
      if (producer.kind != model::NodeKind::kOp ||
          producer.category != node.category || seen.size() == kMaxAncestors ||
          !seen.insert(input.node).second) {
        continue;
      }
      open.push_back(input.node);
      if (producer.scope == node.scope && producer.op_type == node.op_type &&
          StackOf(graph, producer) == stack) {
        ++runs;
      }
    }
  }
  return runs;
}

}  // namespace

std::string BaseOp(std::string_view op_type) {
  const size_t colons = op_type.rfind("::");
  if (colons != std::string_view::npos) op_type.remove_prefix(colons + 2);
  std::string op(op_type);
  absl::AsciiStrToLower(&op);
  absl::string_view base = op;
  if (base.size() > 1) base = absl::StripSuffix(base, "_");
  for (const char* prefix : {"native_", "cudnn_", "_"}) {
    base = absl::StripPrefix(base, prefix);
  }
  return std::string(base);
}

std::optional<double> NodeFacts::Number(std::string_view attribute) const {
  const auto found = attributes.find(std::string(attribute));
  double number = 0;
  if (found == attributes.end() || !absl::SimpleAtod(found->second, &number)) {
    return std::nullopt;
  }
  return number;
}

Facts FactsOf(const graph::GraphStore& graph, const model::Hit& hit) {
  Facts facts;
  facts.hit = hit;
  const graph::NodeIndex index = graph.FindNode(hit.node);
  if (index == graph::kNoNode) return facts;
  const graph::Node& node = graph.node(index);
  facts.node = Describe(graph, index);
  facts.forward = Describe(graph, node.forward);
  for (const graph::Input& input : node.inputs) {
    if (input.control) continue;
    facts.inputs.push_back({Describe(graph, input.node), input.slot, {}, {}});
  }
  for (const model::HitInput& input : hit.inputs) {
    if (input.position >= facts.inputs.size()) {
      facts.inputs.resize(input.position + 1);
    }
    facts.inputs[input.position].type = input.type;
    facts.inputs[input.position].statistics = input.statistics;
  }
  for (const graph::Consumer& consumer : node.consumers) {
    if (facts.readers.size() == kMaxReaders) break;
    facts.readers.push_back(Describe(graph, consumer.node));
  }
  FindSibling(graph, facts);
  facts.earlier_runs = EarlierRuns(graph, index);
  return facts;
}

}  // namespace graphdbg::diagnosis
