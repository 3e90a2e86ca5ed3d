// An implementation of graphdbg/agent.h for the adapter's tests, which writes
// every call as a line of JSON to $GRAPHDBG_TRACE_FILE.
//
//   GRAPHDBG_TRACE_LEVEL        initial level (default: 2, ops)
//   GRAPHDBG_TRACE_LEVEL_AFTER  step:level[,step:level]..., new levels at the
//                               ends of these steps
//   GRAPHDBG_TRACE_RETAIN       1: retain outputs until the end of each step
//   GRAPHDBG_TRACE_GATE         graphdbg_start waits until this file exists
//   GRAPHDBG_TRACE_DETACH       1: behave as if no server was found
//   GRAPHDBG_TRACE_TERMINATE    step at whose first op the program terminates
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "agent/base/mutex.h"
#include "agent/kernels/cpu/cpu_statistics.h"
#include "agent/tensor/tensor_view.h"
#include "graphdbg/agent.h"
#include "proto/runs/digest.h"

using Json = nlohmann::json;

namespace {

const char* Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Json Describe(const graphdbg_tensor& tensor) {
  Json out;
  out["dtype"] = tensor.framework_dtype;
  out["shape"] = std::vector<int64_t>(tensor.shape, tensor.shape + tensor.ndim);
  out["storage"] = tensor.storage_id;
  if (tensor.data == nullptr || tensor.device != GRAPHDBG_CPU) return out;
  graphdbg::Statistics statistics;
  const graphdbg::TensorView view = {static_cast<graphdbg::DType>(tensor.dtype),
                                     tensor.data, tensor.ndim, tensor.shape,
                                     tensor.strides};
  if (!graphdbg::cpu::ComputeStatistics(view, &statistics)) return out;
  out["nan"] = statistics.nan_count;
  out["zero"] = statistics.zero_count;
  out["inf"] = statistics.inf_count();
  if (!statistics.has_finite()) return out;
  out["min"] = statistics.min;
  out["max"] = statistics.max;
  out["mean"] = statistics.mean;
  out["abs_mean"] = statistics.abs_mean;
  return out;
}

Json Stack(const graphdbg_source_frame* frames, size_t depth) {
  Json out = Json::array();
  for (size_t i = 0; i < depth; ++i) {
    out.push_back({{"file", frames[i].file},
                   {"line", frames[i].line},
                   {"function", frames[i].function},
                   {"user", frames[i].user != 0}});
  }
  return out;
}

}  // namespace

struct graphdbg_agent {
  graphdbg_host host = {};
  graphdbg::Mutex mu;
  std::ofstream file GRAPHDBG_GUARDED_BY(mu);
  std::unordered_map<std::string, uint32_t> ids GRAPHDBG_GUARDED_BY(mu);
  std::vector<std::string> names GRAPHDBG_GUARDED_BY(mu) = {""};
  std::vector<std::pair<std::string, void*>> bound GRAPHDBG_GUARDED_BY(mu);
  std::vector<void*> retained GRAPHDBG_GUARDED_BY(mu);
  int step GRAPHDBG_GUARDED_BY(mu) = 0;

  void Write(Json line) GRAPHDBG_REQUIRES(mu) {
    // The file is shared with forked children.
    line["pid"] = getpid();
    line["step"] = step;
    file << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n'
         << std::flush;
  }

  bool Terminates() const GRAPHDBG_REQUIRES(mu) {
    const std::string at = Variable("GRAPHDBG_TRACE_TERMINATE");
    return !at.empty() && step >= std::stoi(at);
  }

  void ReadBound(const char* call) GRAPHDBG_REQUIRES(mu) {
    for (const auto& [name, handle] : bound) {
      graphdbg_tensor tensor = {};
      int64_t shape[64];
      int64_t strides[64];
      if (host.resolve(host.user, handle, &tensor, shape, strides) != 0) {
        continue;
      }
      Write({{"call", call}, {"name", name}, {"tensor", Describe(tensor)}});
    }
  }

  graphdbg_status WaitForGate() {
    const std::string gate = Variable("GRAPHDBG_TRACE_GATE");
    if (gate.empty()) return GRAPHDBG_OK;
    void* const token = host.begin_wait(host.user);
    {
      graphdbg::MutexLock lock(&mu);
      Write({{"call", "waiting"}});
    }
    graphdbg_status status = GRAPHDBG_OK;
    while (access(gate.c_str(), F_OK) != 0 && status == GRAPHDBG_OK) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (host.interrupted(host.user, token) != 0) {
        status = GRAPHDBG_INTERRUPTED;
      }
    }
    host.end_wait(host.user, token);
    return status;
  }
};

