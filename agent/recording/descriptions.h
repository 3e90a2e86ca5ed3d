// run.json and rank.json.
#ifndef AGENT_RECORDING_DESCRIPTIONS_H_
#define AGENT_RECORDING_DESCRIPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/recording/ring.h"
#include "agent/recording/run_directory.h"
#include "proto/graphdbg/v1/agent_service.pb.h"

namespace graphdbg::recording {

struct Ending {
  uint64_t unix_ns = 0;
  // "exit", "exception", "terminated" or "closed".
  std::string reason;
  v1::Goodbye goodbye;
  uint64_t records = 0;
  uint64_t records_dropped = 0;
  uint64_t tensors_dropped = 0;
};

// The content of rank.json; run.json has a part of it.
struct RankDescription {
  RunDirectory directory;
  RingOwner owner;
  std::string program;
  v1::Hello hello;
  uint64_t started_unix_ns = 0;
  // Empty if there is none, or no longer.
  std::string ring_path;
  // A JSON object.
  std::string config_json;
  std::optional<Ending> ended;
};

std::string RunJson(const RankDescription& description);
std::string RankJson(const RankDescription& description);

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_DESCRIPTIONS_H_
