#include "server/store/job_rows.h"

#include <tuple>
#include <utility>
#include <vector>

#include "proto/wire/status_macros.h"
#include "server/model/messages.h"
#include "server/store/encode.h"

namespace graphdbg::store {
namespace {

// Records by number, for tables with the columns job, number and record.
using Numbered = std::vector<std::pair<int64_t, std::string>>;

// The memory of a queued write besides its records.
constexpr size_t kBytesPerWrite = 200;

// Reduces the newest revision before `revision` to its condition, which hits
// refer to.
absl::Status KeepConditionOnly(Statements& db, int64_t job, uint32_t id,
                               uint32_t revision) {
  Statement& select =
      db["SELECT revision, record FROM watchpoint"
         " WHERE job = ? AND id = ? AND revision < ? AND record IS NOT NULL"
         " ORDER BY revision DESC LIMIT 1"];
  select.Bind(1, job).Bind(2, int64_t{id}).Bind(3, int64_t{revision});
  int64_t earlier = 0;
  Watchpoint record;
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, select.Step());
    if (!has_row) break;
    const std::string_view bytes = select.Bytes(1);
    if (record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      earlier = select.Int(0);
    }
  }
  if (earlier == 0) return absl::OkStatus();
  Watchpoint condition;
  *condition.mutable_condition() = std::move(*record.mutable_condition());
  return db["UPDATE watchpoint SET record = ?"
            " WHERE job = ? AND id = ? AND revision = ?"]
      .BindBlob(1, condition.SerializeAsString())
      .Bind(2, job)
      .Bind(3, int64_t{id})
      .Bind(4, earlier)
      .Run();
}

// The graph that a scope belongs to.
const std::string& GraphOf(const graph::GraphStore& store,
                           graph::ScopeIndex scope) {
  while (store.scope(scope).parent != scope) scope = store.scope(scope).parent;
  for (const graph::Graph& graph : store.graphs()) {
    if (graph.root == scope) return graph.id;
  }
  return store.graphs().front().id;
}

}  // namespace

void JobRows::Put(Writer::Write write, size_t bytes, Writer::Kind kind) {
  absl::MutexLock lock(&mu_);
  if (forgotten_) return;
  writer_->Put(group_, std::move(write), bytes + kBytesPerWrite, kind);
}

Writer::GroupPtr JobRows::group() const {
  absl::MutexLock lock(&mu_);
  return group_;
}

void JobRows::PutNumbered(const char* sql, Numbered rows) {
  size_t bytes = 0;
  for (const auto& [number, record] : rows) {
    bytes += sizeof(rows[0]) + record.size();
  }
  Put(
      [job = key_, sql, rows = std::move(rows)](Statements& db) {
        for (const auto& [number, record] : rows) {
          RETURN_IF_ERROR(
              db[sql].Bind(1, job).Bind(2, number).BindBlob(3, record).Run());
        }
        return absl::OkStatus();
      },
      bytes);
}

void JobRows::Insert(const std::string& id, const std::string& asked_for,
                     int64_t created_at_unix_nano) {
  Put([=, job = key_](Statements& db) {
    RETURN_IF_ERROR(db["INSERT INTO job (job, id, asked_for, created_at)"
                       " VALUES (?, ?, ?, ?)"]
                        .Bind(1, job)
                        .Bind(2, std::string_view(id))
                        .Bind(3, std::string_view(asked_for))
                        .Bind(4, created_at_unix_nano)
                        .Run());
    return db["INSERT OR REPLACE INTO newest_run VALUES (?, ?)"]
        .Bind(1, std::string_view(asked_for))
        .Bind(2, std::string_view(id))
        .Run();
  });
}

void JobRows::RecordHello(uint32_t rank, const jobs::AgentHello& hello,
                          bool same_process) {
  std::string record = Encode(hello).SerializeAsString();
  const size_t bytes = record.size();
  Put(
      [job = key_, rank, same_process,
       record = std::move(record)](Statements& db) {
        if (same_process) {
          return db["UPDATE rank SET hello = ? WHERE job = ? AND rank = ?"]
              .BindBlob(1, record)
              .Bind(2, job)
              .Bind(3, int64_t{rank})
              .Run();
        }
        RETURN_IF_ERROR(db["DELETE FROM agent_node WHERE job = ? AND rank = ?"]
                            .Bind(1, job)
                            .Bind(2, int64_t{rank})
                            .Run());
        return db["INSERT OR REPLACE INTO rank (job, rank, hello, state)"
                  " VALUES (?, ?, ?, x'')"]
            .Bind(1, job)
            .Bind(2, int64_t{rank})
            .BindBlob(3, record)
            .Run();
      },
      bytes);
}

void JobRows::RecordState(uint32_t rank, const jobs::RunState& run,
                          const jobs::ExitReport* exit_report,
                          int64_t now_unix_nano) {
  RankState state = Encode(run, exit_report);
  state.set_changed_at_unix_nano(now_unix_nano);
  std::string record = state.SerializeAsString();
  const size_t bytes = record.size();
  Put(
      [job = key_, rank, record = std::move(record)](Statements& db) {
        return db["UPDATE rank SET state = ? WHERE job = ? AND rank = ?"]
            .BindBlob(1, record)
            .Bind(2, job)
            .Bind(3, int64_t{rank})
            .Run();
      },
      bytes);
}

