// A reference model of a job: what its clients may be shown, and which orders
// its agents may receive, derived from the calls alone. Written from the
// description of the states (server/jobs/job_state_machine.h) and not from the
// code.
#ifndef TESTS_FUZZ_SESSION_REFERENCE_JOB_H_
#define TESTS_FUZZ_SESSION_REFERENCE_JOB_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/jobs/agent_port.h"
#include "server/model/job.h"

namespace graphdbg::session {

// One rank as clients see it.
struct ShownRank {
  model::JobState state = model::JobState::kConnecting;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  std::string node;
  std::vector<uint32_t> stopped_by;

  bool operator==(const ShownRank&) const = default;
};

// The part of a job's description that this model predicts.
struct Shown {
  model::JobState state = model::JobState::kConnecting;
  model::PauseReason reason = model::PauseReason::kNone;
  uint64_t step = 0;
  std::string node;
  std::vector<uint32_t> stopped_by;
  // State, step and node of each rank.
  std::map<uint32_t, std::tuple<model::JobState, uint64_t, std::string>> ranks;

  bool operator==(const Shown&) const = default;
};
Shown ShownBy(const model::Job& job);
std::string ToString(const Shown& shown);

// Calls are announced to the model before the job receives them. What the job
// then does (orders, events) is checked as it happens. The first contradiction
// is kept as violation().
class ReferenceJob {
 public:
  enum class Admission { kAttached, kRankTaken, kNeedsNewJob };

  // Begins and ends one call to the job. After EndCall, the last published
  // state must be the current one and every accepted command must have been
  // sent.
  void BeginCall();
  void EndCall();

  // --- From agents ----------------------------------------------------------
  Admission Attach(const jobs::AgentHello& hello);
  // The number of the rank's newest stream.
  uint64_t StreamOf(uint32_t rank) const { return ranks_.at(rank).stream; }
  // Whether this is the process that has or had the rank.
  bool IsProcess(const jobs::AgentHello& hello) const;
  // Whether this was the last process to have the rank.
  bool IsHolder(uint32_t rank, const std::string& incarnation) const;
  // Whether the job still listens to this stream.
  bool IsCurrent(uint32_t rank, uint64_t stream) const;
  void OnGraph(uint32_t rank, const std::map<uint32_t, std::string>& nodes);
  void OnRunReport(uint32_t rank, const jobs::RunReport& report);
  void OnOutcome(uint32_t rank, const jobs::CommandOutcome& outcome);
  void OnExit(uint32_t rank, const jobs::ExitReport& report);
  void OnClosed(uint32_t rank);

  // --- From clients ---------------------------------------------------------
  // The reason for which the job must refuse the request; empty if it must
  // accept it. Must be followed by the request itself.
  std::string OnControl(const model::ControlRequest& request);

  // --- The server -----------------------------------------------------------
  // Everything but what a journal keeps is forgotten.
  void OnRestart();
  void LoseAwaited();
  void OnRemoved() { removed_ = true; }

  // --- What the job does ----------------------------------------------------
  void SawOrder(uint32_t rank, uint64_t stream,
                const jobs::CommandOrder& order);
  void SawEvent(const model::Event& event);
  void SawDescription(const model::Job& job);
  void SawControlAnswer(const std::string& expected_reason,
                        const std::string& reason, const std::string& id);

  bool ended() const;
  bool removed() const { return removed_; }
  // A group is being stopped in order to be terminated.
  bool terminate_is_deferred() const { return deferred_terminate_ != 0; }
  // Whether the events of this call have shown its last state.
  bool shows_current_state() const { return reached_ + 1 == path_.size(); }
  // Commands that have no result yet.
  size_t commands_in_progress() const { return pending_.size(); }
  Shown shown() const;
  // The commands that were sent to the rank, oldest first.
  const std::vector<uint64_t>& SentTo(uint32_t rank) const;
  const std::string& violation() const { return violation_; }
  void Violate(const std::string& what);

 private:
  struct RankModel {
    jobs::AgentHello hello;
    ShownRank shown;
    uint64_t stream = 0;
    bool connected = false;
    bool exited = false;
    std::map<uint32_t, std::string> nodes;
    // The order that resumes the stopped rank and has not taken effect; 0:
    // none.
    uint64_t resuming = 0;
    // The rank has accepted it, and may not run yet.
    bool resume_confirmed = false;
    // The order that asked the rank to pause; 0: none.
    uint64_t pause = 0;
    // The stream that was ordered to terminate; 0: none.
    uint64_t terminated_stream = 0;
    // The rank's own stop, while it is moved on to the stop of others.
    std::optional<ShownRank> own_stop;
    std::vector<uint64_t> sent;

    bool ended() const;
    bool paused() const { return shown.state == model::JobState::kPaused; }
    // Was alive when the server restarted, and has not come back.
    bool awaited() const;
    // Connected, with a program that has started.
    bool started() const;
  };
  struct Command {
    std::set<uint32_t> waits_for;
    bool failed = false;
  };

  bool HasSeveralRanks() const;
  // `seen` shows the job, whose ranks have all paused, as one that is pausing.
  bool ShowsAsPausing(const Shown& seen, const Shown& job) const;
  // All ranks have paused, and some have been ordered to move on: the job need
  // not be shown as paused yet.
  bool MayHidePause() const;
  bool IsForGroup(const model::ControlRequest& request) const;
  std::set<uint32_t> TargetsOf(const model::ControlRequest& request,
                               bool& resuming) const;
  void SetState(uint32_t rank, ShownRank next);
  void Answered(uint64_t id, uint32_t rank, bool failed);
  void Abandon(uint32_t rank);
  // A group of which nobody is left is not terminated any more.
  void ForgetTerminationOfNobody();
  void CheckOrder(uint32_t number, const RankModel& rank,
                  const jobs::CommandOrder& order);
  void CheckShown(const model::Job& job);
  void SawCommandEvent(const model::Event& event);
  void SawResult(const model::Event& event);

  std::map<uint32_t, RankModel> ranks_;
  bool lost_without_ranks_ = false;
  bool removed_ = false;
  std::set<std::string> known_nodes_;

  // Commands in progress, by id, and those whose result must be published
  // during this call.
  std::map<uint64_t, Command> pending_;
  std::map<uint64_t, bool> due_results_;
  uint64_t last_id_ = 0;
  // The last order that keeps the ranks together.
  uint64_t together_ = 0;
  uint64_t last_seq_ = 0;
  std::set<std::pair<uint64_t, uint32_t>> sent_;
  uint64_t deferred_terminate_ = 0;

  // The request of this call, until it has been sent.
  std::optional<model::ControlRequest> request_;
  std::set<uint32_t> targets_;
  uint64_t request_id_ = 0;

  // The states that the job went through during this call, from the one before,
  // and how far its events have got.
  std::vector<Shown> path_;
  size_t reached_ = 0;
  // The job has paused, which no event has shown.
  bool pause_is_hidden_ = false;
  std::string violation_;
};

}  // namespace graphdbg::session

#endif  // TESTS_FUZZ_SESSION_REFERENCE_JOB_H_
