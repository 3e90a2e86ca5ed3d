// Files of asynchronous dumps in the device's own format (`file_format: bin`):
// one file for each execution of an op, with all of its inputs and outputs.
#ifndef SERVER_RUNS_MINDSPORE_DUMP_MESSAGE_H_
#define SERVER_RUNS_MINDSPORE_DUMP_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runs/files.h"
#include "server/runs/safetensors.h"

namespace graphdbg::dumps {

// A longer description of tensors is refused.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{16} << 20;
// Files whose values are within the message are read as a whole.
inline constexpr uint64_t kMaxInlineBytes = uint64_t{256} << 20;

struct MessageTensor {
  bool is_output = true;
  uint32_t slot = 0;
  // Layout and shape are those of the device. A type that graphdbg does not
  // know is kOther.
  recorded::StoredTensor tensor;
};

struct DumpMessage {
  // With scopes, as in the graph. Older releases leave it empty.
  std::string op_name;
  std::vector<MessageTensor> tensors;
};

// The message DumpData of a file of `file_bytes` bytes. `bytes` are those of
// the message, which is at `offset` in the file; values that the message does
// not contain are at `data_offset`, one after the other. All tensors are within
// the file. DATA_LOSS if anything is wrong.
absl::StatusOr<DumpMessage> ParseDumpMessage(std::string_view bytes,
                                             uint64_t offset,
                                             uint64_t data_offset,
                                             uint64_t file_bytes);

// A file begins with the size of the message as 8 bytes; those of older
// releases are the message. Errors as ParseDumpMessage.
absl::StatusOr<DumpMessage> ReadDumpMessage(const recorded::File& file);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_DUMP_MESSAGE_H_