namespace {

std::atomic<graphdbg_agent*> current{nullptr};

}  // namespace

extern "C" {

graphdbg_status graphdbg_open(const graphdbg_options* options,
                              graphdbg_agent** agent) {
  *agent = new graphdbg_agent;
  current = *agent;
  (*agent)->host = *options->host;
  graphdbg::MutexLock lock(&(*agent)->mu);
  (*agent)->file.open(Variable("GRAPHDBG_TRACE_FILE"), std::ios::app);
  (*agent)->Write({{"call", "open"},
                   {"framework", options->framework},
                   {"version", options->framework_version},
                   {"job_name", options->job_name}});
  const std::string level = Variable("GRAPHDBG_TRACE_LEVEL");
  options->host->set_level(options->host->user,
                           level.empty() ? 2 : std::stoi(level));
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_failed(graphdbg_agent* agent,
                                const graphdbg_ending* ending) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "failed"},
                {"type", ending->exception_type},
                {"message", ending->exception_message}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_close(graphdbg_agent* agent,
                               const graphdbg_ending* ending) {
  current = nullptr;
  const auto text = [](const char* s) { return s == nullptr ? "" : s; };
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "close"},
                {"exit_code", ending->exit_code},
                {"type", text(ending->exception_type)},
                {"message", text(ending->exception_message)},
                {"traceback", text(ending->exception_traceback)}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_declare_node(graphdbg_agent* agent,
                                      const graphdbg_node_info* info,
                                      uint32_t* node) {
  graphdbg::MutexLock lock(&agent->mu);
  uint32_t& id = agent->ids[info->name];
  if (id == 0) {
    id = static_cast<uint32_t>(agent->names.size());
    agent->names.push_back(info->name);
  }
  *node = id;
  agent->Write({{"call", "node"},
                {"name", info->name},
                {"kind", info->kind},
                {"category", info->category},
                {"op_type", info->op_type},
                {"flags", info->flags},
                {"forward", agent->names[info->forward_node]},
                {"stack", Stack(info->stack, info->stack_depth)}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_declare_scope(graphdbg_agent* agent, const char* name,
                                       const char* type) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "scope"}, {"name", name}, {"type", type}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_declare_scope_in(graphdbg_agent* agent, const char*,
                                          const char* name, const char* type) {
  return graphdbg_declare_scope(agent, name, type);
}

graphdbg_status graphdbg_bind_tensor(graphdbg_agent* agent, uint32_t node,
                                     void* bound) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->bound.emplace_back(agent->names[node], bound);
  return GRAPHDBG_OK;
}

int graphdbg_interest(graphdbg_agent*, uint32_t) { return 1; }

int graphdbg_interests(graphdbg_agent*, const uint32_t*, size_t count,
                       uint8_t* interests) {
  std::fill(interests, interests + count, GRAPHDBG_INTEREST_OPTIONAL);
  return count == 0 ? GRAPHDBG_INTEREST_NONE : GRAPHDBG_INTEREST_OPTIONAL;
}

void graphdbg_begin_op(graphdbg_agent*, uint32_t) {}
void graphdbg_begin_overhead(graphdbg_agent*) {}
void graphdbg_end_overhead(graphdbg_agent*) {}

void graphdbg_end_op(graphdbg_agent*) {}

graphdbg_status graphdbg_start(graphdbg_agent* agent) {
  {
    graphdbg::MutexLock lock(&agent->mu);
    agent->Write({{"call", "start"}});
    agent->ReadBound("parameter");
    agent->step = 1;
  }
  if (*Variable("GRAPHDBG_TRACE_DETACH") == '1') return GRAPHDBG_DETACHED;
  return agent->WaitForGate();
}

graphdbg_status graphdbg_executed(graphdbg_agent* agent,
                                  const graphdbg_execution* execution) {
  graphdbg::MutexLock lock(&agent->mu);
  const graphdbg_input* given = execution->inputs;
  size_t input_count = execution->input_count;
  if (execution->struct_size == sizeof(*execution) &&
      execution->describe_inputs != nullptr) {
    input_count =
        execution->describe_inputs(execution->describe_inputs_context, &given);
  }
  Json inputs = Json::array();
  for (size_t i = 0; i < input_count; ++i) {
    const graphdbg_input& input = given[i];
    Json described = Describe(input.tensor);
    described["from"] = agent->names[input.node];
    described["slot"] = input.slot;
    inputs.push_back(described);
  }
  Json outputs = Json::array();
  bool bad = false;
  for (size_t i = 0; i < execution->output_count; ++i) {
    outputs.push_back(Describe(execution->outputs[i]));
    bad = bad || outputs.back().value("nan", 0) > 0 ||
          outputs.back().value("inf", 0) > 0;
    if (*Variable("GRAPHDBG_TRACE_RETAIN") == '1') {
      void* const owner = execution->outputs[i].owner;
      agent->host.retain(agent->host.user, owner);
      agent->retained.push_back(owner);
    }
  }
  Json line = {{"call", "executed"},
               {"name", agent->names[execution->node]},
               {"flags", execution->flags},
               {"failed", execution->error != nullptr},
               {"grad_scale", execution->grad_scale},
               {"micro_step", execution->micro_step},
               {"mode", execution->mode},
               {"inputs", inputs},
               {"outputs", outputs}};
  if (bad) {
    std::vector<graphdbg_source_frame> frames(32);
    const size_t depth = agent->host.capture_stack(
        agent->host.user, frames.data(), frames.size());
    line["stack"] = Stack(frames.data(), depth);
  }
  agent->Write(line);
  return agent->Terminates() ? GRAPHDBG_TERMINATE : GRAPHDBG_OK;
}

graphdbg_status graphdbg_notify(graphdbg_agent* agent, const char* line) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "notify"}, {"line", line}});
  return GRAPHDBG_OK;
}

