// Reads and validates untrusted ONNX files.
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

// Returns INVALID_ARGUMENT, with a message of one line, if the file is not an
// ONNX model.
absl::StatusOr<onnx::ModelProto> ReadModel(const std::filesystem::path& file);
// Reads a stream; errors refer to it as `name`.
absl::StatusOr<onnx::ModelProto> ReadModel(std::istream* stream,
                                           const std::string& name);

// Calls `visit` for each tensor of the model that may hold data: initializers
// and tensor attributes, including those in subgraphs and functions. `where`
// names the initializer or node. Stops at the first error.
using TensorVisitor = std::function<absl::Status(const std::string& where,
                                                 onnx::TensorProto* tensor)>;
absl::Status VisitTensors(onnx::ModelProto* model, const TensorVisitor& visit);

// The location of an initializer's external data.
struct ExternalData {
  std::filesystem::path file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

inline bool IsExternal(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

// Returns INVALID_ARGUMENT if the data is outside the model's folder (or, if
// the model is a symbolic link, the folder of its target) or incomplete. Does
// not open the file.
absl::StatusOr<ExternalData> Locate(const onnx::TensorProto& tensor,
                                    const std::filesystem::path& model);

// Size of a tensor's values in bytes; 0 for strings. Returns INVALID_ARGUMENT
// if the shape is invalid or too large.
absl::StatusOr<uint64_t> DataSize(const onnx::TensorProto& tensor);

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_MODEL_FILE_H_
