#include "agent/core/record_settings.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/core/config_values.h"

namespace graphdbg::agent {
namespace {

const char* TextOf(const std::function<const char*(const char*)>& environment,
                   const char* name) {
  const char* const text = environment(name);
  return text == nullptr ? "" : text;
}

// Defaults of a black box: no step is left unmeasured to limit the overhead,
// and the ring grows until it holds so many steps.
constexpr uint64_t kBlackBoxSteps = 100;

RecordSettings DefaultSettings(bool black_box) {
  RecordSettings settings;
  settings.black_box = black_box;
  if (!black_box) return settings;
  settings.overhead = 0;
  settings.ring_bytes = 0;
  return settings;
}

// Uses the first variable that has a name in it.
std::string RunOf(const std::function<const char*(const char*)>& environment) {
  for (const char* name :
       {"GRAPHDBG_JOB", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"}) {
    const std::string text = TextOf(environment, name);
    // The run id of torchrun without --rdzv-id.
    if (!text.empty() && text != "none") return text;
  }
  return "";
}

}  // namespace

void Schedule::DefaultTo(const Schedule& other) {
  if (!every) every = other.every;
  if (!start) start = other.start;
  if (!end) end = other.end;
  if (!steps) steps = other.steps;
}

bool Schedule::IsDue(uint64_t mode_step) const {
  if (std::find(steps->begin(), steps->end(), mode_step) != steps->end()) {
    return true;
  }
  return *start <= mode_step && mode_step < *end && mode_step % *every == 0;
}

Schedule EffectiveSchedule(const Schedules& collection, const Schedules& global,
                           runs::Mode mode) {
  const auto index = static_cast<size_t>(mode);
  Schedule schedule = collection.by_mode[index];
  schedule.DefaultTo(collection.all);
  schedule.DefaultTo(global.by_mode[index]);
  schedule.DefaultTo(global.all);
  schedule.DefaultTo({1, 1, UINT64_MAX, std::vector<uint64_t>()});
  return schedule;
}

std::vector<std::string> DefaultCollections(bool black_box) {
  if (black_box) return {"all"};
  return {"losses", "weights", "biases", "gradients", "layers", "inputs"};
}

double WithinLimit(double share, std::optional<double> overhead) {
  if (!overhead) return share;
  return share > 0 ? std::min(share, *overhead / 2) : *overhead / 2;
}

RecordSettings OverviewSettings(std::optional<double> overhead) {
  RecordSettings settings;
  settings.overhead = WithinLimit(0.01, overhead);
  settings.samples = true;
  for (const char* name : {"losses", "layers", "gradients", "weights"}) {
    CollectionSettings& collection = settings.collections.emplace_back();
    collection.name = name;
    collection.by_default = true;
    collection.change = collection.name == "weights";
  }
  return settings;
}

RecordSettings ReadRecordSettings(
    const std::function<const char*(const char*)>& environment,
    std::vector<std::string>* problems) {
  const std::string to = TextOf(environment, "GRAPHDBG_RECORD");
  const std::string box = TextOf(environment, "GRAPHDBG_BLACK_BOX");
  const bool black_box = !box.empty() && to.empty();
  RecordSettings settings = DefaultSettings(black_box);
  const std::string json = TextOf(environment, "GRAPHDBG_RECORD_SETTINGS");
  if (absl::Status status =
          ReadRecordJson(json.empty() ? "{}" : json, &settings);
      !status.ok()) {
    problems->push_back(absl::StrCat("ignored the settings of the recording: ",
                                     status.message()));
    settings = DefaultSettings(black_box);
    ReadRecordJson("{}", &settings).IgnoreError();
  }
  const auto ignored = [&](const char* name, absl::string_view text,
                           const char* expected) {
    problems->push_back(
        absl::StrCat("ignored ", name, "=", text, ": expected ", expected));
  };
  if (!to.empty()) settings.directory = to;
  if (black_box) {
    settings.directory = box;
    settings.keep_all = false;
  } else if (!box.empty()) {
    ignored("GRAPHDBG_BLACK_BOX", box,
            "GRAPHDBG_RECORD to be unset, because it records already");
  }
  if (const std::string keep = TextOf(environment, "GRAPHDBG_RECORD_KEEP");
      keep == "all" || keep == "ring") {
    settings.keep_all = keep == "all";
  } else if (!keep.empty()) {
    ignored("GRAPHDBG_RECORD_KEEP", keep, "all or ring");
  }
  if (const std::string ring = TextOf(environment, "GRAPHDBG_RING");
      !ring.empty()) {
    const auto bytes = ParseBytes(ring);
    if (bytes && *bytes >= (int64_t{1} << 20) && *bytes <= (int64_t{4} << 30)) {
      settings.ring_bytes = static_cast<uint64_t>(*bytes);
    } else {
      ignored("GRAPHDBG_RING", ring, "a size from 1MiB to 4GiB");
    }
  }
  if (settings.ring_bytes == 0) {
    settings.ring_bytes = RecordSettings().ring_bytes;
    settings.ring_steps = kBlackBoxSteps;
  }
  settings.ring_directory = TextOf(environment, "GRAPHDBG_RING_DIR");
  if (const std::string share = TextOf(environment, "GRAPHDBG_RECORD_OVERHEAD");
      !share.empty()) {
    double overhead;
    if (absl::SimpleAtod(share, &overhead) && overhead >= 0 && overhead <= 1) {
      settings.overhead = overhead;
    } else {
      ignored("GRAPHDBG_RECORD_OVERHEAD", share, "a share from 0 to 1");
    }
  }
  settings.run = RunOf(environment);
  return settings;
}

}  // namespace graphdbg::agent
