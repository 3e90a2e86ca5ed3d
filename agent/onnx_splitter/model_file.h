// Reads ONNX files, of which nothing is believed.
#ifndef AGENT_ONNX_SPLITTER_MODEL_FILE_H_
#define AGENT_ONNX_SPLITTER_MODEL_FILE_H_

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <functional>
#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphdbg::onnx_splitter {

// INVALID_ARGUMENT, in one line, if the file is no ONNX model.
absl::StatusOr<onnx::ModelProto> ReadModel(const std::filesystem::path& file);
// The same of a stream, which is called `name` in errors.
absl::StatusOr<onnx::ModelProto> ReadModel(std::istream* stream,
                                           const std::string& name);

// Calls `visit` for each tensor of the model that may hold data: initializers,
// and those in attributes, in subgraphs and functions too. `where` names the
// initializer or node. Stops at the first error.
using TensorVisitor = std::function<absl::Status(const std::string& where,
                                                 onnx::TensorProto* tensor)>;
absl::Status VisitTensors(onnx::ModelProto* model, const TensorVisitor& visit);

// Where the data of an initializer outside the model lies.
struct ExternalData {
  std::filesystem::path file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

inline bool IsExternal(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

// INVALID_ARGUMENT if the data lies outside the model's own folder (or, if the
// model is a link, that of the file it stands for) or is not all there. Opens
// nothing.
absl::StatusOr<ExternalData> Locate(const onnx::TensorProto& tensor,
                                    const std::filesystem::path& model);

// Bytes that the values of a tensor take; 0 for strings. INVALID_ARGUMENT if
// its shape is none or too large.
absl::StatusOr<uint64_t> DataSize(const onnx::TensorProto& tensor);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_MODEL_FILE_H_
