// The headers of files of saved tensors, in the format of safetensors.
#ifndef AGENT_RECORDING_SAFETENSORS_HEADER_H_
#define AGENT_RECORDING_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/runs/record.h"

namespace graphdbg::recording {

// The default offset of a file's data. The size of the header and the header
// itself, padded with spaces, precede it. A multiple of kDataAlignment.
inline constexpr uint64_t kDefaultDataStart = 65'536;
inline constexpr uint64_t kDataAlignment = 4'096;

// The metadata besides step, mode and pass.
struct FileOwner {
  std::string run;
  uint32_t rank = 0;
  std::string version;
};

struct SavedTensor {
  // A record of kind 5.
  const runs::Record* record;
  absl::string_view node_name;
};

// The most that a tensor takes in a header. Of the record, only type, shape,
// offset and size matter.
uint64_t HeaderEntryBytes(const SavedTensor& tensor);
// The most that the metadata take, apart from what HeaderEntryBytes contains.
uint64_t MetadataBytes(const FileOwner& owner);

// Appends the first `data_start` bytes of a file that contains these tensors,
// one behind the other. They must fit.
void AppendHeader(const FileOwner& owner,
                  const std::vector<SavedTensor>& tensors, uint64_t data_start,
                  std::string* bytes);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_SAFETENSORS_HEADER_H_
