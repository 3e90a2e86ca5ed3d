// The nodes, edges and scopes of a model, as declared to the agent.
#ifndef AGENT_ONNX_SPLITTER_DECLARATIONS_H_
#define AGENT_ONNX_SPLITTER_DECLARATIONS_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/onnx_splitter/names.h"
#include "agent/onnx_splitter/shapes.h"

namespace graphdbg::onnx_splitter {

// Numbers nodes from 0, producers before consumers.
class Declarations {
 public:
  using Json = nlohmann::json;

  explicit Declarations(std::string model) : names_(model) {}

  // The version of ONNX's own op set.
  void set_opset(int64_t opset) { opset_ = opset; }
  void set_types(const std::unordered_map<std::string, TensorType>* types) {
    types_ = types;
  }

  // Assigns names to the top-level nodes, which also determine the scopes of
  // initializers without one of their own. Must precede every Add call.
  void NameNodes(const onnx::GraphProto& graph);

  size_t AddInitializer(const onnx::TensorProto& tensor);
  // A Constant node, declared as the tensor that it produces.
  size_t AddConstant(const onnx::NodeProto& node,
                     const onnx::TensorProto& tensor);
  size_t AddInput(const onnx::ValueInfoProto& input);
  // An op; its subgraphs become scopes.
  size_t AddNode(const onnx::NodeProto& node) {
    return AddNode(node, node_names_.at(&node), 0);
  }

  // The number of a part that was added: a NodeProto, an initializer's
  // TensorProto or an input's ValueInfoProto, including those in subgraphs.
  size_t NumberOf(const void* part) const { return numbers_.at(part); }

  Json TakeNodes() { return std::move(nodes_); }
  // Module classes by scope.
  Json TakeScopes() { return std::move(scopes_); }

 private:
  using Endpoint = std::pair<size_t, size_t>;

  size_t Add(const void* part, std::string name, const char* kind,
             const char* category, std::string op_type);
  size_t AddInput(const onnx::ValueInfoProto& input, const std::string& scope);
  size_t AddNode(const onnx::NodeProto& node, const std::string& name,
                 int depth);
  // The innermost scope that contains all readers of the value.
  std::string ScopeOf(const std::string& value) const;
  // Adds a subgraph of `node`; returns the producers of the subgraph's outputs.
  std::vector<Endpoint> AddGraph(const onnx::GraphProto& graph,
                                 const onnx::NodeProto& node,
                                 const std::string& scope, int depth);
  // Applies to all declarations from number `first` on.
  void MarkNotCaptured(size_t first, const std::string& why);
  void AddTensor(size_t node, const onnx::TensorProto& tensor);
  void AddTypes(const onnx::NodeProto& node, Json* item) const;
  void AddScopeTypes(const onnx::NodeProto& node, const std::string& name);

  Names names_;
  int64_t opset_ = 0;
  const std::unordered_map<std::string, TensorType>* types_ = nullptr;
  // Producers by value. ONNX forbids a subgraph to reuse names of the outer
  // graph, so one map serves all graphs.
  std::unordered_map<std::string, Endpoint> producers_;
  std::unordered_map<const void*, size_t> numbers_;
  // Top-level nodes only.
  std::unordered_map<const onnx::NodeProto*, std::string> node_names_;
  std::unordered_map<std::string, std::string> scopes_of_values_;
  Json nodes_ = Json::array();
  Json scopes_ = Json::object();
};

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_DECLARATIONS_H_
