// What peers can do, by name. A peer uses only what both name; there are no
// version numbers to compare.
#ifndef PROTO_WIRE_CAPABILITIES_H_
#define PROTO_WIRE_CAPABILITIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphdbg::wire {

// The messages of proto/graphdbg/v1. Must be common.
inline constexpr char kWire1[] = "wire/1";
// TensorRequest.slice_text and .slice.
inline constexpr char kTensorSlice[] = "tensor/slice";
// TensorRequest.want_statistics.
inline constexpr char kTensorStatistics[] = "tensor/statistics";
// HitsRecorded, for hits that have a number.
inline constexpr char kHitsRecorded[] = "hits/recorded";
// StatisticsReport.
inline constexpr char kStatisticsReport[] = "statistics/report";

// "condition/<id>": the agent evaluates this condition.
std::string ConditionCapability(absl::string_view condition_id);

// Those of this build: the names above and one for each condition.
std::vector<std::string> OwnCapabilities(
    const std::vector<std::string>& condition_ids);

bool Has(const std::vector<std::string>& capabilities, absl::string_view name);

// Those of `own` that `peer` names too, in the order of `own`.
std::vector<std::string> Common(const std::vector<std::string>& own,
                                const std::vector<std::string>& peer);

// FAILED_PRECONDITION "wire_version" if peers that have these in common cannot
// talk; the message says what each side speaks.
absl::Status CheckCommon(const std::vector<std::string>& own,
                         const std::vector<std::string>& peer);

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_CAPABILITIES_H_
