// Settings of the recording, from the configuration and the environment.
#ifndef AGENT_CORE_RECORD_SETTINGS_H_
#define AGENT_CORE_RECORD_SETTINGS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/conditions/selector.h"
#include "proto/graphdbg/v1/watch.pb.h"
#include "proto/runs/record.h"

namespace graphdbg::agent {

enum class RecordLevel { kOff, kLight, kStatistics, kTensors };

// Some steps of a mode. A field that is absent comes from another schedule.
struct Schedule {
  std::optional<uint64_t> every;
  std::optional<uint64_t> start;
  // The first step behind; the maximum if there is none.
  std::optional<uint64_t> end;
  std::optional<std::vector<uint64_t>> steps;

  // Fills in what is absent.
  void DefaultTo(const Schedule& other);
  // All fields must be there.
  bool IsDue(uint64_t mode_step) const;
};

struct Schedules {
  Schedule all;
  // By runs::Mode.
  std::array<Schedule, runs::kModes> by_mode;
};

// The schedule of a collection in a mode: each field from the collection's
// mode, the collection, the global mode, global, or the default (every step
// from 1).
Schedule EffectiveSchedule(const Schedules& collection, const Schedules& global,
                           runs::Mode mode);

// Units, such as channels, are idle if less than `below` percent of their
// values are active: greater than `from` and less than `to`.
struct UnitsSettings {
  // Negative ones count from the last.
  int64_t axis = 0;
  double from = -std::numeric_limits<double>::infinity();
  double to = std::numeric_limits<double>::infinity();
  double below = 1;
};

struct CollectionSettings {
  std::string name;
  // The configuration names no collections, so this one may select nothing.
  bool by_default = false;
  RecordLevel level = RecordLevel::kStatistics;
  Schedules save;
  bool digest = false;
  // Whether tensors are compared with their last recorded values.
  bool change = false;
  std::optional<UnitsSettings> units;
  // Regular expressions, found anywhere in a node's name. `exclude` wins.
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> op_types;
  std::vector<std::string> kinds;
  // Types of ops. Selects what ops of these types read.
  std::vector<std::string> read_by;
  // The other lists.
  conditions::NodeSelection nodes;
};

struct RecordSettings {
  // The directory of all runs. If empty, nothing is recorded.
  std::string directory;
  // The level of collections without one.
  RecordLevel level = RecordLevel::kStatistics;
  bool keep_all = true;
  uint64_t ring_bytes = uint64_t{32} << 20;
  // The ring grows until it holds so many steps; 0: it has a fixed size.
  uint64_t ring_steps = 0;
  std::string ring_directory;
  // Share of the program's time that recording may take; 0: no limit.
  double overhead = 0.05;
  // Large tensors are measured in parts.
  bool samples = false;
  // Wait for room rather than drop records.
  bool block = false;
  // Steps after a hit in which everything is recorded, and steps from one such
  // hit to the next.
  uint64_t after_hit = 20;
  uint64_t hit_pause = 100;
  // Whether these steps include values.
  bool hit_tensors = true;
  // Bytes of the values of all ranks.
  uint64_t max_bytes = uint64_t{100} << 30;
  // Bytes of values per second; absent: half of what the disk reaches.
  std::optional<uint64_t> tensor_rate;
  Schedules save;
  // At most kMaxCollections, those at a level other than off.
  std::vector<CollectionSettings> collections;
  // Checked by the agent itself if there is no server.
  std::vector<v1::SetWatchpoint> watchpoints;
  // Set before the settings are read: the last steps of every op are kept, and
  // nothing else is written.
  bool black_box = false;
  // The name that the launcher or the user gave the run; empty: none.
  std::string run;
  // The text from which ReadRecordJson read the settings.
  std::string json = "{}";

  bool on() const { return !directory.empty(); }
};

inline constexpr size_t kMaxCollections = 62;

// Reads a JSON object with the keys `record`, `save`, `reductions`,
// `collections` and `watchpoints` of the configuration file into settings.
// INVALID_ARGUMENT names the key that is wrong.
absl::Status ReadRecordJson(absl::string_view json, RecordSettings* settings);

// Reads collections to record for some steps in addition to those of the
// settings, from an object with the keys `record`, of which only `level` is
// used (default: tensors), and `collections` (default: all of the settings). A
// collection with the name of one of the settings selects the same tensors.
// INVALID_ARGUMENT as for ReadRecordJson.
absl::StatusOr<std::vector<CollectionSettings>> ReadBoostJson(
    absl::string_view json, const RecordSettings& settings);

// Reads GRAPHDBG_RECORD_SETTINGS, which has that object, and then the variables
// GRAPHDBG_RECORD, GRAPHDBG_BLACK_BOX, GRAPHDBG_RECORD_KEEP, _OVERHEAD,
// GRAPHDBG_RING and GRAPHDBG_RING_DIR. A line for each value that was ignored
// is added to `problems`.
RecordSettings ReadRecordSettings(
    const std::function<const char*(const char*)>& environment,
    std::vector<std::string>* problems);

// The settings by which a job that is not recorded is measured for its
// overview, within GRAPHDBG_OVERHEAD, if that is set.
RecordSettings OverviewSettings(std::optional<double> overhead);

// A share of the program's time, 0: all of it, such that two of them are within
// GRAPHDBG_OVERHEAD: what is recorded, and the statistics of watched tensors.
double WithinLimit(double share, std::optional<double> overhead);

// The settings as rank.json has them, with defaults filled in: a JSON object.
std::string EffectiveJson(const RecordSettings& settings);

// The collections of a configuration that names none.
std::vector<std::string> DefaultCollections(bool black_box);

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_RECORD_SETTINGS_H_
