// Headers of files that contain one tensor.
#ifndef SERVER_TENSOR_TENSOR_FILE_H_
#define SERVER_TENSOR_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/model/tensor.h"

namespace graphdbg::tensor {

enum class FileFormat { kNpy, kSafetensors };

struct FileTensor {
  std::string name;
  model::TensorType type;
  // Size of all elements.
  uint64_t bytes = 0;
  // Ignored by formats that have no metadata.
  std::map<std::string, std::string> metadata = {};
};

// The bytes before the elements, which follow little-endian and row-major, as
// jobs send them. INVALID_ARGUMENT "no_such_dtype" with field "format" if the
// format lacks the type; the message names a format that has it.
absl::StatusOr<std::string> FileHeader(FileFormat format,
                                       const FileTensor& tensor);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_TENSOR_FILE_H_
