#include "server/exporters/onnx_graph.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/base/error.h"

namespace graphdbg::exporters {
namespace {

using model::EdgeKind;
using model::ExportNode;
using model::NodeKind;

// The versions of libonnx 1.12, the oldest supported release.
constexpr int64_t kIrVersion = 8;
constexpr int64_t kOpset = 17;

int32_t ElementType(DType dtype) {
  using Proto = onnx::TensorProto;
  switch (dtype) {
    case DType::kFloat32:
      return Proto::FLOAT;
    case DType::kFloat64:
      return Proto::DOUBLE;
    case DType::kFloat16:
      return Proto::FLOAT16;
    case DType::kBfloat16:
      return Proto::BFLOAT16;
    case DType::kInt8:
      return Proto::INT8;
    case DType::kInt16:
      return Proto::INT16;
    case DType::kInt32:
      return Proto::INT32;
    case DType::kInt64:
      return Proto::INT64;
    case DType::kUint8:
      return Proto::UINT8;
    case DType::kUint16:
      return Proto::UINT16;
    case DType::kUint32:
      return Proto::UINT32;
    case DType::kUint64:
      return Proto::UINT64;
    case DType::kBool:
      return Proto::BOOL;
    case DType::kComplex64:
      return Proto::COMPLEX64;
    case DType::kComplex128:
      return Proto::COMPLEX128;
    default:
      return Proto::UNDEFINED;
  }
}

// "aten::relu" is the op relu in the domain aten.
std::pair<std::string, std::string> DomainAndType(const std::string& op_type) {
  const size_t colons = op_type.rfind("::");
  if (colons == std::string::npos || colons == 0) {
    return {"graphdbg", op_type.empty() ? "unknown" : op_type};
  }
  const std::string type = op_type.substr(colons + 2);
  return {op_type.substr(0, colons), type.empty() ? "unknown" : type};
}

std::string TensorName(std::string_view node, uint32_t slot) {
  return absl::StrCat(std::string(node), ":", slot);
}

bool Executes(const ExportNode& node) {
  return node.node.kind == NodeKind::kOp;
}

class Model {
 public:
  explicit Model(const std::vector<ExportNode>& nodes) : nodes_(nodes) {
    for (const ExportNode& node : nodes) {
      by_name_.emplace(node.node.name, &node);
      for (const auto& edge : node.inputs) {
        if (edge.kind == EdgeKind::kData) used_[edge.from].insert(edge.slot);
      }
    }
  }

  onnx::ModelProto Build(const OnnxOptions& options) && {
    onnx::GraphProto& graph = *model_.mutable_graph();
    graph.set_name(options.graph);
    for (const ExportNode& node : nodes_) {
      if (!Executes(node)) AddInputs(node);
    }
    for (const ExportNode* node : OpsInOrder()) AddOp(*node);
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("graphdbg");
    model_.set_producer_version(options.producer_version);
    Import("", kOpset);
    for (const std::string& domain : domains_) Import(domain, 1);
    AddMetadata(
        "graphdbg.lost",
        "values of all tensors, including parameters; types of attributes, "
        "which "
        "are strings here; control edges; repeated executions of an op in a "
        "step");
    AddMetadata("graphdbg.names",
                "a tensor is NODE:SLOT; a scope ends before each /");
    return std::move(model_);
  }

 private:
  void AddMetadata(const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *model_.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }

  void Import(const std::string& domain, int64_t version) {
    onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }

  // Ops in execution order; those without an order come last.
  std::vector<const ExportNode*> OpsInOrder() const {
    std::vector<const ExportNode*> ops;
    for (const ExportNode& node : nodes_) {
      if (Executes(node)) ops.push_back(&node);
    }
    std::stable_sort(ops.begin(), ops.end(), [](const auto* a, const auto* b) {
      return a->node.order - 1 < b->node.order - 1;
    });
    return ops;
  }

  // The slots with a known type, and those that other ops read.
  std::set<uint32_t> SlotsOf(const ExportNode& node) const {
    std::set<uint32_t> slots;
    for (const auto& output : node.node.outputs) slots.insert(output.slot);
    const auto used = used_.find(node.node.name);
    if (used != used_.end()) {
      slots.insert(used->second.begin(), used->second.end());
    }
    if (slots.empty()) slots.insert(0);
    return slots;
  }

