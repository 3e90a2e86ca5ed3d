// The C functions. Neither an exception nor an internal error of the agent
// reaches the program.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/core/agent.h"
#include "agent/core/config.h"
#include "agent/core/no_transport.h"
#include "agent/core/version.h"
#include "agent/include/graphdbg/agent.h"
#include "agent/recording/file_recording.h"
#include "agent/runtime/report.h"
#include "agent/transport/grpc_transport.h"
#include "proto/runs/crc32c.h"
#include "proto/runs/digest.h"
#include "proto/runs/record.h"

namespace graphdbg::agent {
namespace {

// Sizes of the structs in version 1 of the interface, which are the minimum.
constexpr size_t kTensorSize = sizeof(graphdbg_tensor);
constexpr size_t kExecutionSize = offsetof(graphdbg_execution, grad_scale);
constexpr size_t kNodeInfoSize = offsetof(graphdbg_node_info, flags);
constexpr size_t kOptionsSize = offsetof(graphdbg_options, flags);

thread_local std::string last_error;
// Whether any thread has had one: a look at this takes less time.
std::atomic<bool> any_error{false};

graphdbg_status Fail(graphdbg_status status, absl::string_view message) {
  last_error.assign(message.data(), message.size());
  any_error.store(true, std::memory_order_relaxed);
  return status;
}

graphdbg_status ToCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return GRAPHDBG_OK;
    case absl::StatusCode::kInvalidArgument:
      return Fail(GRAPHDBG_INVALID_ARGUMENT, status.message());
    case absl::StatusCode::kResourceExhausted:
      return Fail(GRAPHDBG_RESOURCE_EXHAUSTED, status.message());
    default:
      return Fail(GRAPHDBG_INTERNAL, status.message());
  }
}

bool HasValidSize(const graphdbg_tensor* tensors, size_t count) {
  return count == 0 ||
         (tensors != nullptr && tensors->struct_size >= kTensorSize);
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

}  // namespace
}  // namespace graphdbg::agent

// Never freed, because threads of the program may use it after it was closed.
// Its agent is freed when a later one has been closed, too.
struct graphdbg_agent {
  std::unique_ptr<graphdbg::agent::Agent> agent;
  std::atomic<bool> closed{false};
};

namespace graphdbg::agent {
namespace {

std::atomic<bool> in_forked_child{false};
std::atomic<graphdbg_agent*> agent_of_process{nullptr};
// The one that was closed last. Threads of the program may still be inside it.
std::atomic<graphdbg_agent*> last_closed{nullptr};

// Runs in the child, where only the forking thread exists, so it takes no lock.
void AfterForkInChild() {
  graphdbg_agent* const handle = agent_of_process;
  // An agent without threads works in the child as well: multiprocessing's
  // workers train in processes that were forked before.
  if (handle == nullptr || !handle->agent->dialed()) return;
  in_forked_child = true;
  handle->agent->GoInert();
}

bool Usable(const graphdbg_agent* handle) {
  return handle != nullptr &&
         !in_forked_child.load(std::memory_order_relaxed) &&
         !handle->closed.load(std::memory_order_relaxed) &&
         handle->agent->live();
}

// Calls `body`. An exception detaches the agent.
template <class Body>
graphdbg_status Guarded(graphdbg_agent* handle, const Body& body) {
  if (!Usable(handle)) return GRAPHDBG_DETACHED;
  if (any_error.load(std::memory_order_relaxed)) last_error.clear();
  const char* what = "unknown exception";
  try {
    const InOwnCode inside(handle->agent->own_time());
    return body(*handle->agent);
  } catch (const std::exception& e) {
    what = e.what();
    try {
      Fail(GRAPHDBG_INTERNAL, what);
      handle->agent->Detach(absl::StrCat(
          "internal error (", what, "); training continues without debugging"));
    } catch (...) {
      handle->agent->GoInert();
    }
  } catch (...) {
    handle->agent->GoInert();
  }
  return GRAPHDBG_INTERNAL;
}

void ReadPlaceOfProcess(const std::optional<Place>& known, Config* config) {
  ReadPlace([](const char* name) { return getenv(name); }, known, config);
}

// Abseil, as Debian builds it, remembers in which order locks are taken, and
// aborts the process if two orders might deadlock some day. That costs time at
// each lock of gRPC, and the process is not ours to abort.
void ForgetOrderOfLocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

graphdbg_status OpenAgent(const graphdbg_options& options,
                          graphdbg_agent** out) {
  const std::vector<std::string> command_line = OwnCommandLine();
  Config config =
      ReadConfig([](const char* name) { return getenv(name); }, command_line);
  if (!config.enabled) {
    for (const std::string& problem : config.problems) {
      std::fprintf(stderr, "graphdbg: %s\n", problem.c_str());
    }
    return GRAPHDBG_DETACHED;
  }
  // multiprocessing starts its workers with -c.
  if (IsPython(config.program) && options.job_name != nullptr) {
    config.program = options.job_name;
  }
  ForgetOrderOfLocks();
  Identity identity;
  identity.framework = TextOf(options.framework);
  identity.framework_version = TextOf(options.framework_version);
  identity.device = TextOf(options.device);
  identity.device_id = options.device_id;
  identity.job_name = TextOf(options.job_name);
  identity.reports = (options.flags & GRAPHDBG_OPTION_REPORTS) != 0;
  std::unique_ptr<Transport> transport;
  if (config.serverless) {
    transport = std::make_unique<NoTransport>();
  } else {
    transport = MakeGrpcTransport(config);
  }
  auto handle = std::make_unique<graphdbg_agent>();
  handle->agent = std::make_unique<Agent>(
      std::move(config), std::move(identity), Host(options.host),
      std::move(transport), ReadPlaceOfProcess, recording::OpenFileRecording);
  static const int registered =
      pthread_atfork(nullptr, nullptr, AfterForkInChild);
  (void)registered;
  agent_of_process = handle.get();
  handle->agent->Open();
  *out = handle.release();
  return GRAPHDBG_OK;
}

}  // namespace
}  // namespace graphdbg::agent

