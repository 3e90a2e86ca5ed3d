#include "proto/wire/capabilities.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/wire/error.h"

namespace graphdbg::wire {
namespace {

std::string WireNames(const std::vector<std::string>& capabilities) {
  std::vector<std::string> names;
  for (const std::string& name : capabilities) {
    if (name.rfind("wire/", 0) == 0 && name.size() < 32) names.push_back(name);
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace

std::string ConditionCapability(absl::string_view condition_id) {
  return absl::StrCat("condition/", condition_id);
}

std::vector<std::string> OwnCapabilities(
    const std::vector<std::string>& condition_ids) {
  std::vector<std::string> names = {
      kWire1,        kTensorSlice,      kTensorStatistics,
      kHitsRecorded, kStatisticsReport, kUnattendedErrors,
      kHitsAbsorbed, kRecording1,       kRecording2,
      kCountedHits,  kReplicas1,        kOrigins1,
      kOverview1,    kBundles1,         kSelection,
      kPassesOver,   kExperiments1,     kChanges1,
      kGraphOffer};
  for (const std::string& id : condition_ids) {
    names.push_back(ConditionCapability(id));
  }
  return names;
}

bool Has(const std::vector<std::string>& capabilities, absl::string_view name) {
  return std::find(capabilities.begin(), capabilities.end(), name) !=
         capabilities.end();
}

std::vector<std::string> Common(const std::vector<std::string>& own,
                                const std::vector<std::string>& peer) {
  std::vector<std::string> common;
  for (const std::string& name : own) {
    if (Has(peer, name)) common.push_back(name);
  }
  return common;
}

absl::Status CheckCommon(const std::vector<std::string>& own,
                         const std::vector<std::string>& peer) {
  if (Has(own, kWire1) && Has(peer, kWire1)) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kFailedPrecondition, "wire_version",
      absl::StrCat("no common wire version: this side supports ",
                   WireNames(own), ", the peer supports ", WireNames(peer)));
}

}  // namespace graphdbg::wire
