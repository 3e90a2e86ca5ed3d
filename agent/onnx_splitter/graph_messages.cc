#include "agent/onnx_splitter/graph_messages.h"

#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/onnx_splitter/model_file.h"
#include "agent/onnx_splitter/prepared_model.h"
#include "agent/onnx_splitter/shapes.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/limits.h"
#include "proto/wire/status_macros.h"
#include "proto/wire/utf8.h"

namespace graphdbg::onnx_splitter {
namespace {

using Json = Declarations::Json;

// Larger tensors are dropped; those that shape inference may need are smaller.
constexpr uint64_t kKeptBytes = 64 << 10;

std::string Text(const Json& text) {
  return wire::ToValidUtf8(text.get_ref<const std::string&>(),
                           wire::kMaxNameBytes);
}

// Validates the shapes of all tensors and drops the values of large ones.
absl::Status DropWeights(onnx::ModelProto* model) {
  return VisitTensors(
      model, [](const std::string& where, onnx::TensorProto* tensor) {
        const absl::StatusOr<uint64_t> size = DataSize(*tensor);
        if (!size.ok()) {
          return absl::InvalidArgumentError(
              absl::StrCat(where, ": ", size.status().message()));
        }
        if (*size <= kKeptBytes) return absl::OkStatus();
        onnx::TensorProto shape;
        shape.set_name(tensor->name());
        shape.set_data_type(tensor->data_type());
        *shape.mutable_dims() = tensor->dims();
        shape.set_data_location(onnx::TensorProto::EXTERNAL);
        *tensor = std::move(shape);
        return absl::OkStatus();
      });
}

v1::NodeKind KindOf(const std::string& kind) {
  if (kind == "parameter") return v1::NODE_KIND_PARAMETER;
  if (kind == "constant") return v1::NODE_KIND_CONSTANT;
  return kind == "input" ? v1::NODE_KIND_INPUT : v1::NODE_KIND_OP;
}

v1::NodeCategory CategoryOf(const std::string& category) {
  if (category == "weight") return v1::NODE_CATEGORY_WEIGHT;
  return category == "activation" ? v1::NODE_CATEGORY_ACTIVATION
                                  : v1::NODE_CATEGORY_OTHER;
}

v1::DType DTypeOf(int element) {
  using Proto = onnx::TensorProto;
  switch (element) {
    case Proto::BOOL:
      return v1::DTYPE_BOOL;
    case Proto::INT8:
      return v1::DTYPE_INT8;
    case Proto::INT16:
      return v1::DTYPE_INT16;
    case Proto::INT32:
      return v1::DTYPE_INT32;
    case Proto::INT64:
      return v1::DTYPE_INT64;
    case Proto::UINT8:
      return v1::DTYPE_UINT8;
    case Proto::UINT16:
      return v1::DTYPE_UINT16;
    case Proto::UINT32:
      return v1::DTYPE_UINT32;
    case Proto::UINT64:
      return v1::DTYPE_UINT64;
    case Proto::FLOAT16:
      return v1::DTYPE_FLOAT16;
    case Proto::BFLOAT16:
      return v1::DTYPE_BFLOAT16;
    case Proto::FLOAT:
      return v1::DTYPE_FLOAT32;
    case Proto::DOUBLE:
      return v1::DTYPE_FLOAT64;
    case Proto::COMPLEX64:
      return v1::DTYPE_COMPLEX64;
    case Proto::COMPLEX128:
      return v1::DTYPE_COMPLEX128;
    // FLOAT8E4M3FN and FLOAT8E5M2: newer than the library.
    case 17:
      return v1::DTYPE_FLOAT8_E4M3FN;
    case 19:
      return v1::DTYPE_FLOAT8_E5M2;
    default:
      return v1::DTYPE_OTHER;
  }
}

// Fills in all outputs, or none if the size of any of them is symbolic.
void FillOutputs(const Json& outputs, v1::Node* node) {
  for (const Json& output : outputs) {
    v1::Output* to = node->add_outputs();
    to->set_slot(static_cast<uint32_t>(node->outputs_size() - 1));
    bool known = !output.is_null();
    if (known) {
      to->mutable_type()->set_dtype(DTypeOf(output[0].get<int>()));
      for (const Json& size : output[1]) {
        int64_t number = 0;
        known = known && absl::SimpleAtoi(size.get<std::string>(), &number) &&
                number >= 0;
        to->mutable_type()->add_shape(number);
      }
    }
    if (known && to->type().shape_size() <= wire::kMaxDimensions) continue;
    node->clear_outputs();
    return;
  }
}

void FillNode(uint32_t id, const Json& declaration, v1::Node* node) {
  node->set_id(id);
  node->set_name(Text(declaration["name"]));
  node->set_kind(KindOf(declaration["kind"]));
  node->set_category(CategoryOf(declaration["category"]));
  node->set_op_type(Text(declaration["op_type"]));
  // Declarations are in execution order.
  if (node->kind() == v1::NODE_KIND_OP || node->kind() == v1::NODE_KIND_INPUT) {
    node->set_order(id);
  }
  for (const Json& input : declaration["inputs"]) {
    v1::Input* to = node->add_inputs();
    to->set_node_id(input[0].get<uint32_t>() + 1);
    to->set_slot(input[1].get<uint32_t>());
  }
  FillOutputs(declaration["outputs"], node);
  for (const auto& [name, value] : declaration["attributes"].items()) {
    (*node->mutable_attributes())[Text(name)] = Text(value);
  }
  for (const Json& frame : declaration["stack"]) {
    v1::SourceFrame* to = node->add_stack();
    to->set_file(Text(frame[0]));
    to->set_line(frame[1].get<uint32_t>());
    to->set_function(Text(frame[2]));
    to->set_user(frame[3].get<bool>());
    if (node->stack_size() == static_cast<int>(wire::kMaxStackFrames)) break;
  }
}

// Batches nodes and scopes into messages of limited size.
class Writer {
 public:
  Writer(const std::string& graph, std::ostream* out)
      : graph_(wire::ToValidUtf8(graph, wire::kMaxNameBytes)), out_(out) {
    message_.mutable_graph()->set_graph(graph_);
  }

