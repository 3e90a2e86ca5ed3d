// The JSON of a recorded run: rank.json, run.json, collections.jsonl and the
// headers of safetensors files. Everything that is accepted must be within the
// limits, and every refusal must have a message.
//
// An input consists of one byte, which selects the reader, and the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "server/runs/run_info.h"
#include "server/runs/safetensors.h"
#include "server/tensor/shape.h"

namespace graphdbg::recorded {
namespace {

void NeedsMessage(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
}

// The text is the whole file, but for the size before the header.
void TakeHeader(std::string_view text) {
  const size_t end = text.rfind('}');
  const std::string_view header =
      text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
  const uint64_t file_bytes = 8 + text.size();
  const auto tensors = ParseHeader(header, file_bytes);
  NeedsMessage(tensors.status());
  if (!tensors.ok()) return;
  for (const auto& [name, tensor] : *tensors) {
    if (tensor.offset > file_bytes ||
        tensor.bytes > file_bytes - tensor.offset) {
      std::abort();
    }
    const auto bytes = tensor::DenseBytes(tensor.type.dtype, tensor.type.shape);
    if (ItemSize(tensor.type.dtype) != 0 && bytes != tensor.bytes) std::abort();
  }
}

void Take(uint8_t kind, std::string_view text) {
  switch (kind % 5) {
    case 0:
      return NeedsMessage(ParseRankInfo(text).status());
    case 1:
      return NeedsMessage(ParseRunInfo(text).status());
    case 2:
      ParseCollections(text);
      return;
    case 3:
      return NeedsMessage(HeaderBytes(text, text.size()).status());
    default:
      return TakeHeader(text);
  }
}

}  // namespace
}  // namespace graphdbg::recorded

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  graphdbg::recorded::Take(data[0],
                           {reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
