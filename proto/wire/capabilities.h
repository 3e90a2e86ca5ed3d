// Capabilities of the peers, by name. Only capabilities that both peers name
// are used; there are no version numbers to compare.
#ifndef PROTO_WIRE_CAPABILITIES_H_
#define PROTO_WIRE_CAPABILITIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphdbg::wire {

// The messages of proto/graphdbg/v1. Required.
inline constexpr char kWire1[] = "wire/1";
// TensorRequest.slice_text and .slice.
inline constexpr char kTensorSlice[] = "tensor/slice";
// TensorRequest.want_statistics.
inline constexpr char kTensorStatistics[] = "tensor/statistics";
// HitsRecorded, for hits that have a number.
inline constexpr char kHitsRecorded[] = "hits/recorded";
// StatisticsReport.
inline constexpr char kStatisticsReport[] = "statistics/report";
// Hit.absorbed, and the parameter `absorbed` of conditions.
inline constexpr char kHitsAbsorbed[] = "hits/absorbed";
// StateUpdate.resume_if_unattended.
inline constexpr char kUnattendedErrors[] = "errors/unattended";

// SetRecording and RecordingStatus.
inline constexpr char kRecording1[] = "recording/1";
// ReplicaDigests and Finding.
inline constexpr char kReplicas1[] = "replicas/1";
// NonFiniteOrigin.
inline constexpr char kOrigins1[] = "origins/1";
// OverviewStep.
inline constexpr char kOverview1[] = "overview/1";
// SetRecording.boost.
inline constexpr char kRecording2[] = "recording/2";
// SetWatchpoint.ignore_count and .once.
inline constexpr char kCountedHits[] = "watchpoints/counted";
// The fields of NextNode.
inline constexpr char kPassesOver[] = "next_node/passes_over";
// The fields of NodeSelection from `regexes`.
inline constexpr char kSelection[] = "watchpoints/selection";

// TensorRequest.bundle, SetWatchpoint.capture and CatchTensor.capture.
inline constexpr char kBundles1[] = "bundles/1";

// TensorRequest.experiment.
inline constexpr char kExperiments1[] = "experiments/1";
// TensorRequest.change.
inline constexpr char kChanges1[] = "changes/1";

// GraphOffer, NeededGraph, and the digests in GraphUpdate.
inline constexpr char kGraphOffer[] = "graph/offer";

// "condition/<id>": the agent evaluates this condition.
std::string ConditionCapability(absl::string_view condition_id);

// The capabilities of this build: the names above and one per condition.
std::vector<std::string> OwnCapabilities(
    const std::vector<std::string>& condition_ids);

bool Has(const std::vector<std::string>& capabilities, absl::string_view name);

// The capabilities in both lists, in the order of `own`.
std::vector<std::string> Common(const std::vector<std::string>& own,
                                const std::vector<std::string>& peer);

// Returns FAILED_PRECONDITION with reason "wire_version" if the peers have no
// wire version in common; the message lists the versions of each side.
absl::Status CheckCommon(const std::vector<std::string>& own,
                         const std::vector<std::string>& peer);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_CAPABILITIES_H_
