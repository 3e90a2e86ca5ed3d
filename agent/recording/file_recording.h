// A recording in files.
#ifndef AGENT_RECORDING_FILE_RECORDING_H_
#define AGENT_RECORDING_FILE_RECORDING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/core/recording.h"

namespace graphdbg::recording {

// Creates the run's directory and files, as proto/docs/run-format.md describes
// them, and starts the thread that writes them. An
// agent::OpenRecordingFunction.
absl::StatusOr<std::unique_ptr<agent::Recording>> OpenFileRecording(
    const agent::RecordingOptions& options, const v1::Hello& hello,
    agent::RecordingCallbacks callbacks);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_FILE_RECORDING_H_
