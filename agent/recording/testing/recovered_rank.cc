#include "agent/recording/testing/recovered_rank.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "proto/runs/layout.h"
#include "proto/runs/message_file.h"
#include "proto/runs/ring.h"
#include "proto/runs/segment.h"

namespace graphdbg::recording {
namespace {

void Add(uint64_t position, const runs::Record& record, RecoveredRank* rank) {
  const auto [known, added] = rank->records.emplace(position, record);
  if (!added) {
    EXPECT_EQ(std::memcmp(&known->second, &record, sizeof(record)), 0)
        << "position " << position << " is there twice, and differs";
  }
}

void AddSegment(const std::string& path, RecoveredRank* rank) {
  const std::string file = ReadFile(path);
  const auto segment = runs::ReadSegment(file);
  // A process may die before it has written the header.
  if (!segment.ok()) return;
  uint64_t position = segment->header.first_position;
  for (const runs::Record& record : segment->records) {
    Add(position++, record, rank);
  }
  rank->torn_bytes += segment->rest_bytes;
}

std::vector<std::string> Messages(const std::string& path,
                                  runs::MessageKind kind) {
  std::vector<std::string> messages;
  const std::string file = ReadFile(path);
  auto reader = runs::MessageReader::Open(file, kind);
  if (!reader.ok()) return messages;
  while (const auto message = reader->Next()) messages.emplace_back(*message);
  return messages;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

RecoveredRank Recover(const std::string& rank_path,
                      const std::string& ring_path) {
  RecoveredRank rank;
  std::set<std::string> names;
  const std::string log = rank_path + "/" + runs::kLogDirectory;
  for (const auto& entry : std::filesystem::directory_iterator(log)) {
    names.insert(entry.path().filename().string());
  }
  for (const std::string& name : names) {
    EXPECT_TRUE(runs::ParseSegmentFile(name).has_value()) << name;
    rank.segments.push_back(name);
    AddSegment(log + "/" + name, &rank);
  }
  const size_t in_log = rank.records.size();
  const std::string ring_file = ReadFile(ring_path);
  if (const auto ring = runs::RingView::Open(ring_file); ring.ok()) {
    ring->ForEach(0, [&](uint64_t position, const runs::Record& record) {
      Add(position, record, &rank);
    });
  }
  rank.from_ring = rank.records.size() - in_log;
  rank.graph = Messages(rank_path + "/" + runs::kGraphFile,
                        runs::MessageKind::kGraphUpdate);
  rank.hits =
      Messages(rank_path + "/" + runs::kHitsFile, runs::MessageKind::kHit);
  rank.op_times = Messages(rank_path + "/" + runs::kOpTimesFile,
                           runs::MessageKind::kOpTimes);
  rank.user_changes = Messages(rank_path + "/" + runs::kUserChangesFile,
                               runs::MessageKind::kUserChange);
  return rank;
}

}  // namespace graphdbg::recording
