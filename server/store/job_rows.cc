#include "server/store/job_rows.h"

#include <tuple>
#include <utility>
#include <vector>

#include "server/model/messages.h"
#include "server/store/encode.h"

namespace graphdbg::store {
namespace {

// Rows of two numbers and a record, under a job.
using Numbered = std::vector<std::pair<int64_t, std::string>>;

Writer::Write PutNumbered(int64_t job, const char* sql, Numbered rows) {
  return [job, sql, rows = std::move(rows)](Statements& db) {
    absl::Status status;
    for (const auto& [number, record] : rows) {
      status = db[sql].Bind(1, job).Bind(2, number).BindBlob(3, record).Run();
      if (!status.ok()) break;
    }
    return status;
  };
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

void JobRows::Insert(const std::string& id, const std::string& asked_for,
                     int64_t created_at_unix_nano) {
  writer_->Put([=, job = key_](Statements& db) {
    return db["INSERT INTO job (job, id, asked_for, created_at)"
              " VALUES (?, ?, ?, ?)"]
        .Bind(1, job)
        .Bind(2, std::string_view(id))
        .Bind(3, std::string_view(asked_for))
        .Bind(4, created_at_unix_nano)
        .Run();
  });
}

void JobRows::RecordHello(uint32_t rank, const jobs::AgentHello& hello,
                          bool same_process) {
  writer_->Put([job = key_, rank, same_process,
                record = Encode(hello).SerializeAsString()](Statements& db) {
    if (same_process) {
      return db["UPDATE rank SET hello = ? WHERE job = ? AND rank = ?"]
          .BindBlob(1, record)
          .Bind(2, job)
          .Bind(3, int64_t{rank})
          .Run();
    }
    auto status = db["DELETE FROM agent_node WHERE job = ? AND rank = ?"]
                      .Bind(1, job)
                      .Bind(2, int64_t{rank})
                      .Run();
    if (!status.ok()) return status;
    return db["INSERT OR REPLACE INTO rank (job, rank, hello, state)"
              " VALUES (?, ?, ?, x'')"]
        .Bind(1, job)
        .Bind(2, int64_t{rank})
        .BindBlob(3, record)
        .Run();
  });
}

void JobRows::RecordState(uint32_t rank, const jobs::RunState& run,
                          const jobs::ExitReport* farewell) {
  writer_->Put(
      [job = key_, rank,
       record = Encode(run, farewell).SerializeAsString()](Statements& db) {
        return db["UPDATE rank SET state = ? WHERE job = ? AND rank = ?"]
            .BindBlob(1, record)
            .Bind(2, job)
            .Bind(3, int64_t{rank})
            .Run();
      });
}

void JobRows::RecordGraph(uint32_t rank, const graph::GraphStore& graph,
                          const graph::GraphChanges& changes) {
  PutFrames(graph);
  PutNodes(graph, changes.nodes);
  PutScopes(graph, changes.scopes);
  if (changes.ids.empty()) return;
  writer_->Put([job = key_, rank, ids = changes.ids](Statements& db) {
    absl::Status status;
    for (const auto& [number, node] : ids) {
      status = db["INSERT OR REPLACE INTO agent_node VALUES (?, ?, ?, ?)"]
                   .Bind(1, job)
                   .Bind(2, int64_t{rank})
                   .Bind(3, int64_t{number})
                   .Bind(4, int64_t{node})
                   .Run();
      if (!status.ok()) break;
    }
    return status;
  });
}

void JobRows::PutFrames(const graph::GraphStore& graph) {
  if (frames_ == graph.frame_count()) return;
  Numbered rows;
  for (; frames_ < graph.frame_count(); ++frames_) {
    const auto frame = static_cast<graph::FrameIndex>(frames_);
    rows.emplace_back(frame,
                      model::ToMessage(graph.frame(frame)).SerializeAsString());
  }
  writer_->Put(PutNumbered(
      key_, "INSERT OR REPLACE INTO frame VALUES (?, ?, ?)", std::move(rows)));
}

void JobRows::PutNodes(const graph::GraphStore& graph,
                       const std::vector<graph::NodeIndex>& nodes) {
  if (nodes.empty()) return;
  Numbered rows;
  for (graph::NodeIndex node : nodes) {
    rows.emplace_back(node, Encode(graph, node).SerializeAsString());
  }
  writer_->Put(PutNumbered(key_, "INSERT OR REPLACE INTO node VALUES (?, ?, ?)",
                           std::move(rows)));
}

void JobRows::PutScopes(const graph::GraphStore& graph,
                        const std::vector<graph::ScopeIndex>& scopes) {
  if (scopes.empty()) return;
  using Row = std::tuple<std::string, std::string, std::string>;
  std::vector<Row> rows;
  for (graph::ScopeIndex scope : scopes) {
    rows.emplace_back(GraphOf(graph, scope), graph.scope(scope).name,
                      graph.scope(scope).type);
  }
  writer_->Put([job = key_, rows = std::move(rows)](Statements& db) {
    absl::Status status;
    for (const auto& [graph, name, type] : rows) {
      status = db["INSERT OR REPLACE INTO scope VALUES (?, ?, ?, ?)"]
                   .Bind(1, job)
                   .Bind(2, std::string_view(graph))
                   .Bind(3, std::string_view(name))
                   .Bind(4, std::string_view(type))
                   .Run();
      if (!status.ok()) break;
    }
    return status;
  });
}

void JobRows::RecordLastSteps(const graph::GraphStore& graph) {
  LastSteps steps;
  for (graph::NodeIndex i = 0; i < graph.node_count(); ++i) {
    steps.add_steps(graph.node(i).last_step);
  }
  writer_->Put(
      [job = key_, record = steps.SerializeAsString()](Statements& db) {
        return db["UPDATE job SET last_steps = ? WHERE job = ?"]
            .BindBlob(1, record)
            .Bind(2, job)
            .Run();
      });
}

void JobRows::RecordWatchpoint(uint32_t id, uint32_t revision,
                               const model::WatchpointSpec* spec) {
  std::optional<std::string> record;
  if (spec != nullptr) record = Encode(*spec).SerializeAsString();
  writer_->Put(
      [job = key_, id, revision, record = std::move(record)](Statements& db) {
        Statement& insert = db["INSERT INTO watchpoint VALUES (?, ?, ?, ?)"];
        insert.Bind(1, job).Bind(2, int64_t{id}).Bind(3, int64_t{revision});
        record ? insert.BindBlob(4, *record) : insert.BindNull(4);
        return insert.Run();
      });
}

void JobRows::RecordHit(const watch::HitRecord& record, uint64_t number,
                        bool kept) {
  std::string blob;
  if (kept) blob = Encode(record).SerializeAsString();
  writer_->Put([job = key_, id = static_cast<int64_t>(record.hit.id),
                rank = record.hit.rank, number, kept,
                blob = std::move(blob)](Statements& db) {
    absl::Status status;
    if (kept) {
      status = db["INSERT INTO hit VALUES (?, ?, ?)"]
                   .Bind(1, job)
                   .Bind(2, id)
                   .BindBlob(3, blob)
                   .Run();
    } else {
      status = db["UPDATE job SET hit_total = ? WHERE job = ?"]
                   .Bind(1, id)
                   .Bind(2, job)
                   .Run();
    }
    if (!status.ok() || number == 0) return status;
    return db["UPDATE rank SET last_hit = ? WHERE job = ? AND rank = ?"]
        .Bind(1, static_cast<int64_t>(number))
        .Bind(2, job)
        .Bind(3, int64_t{rank})
        .Run();
  });
}

void JobRows::RecordStatistics(uint32_t rank, graph::NodeIndex node,
                               uint32_t slot, uint64_t step,
                               const model::Statistics& statistics) {
  writer_->Put([job = key_, rank, node, slot, step,
                record = model::ToMessage(statistics).SerializeAsString()](
                   Statements& db) {
    return db["INSERT OR REPLACE INTO statistics VALUES (?, ?, ?, ?, ?, ?)"]
        .Bind(1, job)
        .Bind(2, int64_t{rank})
        .Bind(3, int64_t{node})
        .Bind(4, int64_t{slot})
        .Bind(5, static_cast<int64_t>(step))
        .BindBlob(6, record)
        .Run();
  });
}

void JobRows::EraseStatistics(uint32_t rank, graph::NodeIndex node,
                              uint32_t slot, uint64_t step) {
  writer_->Put([job = key_, rank, node, slot, step](Statements& db) {
    return db["DELETE FROM statistics WHERE job = ? AND rank = ? AND node = ?"
              " AND slot = ? AND step = ?"]
        .Bind(1, job)
        .Bind(2, int64_t{rank})
        .Bind(3, int64_t{node})
        .Bind(4, int64_t{slot})
        .Bind(5, static_cast<int64_t>(step))
        .Run();
  });
}

void JobRows::Forget() {
  writer_->Put([job = key_](Statements& db) {
    return db["DELETE FROM job WHERE job = ?"].Bind(1, job).Run();
  });
}

void JobRows::WhenDurable(std::function<void(absl::Status)> then) {
  writer_->WhenKept(std::move(then));
}

}  // namespace graphdbg::store