void JobRows::RecordGraph(uint32_t rank, const graph::GraphStore& graph,
                          const graph::GraphChanges& changes) {
  PutFrames(graph);
  PutNodes(graph, changes.nodes);
  PutScopes(graph, changes.scopes);
  PutFiles(graph, changes.files);
  if (changes.ids.empty()) return;
  Put(
      [job = key_, rank, ids = changes.ids](Statements& db) {
        for (const auto& [number, node] : ids) {
          RETURN_IF_ERROR(
              db["INSERT OR REPLACE INTO agent_node VALUES (?, ?, ?, ?)"]
                  .Bind(1, job)
                  .Bind(2, int64_t{rank})
                  .Bind(3, int64_t{number})
                  .Bind(4, int64_t{node})
                  .Run());
        }
        return absl::OkStatus();
      },
      changes.ids.size() * sizeof(changes.ids[0]));
}

void JobRows::PutFrames(const graph::GraphStore& graph) {
  if (frames_ == graph.frame_count()) return;
  Numbered rows;
  for (; frames_ < graph.frame_count(); ++frames_) {
    const auto frame = static_cast<graph::FrameIndex>(frames_);
    rows.emplace_back(frame,
                      model::ToMessage(graph.frame(frame)).SerializeAsString());
  }
  PutNumbered("INSERT OR REPLACE INTO frame VALUES (?, ?, ?)", std::move(rows));
}

void JobRows::PutNodes(const graph::GraphStore& graph,
                       const std::vector<graph::NodeIndex>& nodes) {
  if (nodes.empty()) return;
  Numbered rows;
  for (graph::NodeIndex node : nodes) {
    rows.emplace_back(node, Encode(graph, node).SerializeAsString());
  }
  PutNumbered("INSERT OR REPLACE INTO node VALUES (?, ?, ?)", std::move(rows));
}

void JobRows::PutScopes(const graph::GraphStore& graph,
                        const std::vector<graph::ScopeIndex>& scopes) {
  if (scopes.empty()) return;
  using Row = std::tuple<std::string, std::string, std::string>;
  std::vector<Row> rows;
  size_t bytes = 0;
  for (graph::ScopeIndex scope : scopes) {
    rows.emplace_back(GraphOf(graph, scope), graph.scope(scope).name,
                      graph.scope(scope).type);
    bytes += sizeof(Row) + graph.scope(scope).name.size() +
             graph.scope(scope).type.size();
  }
  Put(
      [job = key_, rows = std::move(rows)](Statements& db) {
        for (const auto& [graph, name, type] : rows) {
          RETURN_IF_ERROR(db["INSERT OR REPLACE INTO scope VALUES (?, ?, ?, ?)"]
                              .Bind(1, job)
                              .Bind(2, std::string_view(graph))
                              .Bind(3, std::string_view(name))
                              .Bind(4, std::string_view(type))
                              .Run());
        }
        return absl::OkStatus();
      },
      bytes);
}

void JobRows::PutFiles(const graph::GraphStore& graph,
                       const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const std::string& text = *graph.FileText(file);
    Put(
        [job = key_, file, text](Statements& db) {
          return db["INSERT OR REPLACE INTO source_file VALUES (?, ?, ?)"]
              .Bind(1, job)
              .Bind(2, std::string_view(file))
              .Bind(3, std::string_view(text))
              .Run();
        },
        file.size() + text.size());
  }
}

void JobRows::RecordLastSteps(const graph::GraphStore& graph) {
  LastSteps steps;
  for (graph::NodeIndex i = 0; i < graph.node_count(); ++i) {
    steps.add_steps(graph.node(i).last_step);
  }
  std::string record = steps.SerializeAsString();
  const size_t bytes = record.size();
  Put(
      [job = key_, record = std::move(record)](Statements& db) {
        return db["UPDATE job SET last_steps = ? WHERE job = ?"]
            .BindBlob(1, record)
            .Bind(2, job)
            .Run();
      },
      bytes);
}

void JobRows::RecordWatchpoint(uint32_t id, uint32_t revision,
                               const model::WatchpointSpec* spec) {
  std::optional<std::string> record;
  if (spec != nullptr) record = Encode(*spec).SerializeAsString();
  const size_t bytes = record ? record->size() : 0;
  Put(
      [job = key_, id, revision, record = std::move(record)](Statements& db) {
        RETURN_IF_ERROR(KeepConditionOnly(db, job, id, revision));
        Statement& insert = db["INSERT INTO watchpoint VALUES (?, ?, ?, ?)"];
        insert.Bind(1, job).Bind(2, int64_t{id}).Bind(3, int64_t{revision});
        record ? insert.BindBlob(4, *record) : insert.BindNull(4);
        return insert.Run();
      },
      bytes);
}

void JobRows::RecordRules(const model::KeptRules& rules) {
  Put(
      [job = key_, rules](Statements& db) {
        return db["INSERT OR REPLACE INTO rules VALUES (?, ?, ?)"]
            .Bind(1, job)
            .Bind(2, rules.run)
            .Bind(3, rules.json)
            .Run();
      },
      rules.json.size());
}