using graphdbg::agent::Agent;
using graphdbg::agent::CopySized;
using graphdbg::agent::Fail;
using graphdbg::agent::Guarded;
using graphdbg::agent::ToCode;
using graphdbg::agent::Usable;

graphdbg_status graphdbg_open(const graphdbg_options* options,
                              graphdbg_agent** agent) {
  if (agent == nullptr) {
    return Fail(GRAPHDBG_INVALID_ARGUMENT, "agent is null");
  }
  *agent = nullptr;
  if (options == nullptr ||
      options->struct_size < graphdbg::agent::kOptionsSize) {
    return Fail(
        GRAPHDBG_INVALID_ARGUMENT,
        "options is null or smaller than in version 1 of the interface");
  }
  if (options->abi_version != GRAPHDBG_ABI_VERSION) {
    return Fail(
        GRAPHDBG_INVALID_ARGUMENT,
        "unsupported abi_version: the adapter was built for another version of "
        "the interface");
  }
  if (graphdbg::agent::in_forked_child) return GRAPHDBG_DETACHED;
  try {
    return graphdbg::agent::OpenAgent(CopySized(options), agent);
  } catch (...) {
    return GRAPHDBG_INTERNAL;
  }
}

graphdbg_status graphdbg_failed(graphdbg_agent* agent,
                                const graphdbg_ending* ending) {
  return Guarded(agent, [&](Agent& a) {
    if (ending == nullptr) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT, "ending is null");
    }
    return a.Failed(CopySized(ending));
  });
}

graphdbg_status graphdbg_close(graphdbg_agent* agent,
                               const graphdbg_ending* ending) {
  if (agent == nullptr || graphdbg::agent::in_forked_child ||
      agent->closed.exchange(true)) {
    return GRAPHDBG_DETACHED;
  }
  graphdbg_agent* const earlier = graphdbg::agent::last_closed.exchange(agent);
  if (earlier != nullptr) earlier->agent.reset();
  try {
    return agent->agent->Close(ending != nullptr ? CopySized(ending)
                                                 : graphdbg_ending{});
  } catch (...) {
    return GRAPHDBG_INTERNAL;
  }
}

graphdbg_status graphdbg_declare_node(graphdbg_agent* agent,
                                      const graphdbg_node_info* info,
                                      uint32_t* node) {
  if (node != nullptr) *node = 0;
  return Guarded(agent, [&](Agent& a) {
    if (node == nullptr || info == nullptr ||
        info->struct_size < graphdbg::agent::kNodeInfoSize ||
        !graphdbg::agent::HasValidSize(info->outputs, info->output_count)) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  "info or node is null, or a struct_size is smaller than in "
                  "version 1 of "
                  "the interface");
    }
    const absl::StatusOr<uint32_t> id = a.DeclareNode(CopySized(info));
    if (id.ok()) *node = *id;
    return ToCode(id.status());
  });
}

