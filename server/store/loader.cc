#include "server/store/loader.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status_macros.h"
#include "server/model/messages.h"
#include "server/store/encode.h"

namespace graphdbg::store {
namespace {

using jobs::SavedJob;

// Loads the rows of one job, table by table.
class JobLoader {
 public:
  JobLoader(const Database& db, int64_t key, SavedJob& job)
      : db_(db), key_(key), job_(job) {}

  void Load() {
    for (auto part :
         {&JobLoader::LoadRanks, &JobLoader::LoadAgentNodes,
          &JobLoader::LoadFrames, &JobLoader::LoadNodes, &JobLoader::LoadScopes,
          &JobLoader::LoadFiles, &JobLoader::LoadWatchpoints,
          &JobLoader::LoadHits, &JobLoader::LoadStatistics,
          &JobLoader::LoadRules, &JobLoader::LoadOrigins}) {
      const absl::Status loaded = (this->*part)();
      if (!loaded.ok() && job_.damage.empty()) {
        job_.damage = std::string(loaded.message());
      }
    }
  }

 private:
  absl::Status LoadRanks();
  absl::Status LoadAgentNodes();
  absl::Status LoadFrames();
  absl::Status LoadNodes();
  absl::Status LoadScopes();
  absl::Status LoadFiles();
  absl::Status LoadWatchpoints();
  absl::Status LoadHits();
  absl::Status LoadStatistics();
  absl::Status LoadRules();
  absl::Status LoadOrigins();

  absl::Status Damaged(const char* table) const {
    return ToStatus(SQLITE_CORRUPT, db_.file(),
                    absl::StrCat("table ", table, ", job ", job_.id));
  }

  // `sql` has one parameter, the job's key. `row` returns false if the row is
  // invalid.
  template <class Row>
  absl::Status ForEach(const char* sql, const char* table, Row row) {
    Statement rows = db_.Prepare(sql);
    rows.Bind(1, key_);
    while (true) {
      ASSIGN_OR_RETURN(const bool has_row, rows.Step());
      if (!has_row) return absl::OkStatus();
      if (!row(rows)) return Damaged(table);
    }
  }

