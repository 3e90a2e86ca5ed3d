// Names and contents of single files of MindSpore's dumps: npy headers,
// messages of asynchronous dumps, CSV and JSON. Tensors that are accepted must
// be within their file, and every refusal must have a message.
//
// An input consists of one byte, which selects the reader, and the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "server/runs/mindspore/csv.h"
#include "server/runs/mindspore/dump_message.h"
#include "server/runs/mindspore/dump_name.h"
#include "server/runs/mindspore/npy.h"
#include "server/runs/mindspore/overflow.h"
#include "server/runs/mindspore/statistic_csv.h"
#include "server/tensor/shape.h"

namespace graphdbg::dumps {
namespace {

void NeedsMessage(const absl::Status& status) {
  if (!status.ok() && status.message().empty()) std::abort();
}

void IsWithin(const recorded::StoredTensor& tensor, uint64_t file_bytes) {
  if (tensor.offset > file_bytes || tensor.bytes > file_bytes - tensor.offset) {
    std::abort();
  }
  const auto bytes = tensor::DenseBytes(tensor.type.dtype, tensor.type.shape);
  if (ItemSize(tensor.type.dtype) != 0 && bytes != tensor.bytes) std::abort();
}

void TakeName(std::string_view text) {
  const auto name = ParseDumpName(text);
  if (!name || name->kind == DumpName::Kind::kOverflow) return;
  if (name->op_name.empty() || NormalName(name->op_name).size() > text.size()) {
    std::abort();
  }
}

void TakeNpy(std::string_view text) {
  const auto tensor = ParseNpyHeader(text, text.size());
  NeedsMessage(tensor.status());
  if (tensor.ok()) IsWithin(*tensor, text.size());
}

// Half of the file's values are behind the message.
void TakeMessage(std::string_view text) {
  const uint64_t file_bytes = text.size() + 64;
  const auto message = ParseDumpMessage(text, 0, text.size(), file_bytes);
  NeedsMessage(message.status());
  if (!message.ok()) return;
  for (const MessageTensor& each : message->tensors) {
    IsWithin(each.tensor, file_bytes);
  }
}

void TakeCsv(std::string_view text) {
  uint64_t bad_rows = 0;
  NeedsMessage(ParseStatisticCsv(text, bad_rows).status());
  while (!text.empty()) {
    const size_t before = text.size();
    if (TakeCsvRow(text).empty() || text.size() >= before) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  switch (data[0] % 5) {
    case 0:
      TakeName(text);
      break;
    case 1:
      TakeNpy(text);
      break;
    case 2:
      TakeMessage(text);
      break;
    case 3:
      TakeCsv(text);
      break;
    default:
      ParseOverflow(text);
  }
  return 0;
}

}  // namespace graphdbg::dumps
