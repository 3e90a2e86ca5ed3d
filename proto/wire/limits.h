// Limits of graphdbg's own wire. Both sides observe them and reject messages
// that exceed them.
#ifndef PROTO_WIRE_LIMITS_H_
#define PROTO_WIRE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg::wire {

// TensorData.data.
constexpr size_t kMaxChunkBytes = 1 << 20;
// Any message; gRPC's limit for received messages is set to it.
constexpr int kMaxMessageBytes = 4 << 20;
// Agents start a new GraphUpdate when one reaches this size.
constexpr size_t kGraphUpdateBytes = 512 << 10;

constexpr size_t kMaxCapabilities = 256;
// Names of nodes, scopes, jobs and the like.
constexpr size_t kMaxNameBytes = 4096;
// Log and error messages, source lines, tracebacks, attribute values.
constexpr size_t kMaxTextBytes = 64 << 10;
constexpr size_t kMaxStackFrames = 64;
// Of one file of the user's code.
constexpr size_t kMaxSourceFileBytes = 1 << 20;
constexpr int kMaxSourceFiles = 1000;
// Inputs, outputs or attributes of one node.
constexpr int kMaxNodeEdges = 10000;
constexpr int kMaxDimensions = 64;
constexpr size_t kMaxExperiments = 16;
// Values that one change of a tensor gives.
constexpr size_t kMaxChangedValues = 10'000;
// Of the JSON text that an experiment or a change is answered with.
constexpr size_t kMaxAnswerBytes = size_t{256} << 10;
// Tensors in one StatisticsReport.
constexpr int kMaxReportedTensors = 10000;
// Tensors in one OverviewStep.
constexpr int kMaxOverviewTensors = 10000;
// Ops in one OverviewStep.
constexpr int kMaxOverviewOps = 10000;
// Tensors in one ReplicaDigests.
constexpr int kMaxReplicas = 100000;
// Nodes in one GraphOffer.
constexpr int kMaxOfferedNodes = 100000;
// Node.digest.
constexpr size_t kDigestBytes = 16;
// The largest node id. Ids are dense, so this also bounds allocations.
constexpr uint32_t kMaxNodes = 4000000;
// Graphs of one job.
constexpr size_t kMaxGraphs = 1000;
constexpr uint32_t kMaxWorldSize = 1 << 20;
// Entries of each list of one selection.
constexpr int kMaxSelectionEntries = 100000;
constexpr int kMaxConditionParams = 64;
// Inputs that are reported with a hit.
constexpr size_t kMaxHitInputs = 64;
constexpr size_t kMaxConditionTextBytes = 1000;
// Simultaneous watchpoints of one agent.
constexpr size_t kMaxWatchpoints = 1000;
// Scalars that a program saves.
constexpr int kMaxMetrics = 1000;

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_LIMITS_H_
