// Files that hold one tensor: what comes before its bytes.
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
  // Of all elements.
  uint64_t bytes = 0;
  // In formats that have room for it.
  std::map<std::string, std::string> metadata = {};
};

// The elements follow as they come from a job: little endian, row-major.
// INVALID_ARGUMENT "no_such_dtype", field "format", if the format does not have
// the type: it names one that has.
absl::StatusOr<std::string> FileHead(FileFormat format,
                                     const FileTensor& tensor);

}  // namespace graphdbg::tensor

#endif  // SERVER_TENSOR_TENSOR_FILE_H_
