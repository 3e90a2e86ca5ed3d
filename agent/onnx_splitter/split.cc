#include "agent/onnx_splitter/split.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/onnx_splitter/attributes.h"
#include "agent/onnx_splitter/bodies.h"
#include "agent/onnx_splitter/declarations.h"
#include "agent/onnx_splitter/model_file.h"
#include "agent/onnx_splitter/order.h"
#include "agent/onnx_splitter/prepared_model.h"
#include "agent/onnx_splitter/shapes.h"
#include "agent/onnx_splitter/tensor_bytes.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::onnx_splitter {
namespace {

using Json = nlohmann::json;

// Smaller values remain in the pieces because shape inference needs some of
// them.
constexpr size_t kInlineBytes = 1024;
// The page size, because sessions map the weights into memory.
constexpr uint64_t kAlignment = 4096;

class Splitter {
 public:
  Splitter(std::filesystem::path file, const SplitOptions& options)
      : file_(std::move(file)),
        folder_(options.folder),
        declarations_(options.name),
        parts_(folder_ / "parts.bin", std::ios::binary),
        weights_(folder_ / "weights.bin", std::ios::binary) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(onnx::ModelProto model, ReadModel(file_));
    RETURN_IF_ERROR(Validate(&model));
    ASSIGN_OR_RETURN(model_, Prepare(std::move(model)));
    WriteHeader();
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    std::vector<Json> initializers;
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      initializers.push_back(WriteInitializer(&tensor));
    }
    // Inferred shapes must not end up in the pieces.
    onnx::ModelProto inferred = model_.proto;
    shapes_ = InferShapes(&inferred);
    declarations_.set_types(&shapes_.types);
    Declare(model_, &declarations_);
    json_["graph"] = WriteGraphJson(graph, std::move(initializers));
    return Write();
  }

 private:
  absl::Status Validate(onnx::ModelProto* model) {
    return VisitTensors(
        model, [&](const std::string& where, onnx::TensorProto* tensor) {
          absl::Status status = DataSize(*tensor).status();
          if (status.ok() && IsExternal(*tensor)) {
            status = Locate(*tensor, file_).status();
            has_external_ = true;
          }
          if (status.ok()) return status;
          return absl::InvalidArgumentError(
              absl::StrCat(where, ": ", status.message()));
        });
  }

  Json WritePart(const google::protobuf::MessageLite& message) {
    const std::string bytes = message.SerializeAsString();
    parts_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    Json place = Json::array({parts_bytes_, bytes.size()});
    parts_bytes_ += bytes.size();
    return place;
  }

  // The header of every piece: the model without its graph.
  void WriteHeader() {
    onnx::ModelProto header = model_.proto;
    header.clear_graph();
    header.clear_training_info();
    json_["header"] = WritePart(header);
  }

  Json WriteInitializer(onnx::TensorProto* tensor) {
    Json item = {{"value", tensor->name()}, {"element", tensor->data_type()}};
    item["shape"] = Json::array();
    for (int64_t size : tensor->dims()) item["shape"].push_back(size);
    if (IsExternal(*tensor)) {
      const absl::StatusOr<ExternalData> data = Locate(*tensor, file_);
      item["file"] = data->file.string();
      item["offset"] = data->offset;
    } else if (tensor->data_type() != onnx::TensorProto::STRING) {
      item["file"] = (folder_ / "weights.bin").string();
      item["offset"] = WriteValues(tensor);
    }
    item["part"] = WritePart(*tensor);
    return item;
  }

  // Returns the offset of the values in weights.bin. Turns large tensors into
  // references to that file.
  uint64_t WriteValues(onnx::TensorProto* tensor) {
    const uint64_t offset =
        (weights_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    const std::string bytes = BytesOf(*tensor);
    weights_.seekp(static_cast<std::streamoff>(offset));
    weights_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    weights_bytes_ = offset + bytes.size();
    // All external data of a piece must be in one folder.
    if (has_external_ || bytes.size() <= kInlineBytes) return offset;
    onnx::TensorProto moved;
    moved.set_name(tensor->name());
    moved.set_data_type(tensor->data_type());
    *moved.mutable_dims() = tensor->dims();
    moved.set_data_location(onnx::TensorProto::EXTERNAL);
    const std::pair<const char*, std::string> entries[] = {
        {"location", "weights.bin"},
        {"offset", absl::StrCat(offset)},
        {"length", absl::StrCat(bytes.size())}};
    for (const auto& [key, value] : entries) {
      onnx::StringStringEntryProto& entry = *moved.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    *tensor = std::move(moved);
    return offset;
  }

  // `initializers` are in the order of the graph's.
  Json WriteGraphJson(const onnx::GraphProto& graph,
                      std::vector<Json> initializers) {
    for (int i = 0; i < graph.initializer_size(); ++i) {
      initializers[i]["node"] = declarations_.NumberOf(&graph.initializer(i));
    }
    Json inputs = Json::array(), outputs = Json::array(), nodes = Json::array();
    for (const onnx::ValueInfoProto* input : InputsOf(graph)) {
      inputs.push_back(
          {{"value", input->name()},
           {"node", declarations_.NumberOf(input)},
           {"rank", input->type().tensor_type().shape().dim_size()}});
    }
    for (const onnx::ValueInfoProto& output : graph.output()) {
      outputs.push_back(output.name());
    }
    for (const onnx::NodeProto& node : graph.node()) {
      nodes.push_back(WriteNodeJson(node));
    }
    return {{"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"initializers", std::move(initializers)},
            {"nodes", std::move(nodes)}};
  }

  Json WriteNodeJson(const onnx::NodeProto& node) {
    Json item = {{"name", node.name()},
                 {"op_type", node.op_type()},
                 {"part", WritePart(node)},
                 {"node", declarations_.NumberOf(&node)},
                 {"moves_values", MovesValues(node)}};
    item["inputs"] = Json(node.input());
    item["outputs"] = Json(node.output());
    item["reads"] = ReadsOf(node);
    if (ReasonNotCaptured(node, OpsetOf(model_.proto)).empty())
      WriteBodiesJson(node, &item);
    return item;
  }

  void WriteBodiesJson(const onnx::NodeProto& node, Json* item) {
    Json& bodies = (*item)["bodies"] = Json::object();
    Json& numbers = (*item)["numbers"] = Json::object();
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        bodies[attribute.name()] = WriteBodyJson(attribute.g());
      } else if (attribute.type() == onnx::AttributeProto::INT) {
        numbers[attribute.name()] = {attribute.i()};
      } else {
        numbers[attribute.name()] = Json(attribute.ints());
      }
    }
  }

  Json WriteBodyJson(const onnx::GraphProto& graph) {
    std::vector<Json> initializers;
    for (onnx::TensorProto tensor : graph.initializer()) {
      initializers.push_back(WriteInitializer(&tensor));
    }
    return WriteGraphJson(graph, std::move(initializers));
  }

  absl::Status Write() {
    json_["declarations"] = declarations_.TakeNodes();
    json_["scopes"] = declarations_.TakeScopes();
    json_["findings"] = shapes_.findings;
    std::error_code error;
    json_["data_folder"] =
        (has_external_ ? std::filesystem::canonical(file_, error).parent_path()
                       : folder_)
            .string();
    std::ofstream file(folder_ / "model.json");
    // Names in the file may not be valid UTF-8.
    file << json_.dump(-1, ' ', false, Json::error_handler_t::replace);
    file.close();
    parts_.close();
    weights_.close();
    if (!file || !parts_ || !weights_) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot write to ", folder_.string()));
    }
    return absl::OkStatus();
  }

  const std::filesystem::path file_;
  const std::filesystem::path folder_;
  Declarations declarations_;
  std::ofstream parts_, weights_;
  uint64_t parts_bytes_ = 0, weights_bytes_ = 0;
  PreparedModel model_;
  Shapes shapes_;
  bool has_external_ = false;
  Json json_ = Json::object();
};

}  // namespace

absl::Status Split(const std::filesystem::path& file,
                   const SplitOptions& options) {
  return Splitter(file, options).Run();
}

}  // namespace graphdbg::onnx_splitter
