#include "server/mindspore/hits.h"

#include <iterator>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::mindspore {
namespace {

constexpr int kNoPrevious = 1 << 2;

struct Reason {
  int bit;
  const char* text;
};

constexpr Reason kReasons[] = {
    {1 << 0, "the tensor contains NaN"},
    {1 << 1, "the tensor contains infinities"},
    {kNoPrevious, "the previous step has no value"},
    {1 << 3, "the job is out of memory"},
    {1 << 4, "the history was not found"},
    {1 << 5, "the tensor has no value"},
};

// Clients return the other parameters unchanged.
bool IsMeasured(const std::string& name) {
  return name != "rtol" && name != "atol" && name != "equal_nan" &&
         name != "epsilon" && name != "range_start_inclusive" &&
         name != "range_end_inclusive";
}

}  // namespace

std::string ErrorText(int error_code) {
  if (error_code == 0) return {};
  std::string text;
  int rest = error_code;
  for (const Reason& reason : kReasons) {
    if ((error_code & reason.bit) == 0) continue;
    rest &= ~reason.bit;
    absl::StrAppend(&text, text.empty() ? "" : ", ", reason.text);
  }
  if (rest != 0) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "error ", rest);
  }
  return absl::StrCat("could not be checked: ", text);
}

bool JustifiesStop(int error_code) { return error_code != kNoPrevious; }

const NodeEntry* NodeOfHit(const debugger::WatchpointHit& hit,
                           const NodeTable& table) {
  return table.ByWireName(hit.tensor().node_name());
}

jobs::HitReport TranslateHit(const debugger::WatchpointHit& hit,
                             const WireWatchpoint& watchpoint,
                             const NodeEntry& node) {
  jobs::HitReport report;
  report.node_id = node.id;
  model::Hit& out = report.hit;
  out.watchpoint = watchpoint.watchpoint;
  out.revision = watchpoint.revision;
  if (!absl::SimpleAtoi(hit.tensor().slot(), &out.slot)) out.slot = 0;
  for (const model::Output& output : node.outputs) {
    if (output.slot == out.slot) out.type = output.type;
  }
  if (node.source) {
    out.source = std::make_shared<const model::SourceLine>(*node.source);
  }
  out.error = ErrorText(hit.error_code());
  if (hit.error_code() != 0) return report;
  for (const auto& param : hit.watch_condition().params()) {
    if (param.disabled() || !IsMeasured(param.name())) continue;
    auto name = watchpoint.names.find(param.name());
    out.actual[name == watchpoint.names.end() ? param.name() : name->second] =
        param.actual_value();
  }
  return report;
}

}  // namespace graphdbg::mindspore
