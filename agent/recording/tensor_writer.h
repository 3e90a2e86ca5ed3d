// Writes staged tensors to files.
#ifndef AGENT_RECORDING_TENSOR_WRITER_H_
#define AGENT_RECORDING_TENSOR_WRITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/recording/file.h"
#include "agent/recording/file_finisher.h"
#include "agent/recording/ring_place.h"
#include "agent/recording/safetensors_header.h"
#include "agent/recording/tensor_staging.h"

namespace graphdbg::recording {

// Used by the writing thread. A failure never ends the recording: tensors are
// refused, for a while if the disk is full, and statistics are still recorded.
class TensorWriter {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    // The rank's directory of tensors.
    std::string directory;
    // Limits the rate to half of what the disk reaches.
    bool limits_rate = true;
    // Tensors are refused when the disk is this full.
    double full_share = 0.9;
    std::chrono::milliseconds retry_period{10'000};
  };
  struct Callbacks {
    // A line for the user.
    std::function<void(const std::string& line)> log;
    // Tensors that had been accepted are lost.
    std::function<void(uint64_t count)> lost;
  };

  // `staging` must outlive this.
  TensorWriter(TensorStaging* staging, const FileOwner& owner,
               const Options& options, Callbacks callbacks)
      : staging_(staging),
        owner_(owner),
        options_(options),
        callbacks_(std::move(callbacks)) {}

  // Writes what is staged, and has files finished whose step has ended.
  // `last`: waits until they are.
  void Write(bool last);

 private:
  void PauseOrResume();
  // Because of a failure.
  bool IsPaused() const;
  // RESOURCE_EXHAUSTED if the disk is too full.
  absl::Status CheckRoom() const;
  void WriteRun(const StagingRun& run);
  absl::Status Begin(const StagedFile& staged);
  absl::Status WriteData(const StagingRun& run);
  // The first `bytes` bytes of a file with these tensors.
  absl::Status WriteHeader(const std::vector<SavedTensor>& tensors,
                           uint64_t bytes);
  // Offset, memory and size are multiples of kDataAlignment.
  absl::Status WriteAligned(uint64_t offset, absl::string_view bytes);
  absl::Status WriteBuffered(uint64_t offset, absl::string_view bytes);
  absl::Status End(const StagedFile& staged);
  void MeasureRate(uint64_t bytes, Clock::duration time);
  // Gives up the file in progress.
  void Fail(const absl::Status& status);
  void CountLost(const StagedFile& staged);

  TensorStaging* const staging_;
  const FileOwner owner_;
  const Options options_;
  const Callbacks callbacks_;

  // The file in progress; not open if there is none, or it was given up.
  File file_;
  std::string path_;
  bool direct_ = false;
  // With the header of the file that was begun or ended last, kept for its
  // memory.
  std::string header_;
  uint64_t data_start_ = 0;
  // The bytes of data that have been written.
  uint64_t written_ = 0;

  // Some failure cannot be mended.
  bool gave_up_ = false;
  bool logged_limit_ = false;
  bool logged_failure_ = false;
  Clock::time_point paused_until_;
  // For the rate.
  uint64_t measured_bytes_ = 0;
  Clock::duration measured_time_{0};
  // Its thread ends first.
  FileFinisher finisher_;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_TENSOR_WRITER_H_
