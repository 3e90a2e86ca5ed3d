#include "agent/onnx_splitter/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <fstream>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"

namespace graphdbg::onnx_splitter {
namespace {

namespace fs = std::filesystem;

// Limit of nested subgraphs, which protects the stack.
constexpr int kMaxDepth = 32;

absl::Status VisitNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth,
    const TensorVisitor& visit);

absl::Status VisitGraph(onnx::GraphProto* graph, int depth,
                        const TensorVisitor& visit) {
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(absl::StrCat(
        "graphs are nested more than ", kMaxDepth, " levels deep"));
  }
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    RETURN_IF_ERROR(
        visit(absl::StrCat("initializer ", tensor.name()), &tensor));
  }
  for (onnx::SparseTensorProto& sparse : *graph->mutable_sparse_initializer()) {
    const std::string where =
        absl::StrCat("initializer ", sparse.values().name());
    for (onnx::TensorProto* part :
         {sparse.mutable_values(), sparse.mutable_indices()}) {
      RETURN_IF_ERROR(visit(where, part));
    }
  }
  return VisitNodes(graph->node(), depth, visit);
}

absl::Status VisitAttribute(const std::string& where,
                            onnx::AttributeProto* attribute, int depth,
                            const TensorVisitor& visit) {
  if (attribute->has_t()) {
    RETURN_IF_ERROR(visit(where, attribute->mutable_t()));
  }
  for (onnx::TensorProto& tensor : *attribute->mutable_tensors()) {
    RETURN_IF_ERROR(visit(where, &tensor));
  }
  if (attribute->has_g()) {
    RETURN_IF_ERROR(VisitGraph(attribute->mutable_g(), depth + 1, visit));
  }
  for (onnx::GraphProto& graph : *attribute->mutable_graphs()) {
    RETURN_IF_ERROR(VisitGraph(&graph, depth + 1, visit));
  }
  return absl::OkStatus();
}

absl::Status VisitNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth,
    const TensorVisitor& visit) {
  for (const onnx::NodeProto& node : nodes) {
    const std::string where = absl::StrCat(
        "node ", node.name().empty() ? node.op_type() : node.name());
    auto& attributes = *const_cast<onnx::NodeProto&>(node).mutable_attribute();
    for (onnx::AttributeProto& attribute : attributes) {
      RETURN_IF_ERROR(VisitAttribute(where, &attribute, depth, visit));
    }
  }
  return absl::OkStatus();
}

bool IsWithin(const fs::path& file, const fs::path& folder) {
  const auto [rest, _] =
      std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return rest == folder.end();
}

int BitsOf(int type) {
  using Proto = onnx::TensorProto;
  switch (type) {
    case Proto::BOOL:
    case Proto::INT8:
    case Proto::UINT8:
    // FLOAT8E4M3FN to FLOAT8E5M2FNUZ and FLOAT8E8M0, which libonnx 1.12 does
    // not define.
    case 17:
    case 18:
    case 19:
    case 20:
    case 24:
      return 8;
    case Proto::INT16:
    case Proto::UINT16:
    case Proto::FLOAT16:
    case Proto::BFLOAT16:
      return 16;
    case Proto::FLOAT:
    case Proto::INT32:
    case Proto::UINT32:
      return 32;
    case Proto::DOUBLE:
    case Proto::INT64:
    case Proto::UINT64:
    case Proto::COMPLEX64:
      return 64;
    case Proto::COMPLEX128:
      return 128;
    // UINT4, INT4, FLOAT4E2M1.
    case 21:
    case 22:
    case 23:
      return 4;
    // UINT2, INT2.
    case 25:
    case 26:
      return 2;
    default:
      return 0;
  }
}

absl::Status OutsideFolder(const fs::path& location) {
  return absl::InvalidArgumentError(absl::StrCat(
      "external data '", location.string(), "' is outside the model's folder"));
}

}  // namespace

absl::StatusOr<onnx::ModelProto> ReadModel(const fs::path& file) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", file.string(), ": ", error.message()));
  }
  if (size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.string(),
                     " exceeds the limit of 2 GiB for ONNX files; store the "
                     "weights of larger models as external data"));
  }
  std::ifstream stream(file, std::ios::binary);
  return ReadModel(&stream, file.string());
}

absl::StatusOr<onnx::ModelProto> ReadModel(std::istream* stream,
                                           const std::string& name) {
  const bool readable = stream->good();
  google::protobuf::io::IstreamInputStream input(stream);
  google::protobuf::io::CodedInputStream coded(&input);
  coded.SetTotalBytesLimit(std::numeric_limits<int32_t>::max());
  onnx::ModelProto model;
  if (!readable || !model.ParseFromCodedStream(&coded) || !model.has_graph()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not an ONNX model or is truncated"));
  }
  return model;
}

absl::Status VisitTensors(onnx::ModelProto* model, const TensorVisitor& visit) {
  RETURN_IF_ERROR(VisitGraph(model->mutable_graph(), 0, visit));
  for (onnx::FunctionProto& function : *model->mutable_functions()) {
    RETURN_IF_ERROR(VisitNodes(function.node(), 0, visit));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DataSize(const onnx::TensorProto& tensor) {
  uint64_t count = 1;
  for (int64_t size : tensor.dims()) {
    if (size < 0 || (size > 0 && count > (uint64_t{1} << 56) /
                                             static_cast<uint64_t>(size))) {
      return absl::InvalidArgumentError("invalid shape");
    }
    count *= static_cast<uint64_t>(size);
  }
  return (count * static_cast<uint64_t>(BitsOf(tensor.data_type())) + 7) / 8;
}

absl::StatusOr<ExternalData> Locate(const onnx::TensorProto& tensor,
                                    const fs::path& model) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : tensor.external_data()) {
    entries[entry.key()] = entry.value();
  }
  const fs::path location = entries["location"];
  if (location.empty() || location.is_absolute()) {
    return OutsideFolder(location);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(model, error).parent_path();
  const fs::path link_folder =
      fs::canonical(fs::absolute(model).parent_path(), error);
  const fs::path asked =
      (fs::absolute(model).parent_path() / location).lexically_normal();
  const fs::path lexical_folder =
      fs::absolute(model).parent_path().lexically_normal();
  if (!IsWithin(asked, lexical_folder)) {
    return OutsideFolder(location);
  }
  ExternalData data;
  data.file = fs::canonical(asked, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("external data file ", asked.string(), " does not exist"));
  }
  if (!IsWithin(data.file, folder) && !IsWithin(data.file, link_folder)) {
    return OutsideFolder(location);
  }
  const uintmax_t size =
      fs::is_regular_file(data.file) ? fs::file_size(data.file, error) : 0;
  ASSIGN_OR_RETURN(const uint64_t required, DataSize(tensor));
  data.length = required;
  const bool numbers = (entries["offset"].empty() ||
                        absl::SimpleAtoi(entries["offset"], &data.offset)) &&
                       (entries["length"].empty() ||
                        absl::SimpleAtoi(entries["length"], &data.length));
  if (error || !numbers || data.length < required || data.offset > size ||
      data.length > size - data.offset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "needs ", required, " bytes of external data, but ", data.file.string(),
        " is too short or the range is "
        "invalid"));
  }
  return data;
}

}  // namespace graphdbg::onnx_splitter
