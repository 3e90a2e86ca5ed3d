// Where the agent records what it measures. Implemented by agent/recording.
#ifndef AGENT_CORE_RECORDING_H_
#define AGENT_CORE_RECORDING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/kernels/statistics.h"
#include "agent/tensor/tensor_view.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/graphdbg/v1/graph.pb.h"
#include "proto/graphdbg/v1/overview.pb.h"
#include "proto/graphdbg/v1/tensor.pb.h"
#include "proto/graphdbg/v1/watch.pb.h"
#include "proto/runs/record.h"

namespace graphdbg::agent {

// When and of what something is recorded.
struct RecordKey {
  uint64_t step = 0;
  runs::Mode mode = runs::Mode::kUnknown;
  // Which pass of its mode within the step, from 1; 0 for the step itself.
  uint64_t pass = 0;
  uint32_t node = 0;
  uint32_t slot = 0;
  uint8_t dtype = 0;
  // Place in the step, from 1; 0: none.
  uint64_t exec_order = 0;
  uint32_t iteration = 0;
  // Any of runs::Flag.
  uint16_t flags = 0;
};

// A tensor compared with its value in an earlier step.
struct RecordedChange {
  PairStatistics pair;
  uint64_t changed_count = 0;
  uint64_t previous_step = 0;
  // 0: none.
  uint64_t digest = 0;
};

// How many units of a tensor, such as channels, are idle.
struct RecordedUnits {
  uint32_t axis = 0;
  uint32_t units = 0;
  uint32_t idle_units = 0;
  double from = 0;
  double to = 0;
  // Percentage of active values below which a unit is idle.
  double share = 0;
};

// Values that are saved.
struct TensorToSave {
  // In host memory.
  TensorView view;
  // The node's name, which lives as long as the recording.
  absl::string_view node_name;
  // The factor by which the values are scaled: they are saved as they are.
  double grad_scale = 1;
  // How much of the room may be used, from 0 to 1; the rest is for tensors that
  // matter more.
  double share = 1;
};

// The beginning or end of a step or pass. The counts are those of an end.
struct RecordedMark {
  uint64_t unix_ns = 0;
  uint64_t monotonic_ns = 0;
  uint64_t mode_step = 0;
  uint64_t records = 0;
  uint64_t records_dropped = 0;
  uint64_t tensors_dropped = 0;
  uint64_t tensor_bytes = 0;
  uint64_t measuring_ns = 0;
  runs::EndReason reason = runs::EndReason::kNone;
};

// An op that a thread begins to execute.
struct StartedOp {
  uint32_t node = 0;
  uint64_t step = 0;
  uint64_t exec_order = 0;
  // Given if it executes for the first time, because the graph may not have
  // been written yet. The line of the user's code, 0 if there is none.
  absl::string_view name;
  absl::string_view file;
  uint32_t line = 0;
};

// Any thread, unless stated otherwise. Appending neither waits, allocates,
// takes a lock nor makes a system call; it returns false for what is dropped.
// The end of a step may wake the thread that writes the log.
// Once the recording has failed, everything is dropped.
class Recording {
 public:
  virtual ~Recording() = default;

  // `grad_scale`: what the values, which are unscaled, were scaled by.
  virtual bool AppendStatistics(const RecordKey& key,
                                const Statistics& statistics,
                                double grad_scale) = 0;
  virtual bool AppendChange(const RecordKey& key,
                            const RecordedChange& change) = 0;
  virtual bool AppendUnits(const RecordKey& key,
                           const RecordedUnits& units) = 0;
  virtual bool AppendBegin(const RecordKey& key, const RecordedMark& mark) = 0;
  virtual bool AppendEnd(const RecordKey& key, const RecordedMark& mark) = 0;
  // Copies the values and appends their place. False if they are refused, which
  // is counted. Threads that save at the same time take a lock while they find
  // a place; values that are not contiguous are gathered in memory that is
  // allocated.
  virtual bool SaveTensor(const RecordKey& key, const TensorToSave& tensor) = 0;
  // Also keeps the message, and therefore allocates.
  virtual bool AppendHit(const RecordKey& key, const v1::Hit& hit) = 0;
  // Keeps the times of a step's ops, and therefore allocates. At a step's end.
  virtual bool AppendOpTimes(const v1::OverviewStep& times) = 0;
  // Keeps what the user has changed in the paused program, and therefore
  // allocates.
  virtual bool AppendUserChange(const v1::UserChange& change) = 0;

  // This thread begins an op, and has ended it. Like appending.
  virtual void BeginOp(const StartedOp& op) = 0;
  virtual void EndOp() = 0;

  // Whether a record would find room.
  virtual bool HasRoom() const = 0;
  // Whether a tensor of this size would find room, or waiting does not help.
  virtual bool HasRoomForTensor(uint64_t bytes) = 0;
  // Records and tensors dropped, and bytes of tensors saved, since the
  // beginning.
  virtual uint64_t records_dropped() const = 0;
  virtual uint64_t tensors_dropped() const = 0;
  virtual uint64_t tensor_bytes() const = 0;

  // The size of its ring and log.
  virtual uint64_t bytes() const = 0;

  // Adds a line to collections.jsonl, without its end.
  virtual void AddCollectionLine(absl::string_view line) = 0;
  // The graph has grown.
  virtual void GraphChanged() = 0;
  // Writes the graph and those lines at once if the file system is local, so
  // that a crash loses nothing which the records of a step refer to. On the
  // thread that ends a step.
  virtual void WriteDescriptions() = 0;
  // With only the newest records kept: writes them, and those up to this step.
  virtual void KeepThrough(uint64_t step) = 0;

  // Writes everything, and how the program ended. Called once; what is appended
  // later is dropped. Returns false if that takes longer than 5 seconds: the
  // object must then be leaked, because its thread still uses it.
  virtual bool Close(const v1::Goodbye& ending, absl::string_view reason) = 0;
  // In a forked child, which must not touch what it shares with its parent.
  virtual void GoInert() = 0;

  // The directory of the run.
  virtual const std::string& directory() const = 0;
};

// How a run is recorded, apart from what is recorded.
struct RecordingOptions {
  // The directory of all runs.
  std::string directory;
  bool keep_all = true;
  // Bytes of this rank's tensors; and bytes per second, 0: none.
  uint64_t max_tensor_bytes = UINT64_MAX;
  double tensor_rate = 0;
  // Without a rate, it is half of what the disk reaches.
  bool limits_tensor_rate = true;
  uint64_t ring_bytes = uint64_t{32} << 20;
  // The ring grows until it has room for so many steps; 0: it does not.
  uint64_t ring_steps = 0;
  // Where the ring shall lie; empty: wherever it is safe.
  std::string ring_directory;
  // The run's name; empty: made from the program's name.
  std::string run;
  std::string program;
  // The effective configuration, as a JSON object.
  std::string config_json;
};

struct RecordingCallbacks {
  // Appends what has changed in the graph; false if nothing has. On a thread of
  // the recording.
  std::function<bool(v1::GraphUpdate*)> take_graph_update;
  // A line for the user. Any thread.
  std::function<void(const std::string&)> log;
};

// Creates the run's directory and its files. `hello` describes this process.
using OpenRecordingFunction =
    std::function<absl::StatusOr<std::unique_ptr<Recording>>(
        const RecordingOptions& options, const v1::Hello& hello,
        RecordingCallbacks callbacks)>;

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORDING_H_
