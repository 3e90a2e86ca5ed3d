// Limits of our own wire. Both sides keep to them and refuse what exceeds them.
#ifndef PROTO_WIRE_LIMITS_H_
#define PROTO_WIRE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace graphdbg::wire {

// Of TensorData.data.
constexpr size_t kMaxChunkBytes = 1 << 20;
// Of any message; the peers set it as gRPC's limit for receiving.
constexpr int kMaxMessageBytes = 4 << 20;
// Agents end a GraphUpdate before it grows beyond this.
constexpr size_t kGraphUpdateBytes = 512 << 10;

constexpr size_t kMaxCapabilities = 256;
// Of names of nodes, scopes, jobs and the like.
constexpr size_t kMaxNameBytes = 4096;
// Of messages for people, source lines, tracebacks, attribute values.
constexpr size_t kMaxTextBytes = 64 << 10;
constexpr size_t kMaxStackFrames = 64;
// Inputs, outputs and attributes of one node.
constexpr int kMaxNodeEdges = 10000;
constexpr int kMaxDimensions = 64;
// Tensors of one StatisticsReport.
constexpr int kMaxReportedTensors = 10000;
// Node ids are dense, so this also bounds what a peer allocates.
constexpr uint32_t kMaxNodes = 4000000;
// Of one job.
constexpr size_t kMaxGraphs = 1000;
constexpr uint32_t kMaxWorldSize = 1 << 20;
// Names, scopes, patterns and categories of one selection together.
constexpr int kMaxSelectionEntries = 100000;
constexpr int kMaxConditionParams = 64;
constexpr size_t kMaxConditionTextBytes = 1000;
// Watchpoints that one agent checks at a time.
constexpr size_t kMaxWatchpoints = 1000;

}  // namespace graphdbg::wire

#endif  // PROTO_WIRE_LIMITS_H_
