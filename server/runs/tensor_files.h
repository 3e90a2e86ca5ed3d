// The saved tensors of one rank: files in the format of safetensors, one or
// more for each step.
#ifndef SERVER_RUNS_TENSOR_FILES_H_
#define SERVER_RUNS_TENSOR_FILES_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/tensor/slice.h"
#include "proto/runs/record.h"
#include "server/base/memory_budget.h"
#include "server/runs/files.h"
#include "server/runs/safetensors.h"

namespace graphdbg::recorded {

// A copy reads the same files; each is used by one thread at a time.
class TensorFiles {
 public:
  // `folder` is that of the rank; `memory` may be null.
  TensorFiles(Folder folder, std::shared_ptr<MemoryBudget> memory);

  // Looks for new files.
  void Refresh();
  // Those that have files, ascending.
  std::vector<uint64_t> Steps() const;
  bool empty() const { return files_.empty(); }

  struct Found {
    File file;
    StoredTensor tensor;
  };
  // The values that a record of kind 5 describes, in a file that may not be
  // finished. NOT_FOUND if there is no such file, or it lacks them; DATA_LOSS
  // names a damaged file.
  absl::StatusOr<Found> FindRecorded(const runs::Record& saved);
  // The values of "node:slot" at a step, by the headers of finished files;
  // absent if they were not saved. DATA_LOSS names a damaged file.
  absl::StatusOr<std::optional<Found>> Find(uint64_t step,
                                            std::string_view name);
  // The nearest steps before and after this one at which it was saved; absent
  // ones are beyond the files that are looked at.
  struct Nearest {
    std::optional<uint64_t> before;
    std::optional<uint64_t> after;
  };
  Nearest FindNearest(uint64_t step, std::string_view name);

  // Damaged files, with their reason, by path.
  const std::map<std::string, std::string>& damage() const { return damage_; }

 private:
  struct OpenFile {
    std::string name;
    File file;
    std::shared_ptr<const StoredTensors> tensors;
  };

  absl::StatusOr<const OpenFile*> Open(const std::string& name);
  absl::StatusOr<OpenFile> ReadHeader(const std::string& name);
  bool Has(uint64_t step, std::string_view name);

  Folder folder_;
  std::shared_ptr<MemoryBudget> memory_;
  std::optional<Folder> tensors_;
  // Names by step.
  std::map<uint64_t, std::vector<std::string>> files_;
  // Newest first.
  std::list<OpenFile> open_;
  std::map<std::string, std::string> damage_;
};

// Reads the elements of a slice: little-endian, row-major. Reads little more
// than the slice from the file. The slice must be within the tensor's shape.
absl::StatusOr<std::string> ReadSlice(const File& file,
                                      const StoredTensor& tensor,
                                      const Slice& slice);

}  // namespace graphdbg::recorded

#endif  // SERVER_RUNS_TENSOR_FILES_H_
