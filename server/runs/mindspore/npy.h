// Headers of npy files.
#ifndef SERVER_RUNS_MINDSPORE_NPY_H_
#define SERVER_RUNS_MINDSPORE_NPY_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/runs/files.h"
#include "server/runs/safetensors.h"

namespace graphdbg::dumps {

// Longer headers are refused; those of dumps have 128 bytes.
inline constexpr uint64_t kMaxNpyHeaderBytes = 64 * 1024;

// Reads the header at the beginning of a file of `file_bytes` bytes, of which
// `begin` are the first ones, all or kMaxNpyHeaderBytes. The tensor that is
// returned is within the file. Types that graphdbg does not know are kOther.
// DATA_LOSS if anything in the header is wrong; UNIMPLEMENTED for big-endian
// and column-major values, which MindSpore does not write.
absl::StatusOr<recorded::StoredTensor> ParseNpyHeader(std::string_view begin,
                                                      uint64_t file_bytes);

// The same for a file.
absl::StatusOr<recorded::StoredTensor> ReadNpyHeader(
    const recorded::File& file);

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_NPY_H_
