// Switches recording on and off while the program runs.
#ifndef AGENT_CORE_RECORDING_CONTROL_H_
#define AGENT_CORE_RECORDING_CONTROL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/base/mutex.h"
#include "agent/core/outbox.h"
#include "agent/core/record_settings.h"
#include "agent/core/recorder.h"
#include "agent/core/recorder_switch.h"
#include "agent/core/recording.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::agent {

// Files are opened and closed by the agent's worker. What was opened takes
// effect between two steps, so that a recording has whole steps only; each
// recording is a run of its own, which names the one before as what it resumes.
//
// With one recorder after the other, never two: both would take the changes of
// the graph from the same place.
class RecordingControl {
 public:
  struct Parts {
    // Passed to each recorder.
    Recorder::Parts recorder;
    Outbox* outbox;
    // Defaults for what an order does not set.
    RecordSettings settings;
    OpenRecordingFunction open;
    // Describes this process.
    std::function<v1::Hello()> make_hello;
    // The program's name, and the name of a run, "" for one of its own.
    std::function<std::string()> program;
    std::function<std::string()> default_run;
    std::function<void()> update_interest;
    std::function<void()> wake_worker;
    // The limit of GRAPHDBG_OVERHEAD, if it is set.
    std::optional<double> overhead;
  };

  explicit RecordingControl(Parts parts);

  const RecorderSwitch& recorders() const { return recorders_; }

  // --- Training threads.

  // Starts the recording that the configuration asks for, if any.
  void Start();
  // Before the first step, and between two steps: switches to what was ordered.
  // `step` comes next.
  void BetweenSteps(uint64_t step) {
    if (changes()) Switch(step);
  }
  // Whether that would switch anything.
  bool changes() const { return changes_.load(std::memory_order_acquire); }

  // --- Any thread.

  // Whether somebody shows the overview. While nothing is recorded, a recorder
  // without files measures for it.
  void SetOverview(bool wanted) {
    wants_overview_ = wanted;
    if (Overview* const overview = parts_.recorder.overview) {
      overview->op_timer().SetWanted(wanted);
    }
    changes_ = true;
  }
  // The answer is a RecordingStatus, once it is known whether it can be done.
  void Set(const v1::SetRecording& order) GRAPHDBG_EXCLUDES(mu_);
  // Answers an order that the job's owner does not allow.
  void Refuse(const v1::SetRecording& order, const absl::Status& status);
  // Ends what is being recorded, for good, and reports the result. `reason` as
  // Recorder::Close.
  void Close(const v1::Goodbye& goodbye, absl::string_view reason)
      GRAPHDBG_EXCLUDES(mu_);
  // In a forked child.
  void GoInert();

  // --- The worker.

  // Opens and closes recordings, and reports how the current one is doing.
  void Work() GRAPHDBG_EXCLUDES(mu_);

 private:
  using Clock = std::chrono::steady_clock;

  void Switch(uint64_t step) GRAPHDBG_EXCLUDES(mu_);
  // Begins or ends measuring for the overview, if nothing is recorded.
  void SwitchOverview(uint64_t step);
  // The recorder that writes files; null if there is none.
  std::shared_ptr<Recorder> WithFiles() const;
  // Has nodes that were declared before recorded. Those up to `known` were.
  static void AddNodes(Recorder* recorder, const NodeTable& nodes,
                       uint32_t known);

  // Closes what was switched off.
  void CloseStopped() GRAPHDBG_EXCLUDES(mu_);
  // Carries out an order; false if it has to wait for the end of a step.
  bool Serve(const v1::SetRecording& order) GRAPHDBG_EXCLUDES(mu_);
  void StopCurrent() GRAPHDBG_EXCLUDES(mu_);
  // Records more from the next step on.
  absl::Status Boost(const v1::RecordingBoost& boost) GRAPHDBG_EXCLUDES(mu_);
  absl::Status Open(const v1::SetRecording& order) GRAPHDBG_EXCLUDES(mu_);
  void ReportIfDue();
  void Report(uint64_t order, const absl::Status& status)
      GRAPHDBG_EXCLUDES(mu_);

  const Parts parts_;
  RecorderSwitch recorders_;
  // Something is to be switched between steps.
  std::atomic<bool> changes_{false};
  std::atomic<bool> wants_overview_{false};

  // The name of the first run, which later ones continue. The worker only, once
  // the program has started.
  std::string first_run_;
  // The worker only. The directory of the last order, and when a status was
  // last sent.
  std::string last_directory_;
  Clock::time_point reported_at_;

  Mutex mu_;
  std::deque<v1::SetRecording> orders_ GRAPHDBG_GUARDED_BY(mu_);
  // Opened, and not begun.
  std::shared_ptr<Recorder> next_ GRAPHDBG_GUARDED_BY(mu_);
  uint32_t next_knows_ GRAPHDBG_GUARDED_BY(mu_) = 0;
  // Boosts that begin with the next step, for the recorder that was current.
  struct PendingBoost {
    std::shared_ptr<Recorder> recorder;
    CollectionMask collections;
    uint32_t steps;
  };
  std::vector<PendingBoost> boosts_ GRAPHDBG_GUARDED_BY(mu_);
  // The current one ends with the step.
  bool stopping_ GRAPHDBG_GUARDED_BY(mu_) = false;
  // Ended, and not closed.
  std::shared_ptr<Recorder> stopped_ GRAPHDBG_GUARDED_BY(mu_);
  bool closed_ GRAPHDBG_GUARDED_BY(mu_) = false;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORDING_CONTROL_H_
