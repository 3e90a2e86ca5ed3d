// Declares and executes a large graph, and prints the memory of the agent in
// bytes: without the graph, and the maximum with it. Used by memory_test.
//
//   memory_program NODES
#include <stdio.h>
#include <stdlib.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "agent/include/graphdbg/agent.h"

namespace {

// Returns a value of /proc/self/status in bytes.
int64_t Memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind(name + ":", 0) != 0) continue;
    return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return -1;
}

// Resembles a model with many layers, each a scope of ten ops, in a program
// with a few source files.
class Program {
 public:
  graphdbg_status Open() {
    graphdbg_options options = {};
    options.struct_size = sizeof(options);
    options.abi_version = GRAPHDBG_ABI_VERSION;
    options.framework = "toy";
    return graphdbg_open(&options, &agent_);
  }
  graphdbg_status Start() { return graphdbg_start(agent_); }

  uint32_t Declare(uint32_t i) {
    const uint32_t layer = i / 10;
    name_ = "forward/encoder/layers/" + std::to_string(layer) +
            "/attention/op_" + std::to_string(i % 10);
    graphdbg_source_frame frames[8];
    for (uint32_t f = 0; f < 8; ++f) {
      frames[f] = {f < 4 ? "/opt/framework/nn/modules/module.py"
                         : "/home/user/project/model.py",
                   f * 100 + layer % 50, "forward", f >= 4};
    }
    graphdbg_node_info info = {};
    info.struct_size = sizeof(info);
    info.name = name_.c_str();
    info.kind = GRAPHDBG_OP;
    info.category = GRAPHDBG_ACTIVATION;
    info.op_type = "toy::linear";
    info.stack = frames;
    info.stack_depth = 8;
    uint32_t node = 0;
    graphdbg_declare_node(agent_, &info, &node);
    return node;
  }

  void Execute(uint32_t node) {
    if (!graphdbg_interest(agent_, node)) return;
    const int64_t shape[] = {8, 16};
    graphdbg_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = GRAPHDBG_FLOAT32;
    tensor.data = values_.data();
    tensor.ndim = 2;
    tensor.shape = shape;
    tensor.framework_dtype = "toy.float32";
    const graphdbg_input inputs[] = {{node - 1, 0, tensor}, {1, 0, tensor}};
    graphdbg_execution execution = {};
    execution.struct_size = sizeof(execution);
    execution.node = node;
    execution.inputs = inputs;
    execution.input_count = 2;
    execution.outputs = &tensor;
    execution.output_count = 1;
    graphdbg_executed(agent_, &execution);
  }

  void EndStep() { graphdbg_step_end(agent_); }
  void Close() { graphdbg_close(agent_, nullptr); }

 private:
  graphdbg_agent* agent_ = nullptr;
  std::string name_;
  std::vector<float> values_ = std::vector<float>(8 * 16);
};

}  // namespace

int main(int argc, char** argv) {
  const auto nodes = static_cast<uint32_t>(argc > 1 ? atol(argv[1]) : 0);
  const int64_t before = Memory("VmRSS");
  Program program;
  if (program.Open() != GRAPHDBG_OK || program.Start() != GRAPHDBG_OK) return 2;
  const int64_t own = Memory("VmRSS") - before;
  for (uint32_t i = 0; i < nodes; ++i) program.Execute(program.Declare(i));
  program.EndStep();
  program.Close();
  printf("%lld %lld\n", static_cast<long long>(own),
         static_cast<long long>(Memory("VmHWM") - before));
  return 0;
}
