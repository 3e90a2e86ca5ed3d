// Conversion of the agent's measurements to records of the format.
#ifndef AGENT_RECORDING_RECORDS_H_
#define AGENT_RECORDING_RECORDS_H_

#include <cstdint>

#include "agent/core/recording.h"
#include "proto/runs/record.h"

namespace graphdbg::recording {

// The checksums are left out: they depend on the position.

// Writes all other bytes of the record.
void WriteStatistics(const agent::RecordKey& key, const Statistics& statistics,
                     double grad_scale, runs::Record* record);
runs::Record ChangeRecord(const agent::RecordKey& key,
                          const agent::RecordedChange& change);
runs::Record UnitsRecord(const agent::RecordKey& key,
                         const agent::RecordedUnits& units);
// `kind` is kBegin or kEnd.
runs::Record MarkRecord(runs::Kind kind, const agent::RecordKey& key,
                        const agent::RecordedMark& mark);
// Without the fields that describe the tensor and its place.
runs::Record TensorRecord(const agent::RecordKey& key);
runs::Record HitRecord(const agent::RecordKey& key, uint64_t number,
                       uint32_t watchpoint);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_RECORDS_H_
