// The recording of a live job, which each rank writes on its own machine.
#ifndef SERVER_MODEL_RECORDING_H_
#define SERVER_MODEL_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphdbg::model {

// Settings that apply for some steps beside those of the recording.
struct RecordingBoost {
  // A JSON object with keys of the configuration file: record, collections.
  // Without collections, those of the recording.
  std::string settings;
  uint32_t steps = 0;
};

// How a job is to be recorded from its next step on.
struct RecordingSpec {
  bool on = false;
  // The directory of runs, on the machine of each rank. Empty: where the job's
  // configuration says.
  std::string directory;
  // A JSON object with keys of the configuration file: record, collections.
  // Empty: the job's configuration decides.
  std::string settings;
  // If present, the recording goes on, and the fields above do not count.
  std::optional<RecordingBoost> boost;
};

// Switching takes effect between two steps; until then a rank is starting or
// stopping.
enum class RecordingState { kOff, kStarting, kOn, kStopping };

struct RankRecording {
  uint32_t rank = 0;
  // Whether the rank can be switched on and off.
  bool supported = false;
  RecordingState state = RecordingState::kOff;
  std::string host;
  // The directory of the run; empty if nothing is recorded, and nothing was
  // when the rank ended.
  std::string directory;
  // Everything is kept; otherwise only the newest records.
  bool keeps_all = true;
  uint64_t steps = 0;
  uint64_t records = 0;
  uint64_t dropped = 0;
  // The size of ring, log and saved values.
  uint64_t bytes = 0;
  // The share of the program's time that measuring took.
  double time_share = 0;
};

struct JobRecording {
  std::vector<RankRecording> ranks;
};

}  // namespace graphdbg::model

#endif  // SERVER_MODEL_RECORDING_H_
