// Writes runs for tests, in the format of proto/docs/run-format.md.
#ifndef SERVER_RUNS_TESTING_RUN_WRITER_H_
#define SERVER_RUNS_TESTING_RUN_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/graphdbg/v1/graph.pb.h"
#include "proto/graphdbg/v1/overview.pb.h"
#include "proto/graphdbg/v1/tensor.pb.h"
#include "proto/graphdbg/v1/watch.pb.h"
#include "proto/runs/record.h"

namespace graphdbg::recorded::testing {

// One rank of a run. Records are gathered and written by the functions that
// write files. Aborts if the file system fails.
class RankWriter {
 public:
  // Creates the directory of the rank below that of the run.
  RankWriter(const std::string& run, uint32_t rank);

  const std::string& path() const { return path_; }

  // --- Records --------------------------------------------------------------
  void Append(runs::Record record);
  void Begin(uint64_t step, runs::Mode mode = runs::Mode::kTrain,
             uint16_t pass = 0);
  void End(uint64_t step, runs::Mode mode = runs::Mode::kTrain,
           uint16_t pass = 0);
  // Statistics of `count` finite elements, all of which have this value.
  void Statistics(uint64_t step, uint32_t node, double value,
                  uint16_t slot = 0);
  // A step with its marks and one record for each node from 1 to `nodes`.
  void Step(uint64_t step, uint32_t nodes, double value);
  // The number of records so far, which is the next position.
  uint64_t size() const { return records_.size(); }
  // The last record that was appended.
  runs::Record& last() { return records_.back(); }

  // --- Files ----------------------------------------------------------------
  // Writes the positions from `first` up to `end` (all that there are) as a
  // segment.
  void WriteSegment(uint64_t first = 0, uint64_t end = UINT64_MAX,
                    bool open = false);
  // Writes a ring of this capacity; without `from`, all its slots are filled.
  void WriteRing(uint64_t capacity, uint64_t from = 0);
  // `fields` is inserted into the JSON object: `"program": "train.py"`.
  void WriteInfo(const std::string& fields = "", bool ended = true);
  // Nodes "forward/op1" to "forward/op<count>" with ids from 1, each of which
  // reads the one before; all have one output, float32[4].
  void WriteGraph(uint32_t count);
  void WriteHits(const std::vector<v1::Hit>& hits);
  void WriteOpTimes(const std::vector<v1::OverviewStep>& steps);
  void WriteUserChanges(const std::vector<v1::UserChange>& changes);
  // A float32 tensor of node `node`, as if it was saved at this step, in the
  // file of this number, which has no other tensor.
  void WriteTensor(uint64_t step, uint32_t node,
                   const std::vector<float>& values,
                   const std::vector<int64_t>& shape,
                   runs::Mode mode = runs::Mode::kTrain, uint32_t file = 1);
  void WriteFile(const std::string& name, const std::string& content);

 private:
  const std::string path_;
  const uint32_t rank_;
  std::vector<runs::Record> records_;
  uint64_t step_began_ = 0;
};

std::string NodeName(uint32_t node);

}  // namespace graphdbg::recorded::testing

#endif  // SERVER_RUNS_TESTING_RUN_WRITER_H_