graphdbg_status graphdbg_declare_scope(graphdbg_agent* agent, const char* name,
                                       const char* type) {
  return graphdbg_declare_scope_in(agent, "", name, type);
}

graphdbg_status graphdbg_declare_scope_in(graphdbg_agent* agent,
                                          const char* graph, const char* name,
                                          const char* type) {
  return Guarded(agent, [&](Agent& a) {
    if (name == nullptr || type == nullptr) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT, "name or type is null");
    }
    return ToCode(a.DeclareScope(graph == nullptr ? "" : graph, name, type));
  });
}

graphdbg_status graphdbg_bind_tensor(graphdbg_agent* agent, uint32_t node,
                                     void* bound) {
  return Guarded(agent,
                 [&](Agent& a) { return ToCode(a.BindTensor(node, bound)); });
}

int graphdbg_interest(graphdbg_agent* agent, uint32_t node) {
  // Nothing is of interest to an agent that is not live.
  return agent != nullptr && !agent->closed.load(std::memory_order_relaxed)
             ? agent->agent->Interest(node)
             : GRAPHDBG_INTEREST_NONE;
}

int graphdbg_interests(graphdbg_agent* agent, const uint32_t* nodes,
                       size_t count, uint8_t* interests) {
  int greatest = GRAPHDBG_INTEREST_NONE;
  for (size_t i = 0; i < count; ++i) {
    const int interest = graphdbg_interest(agent, nodes[i]);
    interests[i] = static_cast<uint8_t>(interest);
    greatest = std::max(greatest, interest);
  }
  return greatest;
}

void graphdbg_begin_op(graphdbg_agent* agent, uint32_t node) {
  if (Usable(agent)) agent->agent->BeginOp(node);
}

void graphdbg_end_op(graphdbg_agent* agent) {
  if (Usable(agent)) agent->agent->EndOp();
}

void graphdbg_begin_overhead(graphdbg_agent* agent) {
  if (agent != nullptr) agent->agent->own_time()->Enter();
}

void graphdbg_end_overhead(graphdbg_agent* agent) {
  if (agent != nullptr) agent->agent->own_time()->Leave();
}

graphdbg_status graphdbg_start(graphdbg_agent* agent) {
  return Guarded(agent, [](Agent& a) { return a.Start(); });
}

graphdbg_status graphdbg_executed(graphdbg_agent* agent,
                                  const graphdbg_execution* execution) {
  return Guarded(agent, [&](Agent& a) {
    const bool complete =
        execution != nullptr &&
        execution->struct_size >= graphdbg::agent::kExecutionSize &&
        (execution->input_count == 0 || execution->inputs != nullptr) &&
        (execution->input_count == 0 ||
         graphdbg::agent::HasValidSize(&execution->inputs->tensor, 1)) &&
        graphdbg::agent::HasValidSize(execution->outputs,
                                      execution->output_count);
    if (!complete) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  "the execution, its inputs or its outputs are null, or a "
                  "struct_size is "
                  "smaller than in version 1 of the interface");
    }
    const graphdbg_status status = a.Executed(*execution);
    return status == GRAPHDBG_INVALID_ARGUMENT
               ? Fail(status, "the node of the execution was not declared")
               : status;
  });
}

void graphdbg_tested_finite(graphdbg_agent* agent, const uint32_t* nodes,
                            size_t count, int finite) {
  if (Usable(agent) && nodes != nullptr) {
    agent->agent->RecordTested(nodes, count, finite != 0);
  }
}

graphdbg_status graphdbg_step_end(graphdbg_agent* agent) {
  return Guarded(agent, [](Agent& a) { return a.StepEnd(); });
}

graphdbg_status graphdbg_begin_pass(graphdbg_agent* agent, graphdbg_mode mode,
                                    int within_step) {
  return Guarded(agent, [&](Agent& a) {
    if (mode < GRAPHDBG_MODE_UNKNOWN || mode > GRAPHDBG_PREDICT) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  absl::StrCat("unknown mode ", int{mode}));
    }
    a.BeginPass(mode, within_step != 0);
    return GRAPHDBG_OK;
  });
}

graphdbg_status graphdbg_end_pass(graphdbg_agent* agent) {
  return Guarded(agent, [](Agent& a) {
    a.EndPass();
    return GRAPHDBG_OK;
  });
}

