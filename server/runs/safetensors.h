// Headers of safetensors files, as a recording writes them.
#ifndef SERVER_RUNS_SAFETENSORS_H_
#define SERVER_RUNS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/model/tensor.h"

namespace graphdbg::recorded {

// The limit of the format's own library.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct StoredTensor {
  model::TensorType type;
  // In the file.
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Tensors by name: "node:slot", with "#pass" behind it from the second pass on.
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// The size of the JSON text that follows the first 8 bytes of a file of
// `file_bytes` bytes. DATA_LOSS if it exceeds the file or the limit.
absl::StatusOr<uint64_t> HeaderBytes(std::string_view first_8_bytes,
                                     uint64_t file_bytes);

// Reads the JSON text. Every tensor that is returned is within the file and has
// the size that its type and shape say. Types that graphdbg does not know are
// kOther. DATA_LOSS if anything in it is wrong.
absl::StatusOr<StoredTensors> ParseHeader(std::string_view json,
                                          uint64_t file_bytes);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_SAFETENSORS_H_