int graphdbg_seeks_only_nonfinite(graphdbg_agent*) { return 0; }
void graphdbg_tested_finite(graphdbg_agent*, const uint32_t*, size_t, int) {}
void graphdbg_add_repetition(graphdbg_agent*, uint64_t) {}

int graphdbg_is_idle(graphdbg_agent*) {
  return *Variable("GRAPHDBG_TRACE_IDLE") == '1';
}

int graphdbg_watches(graphdbg_agent*, const char*) {
  return *Variable("GRAPHDBG_TRACE_WATCHES") == '1';
}

graphdbg_status graphdbg_report(graphdbg_agent* agent,
                                const graphdbg_finding* finding) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "report"},
                {"condition", finding->condition},
                {"name", agent->names[finding->node]},
                {"message", finding->message}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_compare_replicas(graphdbg_agent*,
                                          const graphdbg_replicas*) {
  return GRAPHDBG_OK;
}

uint64_t graphdbg_digest(const void* data, uint64_t count, size_t item_size) {
  return graphdbg::runs::Digest(data, count, item_size);
}

graphdbg_status graphdbg_begin_pass(graphdbg_agent* agent, graphdbg_mode mode,
                                    int within_step) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "begin_pass"},
                {"mode", static_cast<int>(mode)},
                {"within_step", within_step != 0}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_end_pass(graphdbg_agent* agent) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "end_pass"}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_set_mode(graphdbg_agent* agent, graphdbg_mode mode) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "set_mode"}, {"mode", static_cast<int>(mode)}});
  return GRAPHDBG_OK;
}

graphdbg_status graphdbg_save_tensor(graphdbg_agent* agent, const char* name,
                                     const char* collection,
                                     const graphdbg_tensor* tensor) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "save_tensor"},
                {"name", name},
                {"collection", collection},
                {"tensor", Describe(*tensor)}});
  return agent->Terminates() ? GRAPHDBG_TERMINATE : GRAPHDBG_OK;
}

graphdbg_agent* graphdbg_current(void) { return current; }

graphdbg_status graphdbg_step_end(graphdbg_agent* agent) {
  graphdbg::MutexLock lock(&agent->mu);
  agent->Write({{"call", "step_end"}});
  agent->ReadBound("parameter");
  for (void* owner : agent->retained) {
    agent->host.release(agent->host.user, owner);
  }
  agent->retained.clear();
  std::istringstream changes(Variable("GRAPHDBG_TRACE_LEVEL_AFTER"));
  for (std::string change; std::getline(changes, change, ',');) {
    if (std::stoi(change) != agent->step) continue;
    agent->host.set_level(agent->host.user,
                          std::stoi(change.substr(change.find(':') + 1)));
  }
  ++agent->step;
  return agent->Terminates() ? GRAPHDBG_TERMINATE : GRAPHDBG_OK;
}

const char* graphdbg_last_error(void) { return ""; }

const char* graphdbg_version(void) { return "0.0.0"; }

}  // extern "C"