graphdbg_status graphdbg_set_mode(graphdbg_agent* agent, graphdbg_mode mode) {
  return Guarded(agent, [&](Agent& a) {
    if (mode < GRAPHDBG_MODE_UNKNOWN || mode > GRAPHDBG_PREDICT) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  absl::StrCat("unknown mode ", int{mode}));
    }
    a.SetMode(mode);
    return GRAPHDBG_OK;
  });
}

graphdbg_status graphdbg_save_tensor(graphdbg_agent* agent, const char* name,
                                     const char* collection,
                                     const graphdbg_tensor* tensor) {
  return Guarded(agent, [&](Agent& a) {
    if (name == nullptr || collection == nullptr || tensor == nullptr ||
        !graphdbg::agent::HasValidSize(tensor, 1)) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  "name, collection or tensor is null, or a struct_size is "
                  "smaller than in version 1 of the interface");
    }
    graphdbg_status status = GRAPHDBG_OK;
    const absl::Status saved = a.SaveTensor(name, collection, *tensor, &status);
    return saved.ok() ? status : ToCode(saved);
  });
}

int graphdbg_watches(graphdbg_agent* agent, const char* condition) {
  return Usable(agent) && agent->agent->Watches(condition);
}

int graphdbg_is_idle(graphdbg_agent* agent) {
  return Usable(agent) && agent->agent->IsIdle();
}

int graphdbg_seeks_only_nonfinite(graphdbg_agent* agent) {
  return Usable(agent) && agent->agent->SeeksOnlyNonFinite();
}

void graphdbg_add_repetition(graphdbg_agent* agent, uint64_t nanoseconds) {
  if (!Usable(agent)) return;
  constexpr uint64_t kMost = std::chrono::nanoseconds::max().count();
  agent->agent->AddRepetition(
      std::chrono::nanoseconds(std::min(nanoseconds, kMost)));
}

graphdbg_status graphdbg_report(graphdbg_agent* agent,
                                const graphdbg_finding* finding) {
  return Guarded(agent, [&](Agent& a) {
    if (finding == nullptr || finding->condition == nullptr ||
        finding->message == nullptr) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  "finding, its condition or its message is null");
    }
    return ToCode(a.Report(CopySized(finding)));
  });
}

graphdbg_status graphdbg_compare_replicas(graphdbg_agent* agent,
                                          const graphdbg_replicas* replicas) {
  return Guarded(agent, [&](Agent& a) {
    if (replicas == nullptr || replicas->group == nullptr ||
        (replicas->replicas == nullptr && replicas->count > 0)) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT,
                  "replicas, their group or their digests are null");
    }
    return ToCode(a.CompareReplicas(CopySized(replicas)));
  });
}

uint64_t graphdbg_digest(const void* data, uint64_t count, size_t item_size) {
  return graphdbg::runs::Digest(data, count, item_size);
}

graphdbg_agent* graphdbg_current(void) {
  graphdbg_agent* const agent = graphdbg::agent::agent_of_process;
  return graphdbg::agent::Usable(agent) ? agent : nullptr;
}

graphdbg_status graphdbg_notify(graphdbg_agent* agent, const char* line) {
  return Guarded(agent, [&](Agent& a) {
    if (line == nullptr) {
      return Fail(GRAPHDBG_INVALID_ARGUMENT, "line is null");
    }
    a.Notify(line);
    return GRAPHDBG_OK;
  });
}

uint32_t graphdbg_checksum(uint32_t before, const void* data, size_t size) {
  return graphdbg::runs::ExtendCrc32c(before, data, size);
}

void graphdbg_checksum_records(const void* records, const uint64_t* positions,
                               size_t count, uint32_t* checksums) {
  const auto* const all = static_cast<const graphdbg::runs::Record*>(records);
  for (size_t i = 0; i < count; ++i) {
    checksums[i] = graphdbg::runs::RecordCrc(positions[i], all[i]);
  }
}

const char* graphdbg_last_error(void) {
  return graphdbg::agent::last_error.c_str();
}

const char* graphdbg_accelerators(void) {
  thread_local std::string report;
  try {
    report = graphdbg::runtime::AcceleratorReport();
  } catch (const std::exception&) {
    return "";
  }
  return report.c_str();
}

const char* graphdbg_version(void) { return graphdbg::agent::kVersion; }