void JobRows::RecordOrigin(const jobs::SavedOrigin& origin) {
  Put([job = key_, origin](Statements& db) {
    return db["INSERT OR REPLACE INTO origin VALUES (?, ?, ?, ?, ?, ?, ?)"]
        .Bind(1, job)
        .Bind(2, static_cast<int64_t>(origin.step))
        .Bind(3, int64_t{origin.rank})
        .Bind(4, int64_t{origin.node})
        .Bind(5, int64_t{origin.slot})
        .Bind(6, static_cast<int64_t>(origin.order))
        .Bind(7, int64_t{origin.received})
        .Run();
  });
}

void JobRows::EraseOrigins(uint64_t step) {
  Put([job = key_, step](Statements& db) {
    return db["DELETE FROM origin WHERE job = ? AND step = ?"]
        .Bind(1, job)
        .Bind(2, static_cast<int64_t>(step))
        .Run();
  });
}

void JobRows::EraseRevision(uint32_t id, uint32_t revision) {
  Put([job = key_, id, revision](Statements& db) {
    return db["DELETE FROM watchpoint"
              " WHERE job = ? AND id = ? AND revision = ?"]
        .Bind(1, job)
        .Bind(2, int64_t{id})
        .Bind(3, int64_t{revision})
        .Run();
  });
}

void JobRows::RecordHit(const watch::HitRecord& record, uint64_t number,
                        bool kept) {
  std::string blob;
  if (kept) blob = Encode(record).SerializeAsString();
  const size_t bytes = blob.size();
  Put(
      [job = key_, id = static_cast<int64_t>(record.hit.id),
       rank = record.hit.rank, number, kept,
       blob = std::move(blob)](Statements& db) {
        if (kept) {
          RETURN_IF_ERROR(db["INSERT INTO hit VALUES (?, ?, ?)"]
                              .Bind(1, job)
                              .Bind(2, id)
                              .BindBlob(3, blob)
                              .Run());
        } else {
          RETURN_IF_ERROR(db["UPDATE job SET hit_total = ? WHERE job = ?"]
                              .Bind(1, id)
                              .Bind(2, job)
                              .Run());
        }
        if (number == 0) return absl::OkStatus();
        return db["UPDATE rank SET last_hit = ? WHERE job = ? AND rank = ?"]
            .Bind(1, static_cast<int64_t>(number))
            .Bind(2, job)
            .Bind(3, int64_t{rank})
            .Run();
      },
      bytes);
}

void JobRows::RecordStatistics(uint32_t rank, graph::NodeIndex node,
                               uint32_t slot, uint64_t step,
                               const model::Statistics& statistics) {
  std::string record = model::ToMessage(statistics).SerializeAsString();
  const size_t bytes = record.size();
  Put(
      [job = key_, rank, node, slot, step,
       record = std::move(record)](Statements& db) {
        return db["INSERT OR REPLACE INTO statistics VALUES (?, ?, ?, ?, ?, ?)"]
            .Bind(1, job)
            .Bind(2, int64_t{rank})
            .Bind(3, int64_t{node})
            .Bind(4, int64_t{slot})
            .Bind(5, static_cast<int64_t>(step))
            .BindBlob(6, record)
            .Run();
      },
      bytes, Writer::Kind::kOptional);
}

void JobRows::EraseStatistics(uint32_t rank, graph::NodeIndex node,
                              uint32_t slot, uint64_t step) {
  Put(
      [job = key_, rank, node, slot, step](Statements& db) {
        return db
            ["DELETE FROM statistics WHERE job = ? AND rank = ? AND node = ?"
             " AND slot = ? AND step = ?"]
                .Bind(1, job)
                .Bind(2, int64_t{rank})
                .Bind(3, int64_t{node})
                .Bind(4, int64_t{slot})
                .Bind(5, static_cast<int64_t>(step))
                .Run();
      },
      0, Writer::Kind::kOptional);
}

void JobRows::Forget() {
  absl::MutexLock lock(&mu_);
  if (forgotten_) return;
  forgotten_ = true;
  // Whatever happened to the records, their removal counts for itself.
  group_ = std::make_shared<Writer::Group>();
  writer_->Put(
      group_,
      [job = key_](Statements& db) {
        RETURN_IF_ERROR(db["DELETE FROM job WHERE job = ?"].Bind(1, job).Run());
        return db["DELETE FROM newest_run"
                  " WHERE asked_for NOT IN (SELECT asked_for FROM job)"]
            .Run();
      },
      kBytesPerWrite, Writer::Kind::kRemoval);
}

void JobRows::WhenDurable(std::function<void(absl::Status)> then) {
  writer_->WhenDurable(group(), std::move(then));
}

void JobRows::OnceDurable(std::function<void(absl::Status)> then) {
  writer_->OnceDurable(group(), std::move(then));
}

absl::Status JobRows::status() const {
  RETURN_IF_ERROR(group()->status());
  return writer_->status();
}

}  // namespace graphdbg::store
