// The files of one iteration of one rank.
#ifndef SERVER_RUNS_MINDSPORE_STEP_FILES_H_
#define SERVER_RUNS_MINDSPORE_STEP_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/runs/files.h"
#include "server/runs/mindspore/dump_layout.h"
#include "server/runs/mindspore/dump_name.h"
#include "server/runs/mindspore/node_names.h"
#include "server/runs/mindspore/statistic_csv.h"
#include "server/runs/step_records.h"

namespace graphdbg::dumps {

using recorded::TensorKey;

// Damaged files, with the reason, by path.
using Damage = std::map<std::string, std::string>;

// A file that is part of a dump, while its folder is listed.
struct DumpFile {
  recorded::Folder folder;
  // Place of the folder among those that are listed.
  uint32_t place = 0;
  uint32_t graph = 0;
  // The name on disk, which differs from what `parsed` was read from if the
  // latter was too long.
  std::string name;
  DumpName parsed;
};

// Calls `use` for each file of the folders, and `use_rows` with the rows of
// each statistic.csv and its graph. Either may be null.
void ListFiles(
    const recorded::Folder& dump, const std::vector<GraphFolder>& folders,
    const std::function<void(const DumpFile&)>& use,
    const std::function<void(uint32_t, std::vector<StatisticRow>)>& use_rows,
    Damage& damage);

// The properties that are kept of each file; there may be many files.
struct KeptFile {
  // Place among the folders of the step.
  uint32_t place = 0;
  DumpName::Kind kind = DumpName::Kind::kNpy;
  uint64_t time_us = 0;
  std::string name;
};

class StepFiles {
 public:
  // Files of ops that `names` does not know are passed over.
  StepFiles(recorded::Folder dump, std::vector<GraphFolder> folders,
            const NodeNames& names, Damage& damage);

  // Keys of outputs have the node that produces them, those of inputs the node
  // that reads them and the position there.
  using Files = absl::flat_hash_map<TensorKey, KeptFile>;
  const Files& outputs() const { return outputs_; }
  const Files& inputs() const { return inputs_; }
  // Files with all tensors of an op, by node.
  const absl::flat_hash_map<uint32_t, KeptFile>& messages() const {
    return messages_;
  }
  // Statistics of outputs.
  const absl::flat_hash_map<TensorKey, StatisticRow>& rows() const {
    return rows_;
  }
  const std::vector<KeptFile>& overflows() const { return overflows_; }
  // The node of an op that ran as this task; 0 if there is none.
  uint32_t NodeOfTask(uint64_t task, uint64_t stream) const;
  // Errors as Folder::OpenFile.
  absl::StatusOr<recorded::File> Open(const KeptFile& file) const;
  // The JSON of an overflow; empty if it cannot be read.
  std::string ReadOverflow(const KeptFile& file) const;
  // For messages.
  std::string PathOf(const KeptFile& file) const;
  // Approximate memory that this uses.
  uint64_t bytes() const { return bytes_; }

 private:
  void Add(const DumpFile& file, const NodeNames& names);

  const recorded::Folder dump_;
  const std::vector<GraphFolder> folders_;
  Files outputs_;
  Files inputs_;
  absl::flat_hash_map<uint32_t, KeptFile> messages_;
  absl::flat_hash_map<TensorKey, StatisticRow> rows_;
  std::vector<KeptFile> overflows_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> tasks_;
  uint64_t bytes_ = 0;
};

}  // namespace graphdbg::dumps

#endif  // SERVER_RUNS_MINDSPORE_STEP_FILES_H_