  void AddInputs(const ExportNode& node) {
    for (uint32_t slot : SlotsOf(node)) {
      Describe(node, slot, TensorName(node.node.name, slot),
               *model_.mutable_graph()->add_input());
    }
    added_.insert(node.node.name);
  }

  void AddOp(const ExportNode& node) {
    onnx::GraphProto& graph = *model_.mutable_graph();
    onnx::NodeProto& op = *graph.add_node();
    auto [domain, type] = DomainAndType(node.node.op_type);
    op.set_name(node.node.name);
    op.set_domain(domain);
    op.set_op_type(type);
    domains_.insert(domain);
    if (node.node.source) {
      op.set_doc_string(
          absl::StrCat(node.node.source->file, ":", node.node.source->line));
    }
    for (const auto& edge : node.inputs) {
      if (edge.kind == EdgeKind::kData) op.add_input(InputName(edge));
    }
    AddAttributes(node, op);
    AddOutputs(node, op);
    added_.insert(node.node.name);
  }

  std::string InputName(const model::NeighbourEdge& edge) {
    std::string name = TensorName(edge.from, edge.slot);
    if (added_.contains(edge.from)) return name;
    name += "@previous";
    if (previous_.insert(name).second) {
      const auto from = by_name_.find(edge.from);
      onnx::ValueInfoProto& input = *model_.mutable_graph()->add_input();
      if (from != by_name_.end()) {
        Describe(*from->second, edge.slot, name, input);
      } else {
        // The producer is in another graph.
        Describe(ExportNode(), edge.slot, name, input);
      }
    }
    return name;
  }

  static void AddAttributes(const ExportNode& node, onnx::NodeProto& op) {
    for (const auto& [name, value] : node.attributes) {
      onnx::AttributeProto& attribute = *op.add_attribute();
      attribute.set_name(name.empty() ? "unnamed" : name);
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(value);
    }
  }

  // The position of an output is its slot. Unknown outputs are "".
  void AddOutputs(const ExportNode& node, onnx::NodeProto& op) {
    onnx::GraphProto& graph = *model_.mutable_graph();
    const auto used = used_.find(node.node.name);
    for (uint32_t slot : SlotsOf(node)) {
      while (static_cast<uint32_t>(op.output_size()) < slot) op.add_output("");
      const std::string name = TensorName(node.node.name, slot);
      op.add_output(name);
      const bool is_read = used != used_.end() && used->second.count(slot) > 0;
      Describe(node, slot, name,
               is_read ? *graph.add_value_info() : *graph.add_output());
    }
  }

  static void Describe(const ExportNode& node, uint32_t slot,
                       const std::string& name, onnx::ValueInfoProto& info) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::UNDEFINED);
    type.mutable_shape();
    for (const auto& output : node.node.outputs) {
      if (output.slot != slot) continue;
      type.set_elem_type(ElementType(output.type.dtype));
      for (int64_t size : output.type.shape) {
        type.mutable_shape()->add_dim()->set_dim_value(size);
      }
    }
  }

  const std::vector<ExportNode>& nodes_;
  absl::flat_hash_map<std::string_view, const ExportNode*> by_name_;
  // Slots that are read by other ops.
  absl::flat_hash_map<std::string_view, std::set<uint32_t>> used_;
  // Nodes that the model already contains.
  absl::flat_hash_set<std::string> added_;
  absl::flat_hash_set<std::string> previous_;
  std::set<std::string> domains_;
  onnx::ModelProto model_;
};

}  // namespace

absl::StatusOr<std::string> ToOnnx(const std::vector<ExportNode>& nodes,
                                   const OnnxOptions& options) {
  const onnx::ModelProto model = Model(nodes).Build(options);
  if (model.ByteSizeLong() > std::numeric_limits<int32_t>::max()) {
    return Error(
        absl::StatusCode::kResourceExhausted, "graph_too_large",
        "the graph exceeds the size limit of ONNX files (2 GiB); export "
        "it as JSON instead");
  }
  return model.SerializeAsString();
}

}  // namespace graphdbg::exporters
