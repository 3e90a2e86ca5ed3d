#include "proto/runs/record.h"

#include "proto/runs/crc32c.h"

namespace graphdbg::runs {

absl::string_view ToString(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kEval:
      return "eval";
    case Mode::kPredict:
      return "predict";
    case Mode::kUnknown:
      break;
  }
  return "unknown";
}

uint32_t RecordCrc(uint64_t position, const Record& record) {
  const uint32_t crc =
      ExtendCrc32c(Crc32c(&position, sizeof(position)),
                   reinterpret_cast<const char*>(&record) + sizeof(record.crc),
                   kRecordBytes - sizeof(record.crc));
  return crc == 0 ? 1 : crc;
}

}  // namespace graphdbg::runs
