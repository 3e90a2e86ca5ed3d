#include "agent/adapters/tensorflow/eager_ops.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "tensorflow/core/util/managed_stack_trace.h"

namespace graphdbg::tensorflow {
namespace {

constexpr size_t kMaxFrames = 32;

struct ThreadScope {
  int scope = 0;
  uint32_t forward_node = 0;
};
thread_local ThreadScope thread_scope;

}  // namespace

void EagerOps::SetLibraries(std::vector<std::string> directories) {
  MutexLock lock(&mu_);
  libraries_ = std::move(directories);
}

int EagerOps::Scope(const std::string& name, graphdbg_category category) {
  MutexLock lock(&mu_);
  // Number 0 is for ops outside of any scope.
  if (scopes_.empty()) scopes_.push_back({"forward", GRAPHDBG_ACTIVATION});
  const auto [it, is_new] =
      scope_numbers_.emplace(name, static_cast<int>(scopes_.size()));
  if (is_new) scopes_.push_back({name, category});
  return it->second;
}

int EagerOps::Enter(int scope, uint32_t forward_node) {
  const int before = thread_scope.scope;
  thread_scope = {scope, forward_node};
  return before;
}

uint32_t EagerOps::NodeOf(graphdbg_agent* agent,
                          const ::tensorflow::OpKernelContext& context,
                          const std::string& type) {
  MutexLock lock(&mu_);
  const size_t scope = static_cast<size_t>(thread_scope.scope);
  // The name without that of the library whose kernel replaces TensorFlow's.
  constexpr std::string_view kReplaced = "_Mkl";
  const bool replaced = type.compare(0, kReplaced.size(), kReplaced) == 0;
  const bool known = scope < scopes_.size();
  std::string name = (known ? scopes_[scope].name : "forward") + "/" +
                     (replaced ? type.substr(kReplaced.size()) : type);
  const graphdbg_category category =
      known ? scopes_[scope].category : GRAPHDBG_ACTIVATION;
  const uint32_t number = counts_[name]++;
  if (number > 0) name += "_" + std::to_string(number);
  const auto it = nodes_.find(name);
  if (it != nodes_.end()) return it->second;
  const uint32_t node = Declare(agent, context, name, type, category);
  nodes_.emplace(std::move(name), node);
  return node;
}

uint32_t EagerOps::Declare(graphdbg_agent* agent,
                           const ::tensorflow::OpKernelContext& context,
                           const std::string& name, const std::string& type,
                           graphdbg_category category) {
  const uint32_t forward = thread_scope.forward_node;
  std::vector<::tensorflow::StackFrame> frames = StackOf(context);
  std::vector<graphdbg_source_frame> stack;
  for (const ::tensorflow::StackFrame& frame : frames) {
    stack.push_back({frame.file_name.c_str(),
                     static_cast<uint32_t>(std::max(frame.line_number, 0)),
                     frame.function_name.c_str(),
                     IsUsers(frame.file_name) ? 1 : 0});
  }
  graphdbg_node_info info = {};
  info.struct_size = sizeof(info);
  info.name = name.c_str();
  info.kind = GRAPHDBG_OP;
  info.category = category;
  info.op_type = type.c_str();
  info.stack = stack.data();
  info.stack_depth = stack.size();
  info.forward_node = forward;
  uint32_t node = 0;
  graphdbg_declare_node(agent, &info, &node);
  if (node != 0) stacks_.emplace(node, std::move(frames));
  return node;
}

std::vector<::tensorflow::StackFrame> EagerOps::StackOf(
    const ::tensorflow::OpKernelContext& context) const {
  const auto forward = stacks_.find(thread_scope.forward_node);
  if (forward != stacks_.end()) return forward->second;
  std::vector<::tensorflow::StackFrame> frames;
  if (context.stack_trace().has_value()) {
    frames = context.stack_trace()->ToStackFrames({}, nullptr, true, -1);
  } else if (read_stack_ != nullptr) {
    // TensorFlow has replaced the op by another one, and lost its stack.
    read_stack_(&frames);
  }
  // The frames inside TensorFlow say less than those of the program.
  const auto user = std::find_if(
      frames.begin(), frames.end(),
      [this](const auto& frame) { return IsUsers(frame.file_name); });
  const ptrdiff_t inside = user - frames.begin();
  constexpr ptrdiff_t kMaxInside = kMaxFrames / 2;
  if (inside > kMaxInside) {
    frames.erase(frames.begin(), frames.begin() + (inside - kMaxInside));
  }
  if (frames.size() > kMaxFrames) frames.resize(kMaxFrames);
  return frames;
}

void EagerOps::AddFrame(void* stack, const char* file, int line,
                        const char* function) {
  static_cast<std::vector<::tensorflow::StackFrame>*>(stack)->emplace_back(
      file, line, function);
}

bool EagerOps::IsUsers(const std::string& file) const {
  return std::none_of(libraries_.begin(), libraries_.end(),
                      [&file](const std::string& directory) {
                        return file.compare(0, directory.size(), directory) ==
                               0;
                      });
}

Producer EagerOps::ProducerOf(const void* data) const {
  MutexLock lock(&mu_);
  const auto it = producers_.find(data);
  return it == producers_.end() ? Producer() : it->second;
}

void EagerOps::SetProducer(const void* data, Producer producer) {
  MutexLock lock(&mu_);
  producers_[data] = producer;
}

void EagerOps::EndStep() {
  MutexLock lock(&mu_);
  counts_.clear();
  producers_.clear();
}

}  // namespace graphdbg::tensorflow