  const Database& db_;
  const int64_t key_;
  SavedJob& job_;
};

template <class Record>
bool Parse(std::string_view bytes, Record& record) {
  return record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

absl::Status JobLoader::LoadRanks() {
  return ForEach(
      "SELECT rank, hello, state, last_hit FROM rank WHERE job = ?", "rank",
      [this](const Statement& row) {
        Hello hello;
        RankState state;
        if (!Parse(row.Bytes(1), hello) || !Parse(row.Bytes(2), state)) {
          return false;
        }
        const auto number = static_cast<uint32_t>(row.Int(0));
        jobs::SavedRank& rank = job_.ranks[number];
        rank.hello = Decode(hello);
        rank.hello.job = job_.requested_id;
        rank.hello.rank = number;
        rank.run = DecodeRun(state);
        rank.changed_at_unix_nano = state.changed_at_unix_nano();
        rank.exit_report = DecodeExitReport(state);
        rank.last_hit = static_cast<uint64_t>(row.Int(3));
        return true;
      });
}

absl::Status JobLoader::LoadAgentNodes() {
  return ForEach("SELECT rank, number, node FROM agent_node WHERE job = ?",
                 "agent_node", [this](const Statement& row) {
                   auto it = job_.ranks.find(static_cast<uint32_t>(row.Int(0)));
                   if (it == job_.ranks.end()) return false;
                   const auto number = static_cast<uint32_t>(row.Int(1));
                   if (number == 0 || number > graph::NodeIds::kMaxId) {
                     return false;
                   }
                   it->second.ids.nodes.Add(
                       number, static_cast<graph::NodeIndex>(row.Int(2)));
                   return true;
                 });
}

absl::Status JobLoader::LoadFrames() {
  return ForEach("SELECT frame, record FROM frame WHERE job = ? ORDER BY frame",
                 "frame", [this](const Statement& row) {
                   v1::SourceFrame frame;
                   if (row.Int(0) != static_cast<int64_t>(job_.frames.size()) ||
                       !Parse(row.Bytes(1), frame)) {
                     return false;
                   }
                   job_.frames.push_back(model::FromMessage(frame));
                   return true;
                 });
}

// Consecutive nodes of the same graph become one patch.
absl::Status JobLoader::LoadNodes() {
  graph::NodeIndex next = 0;
  return ForEach(
      "SELECT node, record FROM node WHERE job = ? ORDER BY node", "node",
      [&](const Statement& row) {
        Node node;
        if (row.Int(0) != next || !Parse(row.Bytes(1), node)) {
          return false;
        }
        if (job_.patches.empty() || job_.patches.back().graph != node.graph()) {
          job_.patches.emplace_back().graph = node.graph();
        }
        graph::NodeRecord record = Decode(node, next++);
        for (uint32_t frame : node.stack()) {
          if (frame >= job_.frames.size()) return false;
          record.stack.push_back(job_.frames[frame]);
        }
        job_.patches.back().nodes.push_back(std::move(record));
        return true;
      });
}

absl::Status JobLoader::LoadScopes() {
  return ForEach(
      "SELECT graph, name, type FROM scope WHERE job = ?", "scope",
      [this](const Statement& row) {
        const std::string graph(row.Bytes(0));
        if (job_.patches.empty() || job_.patches.back().graph != graph) {
          job_.patches.emplace_back().graph = graph;
        }
        job_.patches.back().scope_types.emplace(row.Bytes(1), row.Bytes(2));
        return true;
      });
}

absl::Status JobLoader::LoadFiles() {
  return ForEach("SELECT file, text FROM source_file WHERE job = ?",
                 "source_file", [this](const Statement& row) {
                   if (job_.patches.empty()) job_.patches.emplace_back();
                   job_.patches.back().files.push_back(
                       {std::string(row.Bytes(0)), std::string(row.Bytes(1))});
                   return true;
                 });
}

absl::Status JobLoader::LoadWatchpoints() {
  return ForEach(
      "SELECT id, revision, record FROM watchpoint WHERE job = ?"
      " ORDER BY id, revision",
      "watchpoint", [this](const Statement& row) {
        jobs::SavedRevision& saved = job_.watchpoints.emplace_back();
        saved.id = static_cast<uint32_t>(row.Int(0));
        saved.revision = static_cast<uint32_t>(row.Int(1));
        if (row.IsNull(2)) return true;
        Watchpoint record;
        if (!Parse(row.Bytes(2), record)) return false;
        saved.spec = Decode(record);
        return true;
      });
}

absl::Status JobLoader::LoadRules() {
  return ForEach(
      "SELECT run, json FROM rules WHERE job = ?", "rules",
      [this](const Statement& row) {
        job_.rules = {std::string(row.Bytes(0)), std::string(row.Bytes(1))};
        return true;
      });
}

absl::Status JobLoader::LoadHits() {
  return ForEach("SELECT id, record FROM hit WHERE job = ? ORDER BY id", "hit",
                 [this](const Statement& row) {
                   Hit record;
                   if (!Parse(row.Bytes(1), record)) return false;
                   job_.hits.push_back(Decode(record));
                   job_.hits.back().hit.id = static_cast<uint64_t>(row.Int(0));
                   return true;
                 });
}

absl::Status JobLoader::LoadStatistics() {
  return ForEach(
      "SELECT rank, node, slot, step, record FROM statistics WHERE job = ?",
      "statistics", [this](const Statement& row) {
        v1::Statistics record;
        if (!Parse(row.Bytes(4), record)) return false;
        job_.statistics.push_back({static_cast<uint32_t>(row.Int(0)),
                                   static_cast<graph::NodeIndex>(row.Int(1)),
                                   static_cast<uint32_t>(row.Int(2)),
                                   static_cast<uint64_t>(row.Int(3)),
                                   model::FromMessage(record)});
        return true;
      });
}

absl::Status JobLoader::LoadOrigins() {
  return ForEach(
      "SELECT step, rank, node, slot, execution, received FROM origin"
      " WHERE job = ?",
      "origin", [this](const Statement& row) {
        job_.origins.push_back({static_cast<uint64_t>(row.Int(0)),
                                static_cast<uint32_t>(row.Int(1)),
                                static_cast<graph::NodeIndex>(row.Int(2)),
                                static_cast<uint32_t>(row.Int(3)),
                                static_cast<uint64_t>(row.Int(4)),
                                row.Int(5) != 0});
        return true;
      });
}

}  // namespace

absl::Status LoadJobs(const Database& db,
                      const std::function<void(int64_t key, SavedJob)>& each) {
  Statement jobs = db.Prepare(
      "SELECT job.job, job.id, job.asked_for, job.created_at, job.hit_total,"
      " job.last_steps, newest_run.id"
      " FROM job LEFT JOIN newest_run USING (asked_for) ORDER BY job.job");
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, jobs.Step());
    if (!has_row) return absl::OkStatus();
    SavedJob job;
    job.id = std::string(jobs.Bytes(1));
    job.requested_id = std::string(jobs.Bytes(2));
    job.created_at_unix_nano = jobs.Int(3);
    job.hit_total = static_cast<uint64_t>(jobs.Int(4));
    LastSteps steps;
    if (!Parse(jobs.Bytes(5), steps)) {
      job.damage =
          absl::StrCat(db.file(), " is damaged (table job, job ", job.id, ")");
    }
    job.newest_id = std::string(jobs.Bytes(6));
    job.last_steps.assign(steps.steps().begin(), steps.steps().end());
    const int64_t key = jobs.Int(0);
    JobLoader(db, key, job).Load();
    each(key, std::move(job));
  }
}

}  // namespace graphdbg::store
