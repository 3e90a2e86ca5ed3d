#include "agent/adapters/onnxruntime/split.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/adapters/onnxruntime/attributes.h"
#include "agent/adapters/onnxruntime/declarations.h"
#include "agent/adapters/onnxruntime/model_file.h"
#include "agent/adapters/onnxruntime/order.h"
#include "agent/adapters/onnxruntime/prepared_model.h"
#include "agent/adapters/onnxruntime/shapes.h"
#include "agent/adapters/onnxruntime/tensor_bytes.h"

namespace graphdbg::onnxruntime {
namespace {

using Json = nlohmann::json;

// Smaller values stay in the pieces: shape inference needs some of them.
constexpr size_t kInlineBytes = 1024;
// Memory maps begin at pages.
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
    absl::StatusOr<onnx::ModelProto> model = ReadModel(file_);
    if (!model.ok()) return model.status();
    absl::Status status = Validate(&*model);
    if (!status.ok()) return status;
    absl::StatusOr<PreparedModel> prepared = Prepare(*std::move(model));
    if (!prepared.ok()) return prepared.status();
    model_ = *std::move(prepared);
    PutHeader();
    onnx::GraphProto& graph = *model_.proto.mutable_graph();
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      PutInitializer(&tensor);
    }
    // Nodes as they are, before anything is inferred about them.
    for (const onnx::NodeProto& node : graph.node()) PutNode(node);
    shapes_ = InferShapes(&model_.proto);
    DeclareAll();
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

  Json PutPart(const google::protobuf::MessageLite& message) {
    const std::string bytes = message.SerializeAsString();
    parts_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    Json place = Json::array({parts_bytes_, bytes.size()});
    parts_bytes_ += bytes.size();
    return place;
  }

  // What every piece begins with: all but the graph.
  void PutHeader() {
    onnx::ModelProto header = model_.proto;
    header.clear_graph();
    header.clear_training_info();
    json_["header"] = PutPart(header);
  }

  void PutInitializer(onnx::TensorProto* tensor) {
    Json item = {{"value", tensor->name()}, {"element", tensor->data_type()}};
    item["shape"] = Json::array();
    for (int64_t size : tensor->dims()) item["shape"].push_back(size);
    if (IsExternal(*tensor)) {
      const absl::StatusOr<ExternalData> data = Locate(*tensor, file_);
      item["file"] = data->file.string();
      item["offset"] = data->offset;
    } else if (tensor->data_type() != onnx::TensorProto::STRING) {
      item["file"] = (folder_ / "weights.bin").string();
      item["offset"] = PutValues(tensor);
    }
    item["part"] = PutPart(*tensor);
    initializers_.push_back(std::move(item));
  }

  // Gives where the values now lie, and makes large ones external.
  uint64_t PutValues(onnx::TensorProto* tensor) {
    const uint64_t offset =
        (weights_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    const std::string bytes = BytesOf(*tensor);
    weights_.seekp(static_cast<std::streamoff>(offset));
    weights_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    weights_bytes_ = offset + bytes.size();
    // A piece has one folder that its external data lies in.
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

  void PutNode(const onnx::NodeProto& node) {
    Json item = {{"name", node.name()}, {"part", PutPart(node)}};
    item["inputs"] = Json(node.input());
    item["outputs"] = Json(node.output());
    item["reads"] = ReadsOf(node);
    nodes_.push_back(std::move(item));
  }

  void DeclareAll() {
    declarations_.set_types(&shapes_.types);
    const DeclaredParts parts = Declare(model_, &declarations_);
    for (size_t i = 0; i < initializers_.size(); ++i) {
      initializers_[i]["node"] = parts.initializers[i];
    }
    json_["inputs"] = Json::array();
    for (const auto& [value, node] : parts.inputs) {
      json_["inputs"].push_back({{"value", value}, {"node", node}});
    }
    const onnx::GraphProto& graph = model_.proto.graph();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i]["node"] = parts.nodes[i];
      nodes_[i]["moves_values"] = MovesValues(graph.node(static_cast<int>(i)));
    }
    json_["outputs"] = Json::array();
    for (const onnx::ValueInfoProto& output : graph.output()) {
      json_["outputs"].push_back(output.name());
    }
  }

  absl::Status Write() {
    json_["declarations"] = declarations_.TakeNodes();
    json_["scopes"] = declarations_.TakeScopes();
    json_["initializers"] = std::move(initializers_);
    json_["nodes"] = std::move(nodes_);
    json_["findings"] = shapes_.findings;
    std::error_code error;
    json_["data_folder"] =
        (has_external_ ? std::filesystem::canonical(file_, error).parent_path()
                       : folder_)
            .string();
    std::ofstream file(folder_ / "model.json");
    // Names from a file may be anything.
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
  std::vector<Json> initializers_, nodes_;
};

}  // namespace

absl::Status Split(const std::filesystem::path& file,
                   const SplitOptions& options) {
  return Splitter(file, options).Run();
}

}  // namespace graphdbg::onnxruntime
