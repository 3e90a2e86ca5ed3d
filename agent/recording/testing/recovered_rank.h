// Reads back what a rank has recorded, as any reader does after its death.
#ifndef AGENT_RECORDING_TESTING_RECOVERED_RANK_H_
#define AGENT_RECORDING_TESTING_RECOVERED_RANK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/runs/record.h"

namespace graphdbg::recording {

struct RecoveredRank {
  std::map<uint64_t, runs::Record> records;
  // How many of them only the ring had.
  uint64_t from_ring = 0;
  // Names of the segments, in order.
  std::vector<std::string> segments;
  // Bytes behind the records of segments.
  uint64_t torn_bytes = 0;
  // Payloads of the files of messages.
  std::vector<std::string> graph;
  std::vector<std::string> hits;
  std::vector<std::string> op_times;
  std::vector<std::string> user_changes;
};

// `ring_path` may be empty, or name a file that was removed. Fails the test if
// two sources disagree about a position.
RecoveredRank Recover(const std::string& rank_path,
                      const std::string& ring_path);

// The file's content; empty if there is none.
std::string ReadFile(const std::string& path);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_TESTING_RECOVERED_RANK_H_