  void Node(uint32_t id, const Json& declaration) {
    v1::Node* node = message_.mutable_graph()->add_nodes();
    FillNode(id, declaration, node);
    Grow(node->ByteSizeLong());
  }
  void Scope(const std::string& name, const Json& type) {
    const std::string scope = wire::ToValidUtf8(name, wire::kMaxNameBytes);
    (*message_.mutable_graph()->mutable_scope_types())[scope] = Text(type);
    Grow(scope.size());
  }
  void Line(const std::string& text) {
    v1::AgentMessage line;
    line.mutable_log()->set_level(v1::Log::LEVEL_WARNING);
    line.mutable_log()->set_message(
        wire::ToValidUtf8(text, wire::kMaxTextBytes));
    WriteMessage(line);
  }
  void Flush() {
    WriteMessage(message_);
    message_.Clear();
    message_.mutable_graph()->set_graph(graph_);
    bytes_ = 0;
  }

 private:
  void Grow(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ >= wire::kGraphUpdateBytes) Flush();
  }
  void WriteMessage(const v1::AgentMessage& message) {
    google::protobuf::util::SerializeDelimitedToOstream(message, out_);
  }

  const std::string graph_;
  std::ostream* const out_;
  v1::AgentMessage message_;
  size_t bytes_ = 0;
};

}  // namespace

absl::Status WriteGraph(onnx::ModelProto model, const std::string& name,
                        std::ostream* out) {
  RETURN_IF_ERROR(DropWeights(&model));
  ASSIGN_OR_RETURN(PreparedModel prepared, Prepare(std::move(model)));
  const Shapes shapes = InferShapes(&prepared.proto);
  Declarations declarations(name);
  declarations.set_types(&shapes.types);
  Declare(prepared, &declarations);
  Writer writer(name, out);
  uint32_t id = 0;
  for (const Json& node : declarations.TakeNodes()) writer.Node(++id, node);
  const Json scopes = declarations.TakeScopes();
  for (const auto& [scope, type] : scopes.items()) {
    writer.Scope(scope, type);
  }
  writer.Flush();
  for (const std::string& finding : shapes.findings) writer.Line(finding);
  out->flush();
  return *out ? absl::OkStatus()
              : absl::UnavailableError("cannot write the graph");
}

}  // namespace graphdbg::onnx_splitter
