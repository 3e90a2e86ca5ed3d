// What the agent is to be told of a model: nodes, edges, scopes.
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

// Nodes get numbers from 0, producers before consumers.
class Declarations {
 public:
  using Json = nlohmann::json;

  explicit Declarations(std::string model) : names_(model) {}

  // Of ONNX's own ops.
  void set_opset(int64_t opset) { opset_ = opset; }
  void set_types(const std::unordered_map<std::string, TensorType>* types) {
    types_ = types;
  }

  // Before anything is added: settles the names of the nodes at the top, and
  // by them where initializers belong that have no scope of their own.
  void NameNodes(const onnx::GraphProto& graph);

  size_t AddInitializer(const onnx::TensorProto& tensor);
  // A Constant node, which stands as the tensor that it makes.
  size_t AddConstant(const onnx::NodeProto& node,
                     const onnx::TensorProto& tensor);
  size_t AddInput(const onnx::ValueInfoProto& input);
  // An op, with the graphs inside it as scopes.
  size_t AddNode(const onnx::NodeProto& node) {
    return AddNode(node, node_names_.at(&node), 0);
  }

  // What a part of the model was numbered when it was added: a NodeProto, an
  // initializer's TensorProto or an input's ValueInfoProto, also in graphs
  // inside nodes.
  size_t NumberOf(const void* part) const { return numbers_.at(part); }

  Json TakeNodes() { return std::move(nodes_); }
  // Classes of modules by scope.
  Json TakeScopes() { return std::move(scopes_); }

 private:
  using Endpoint = std::pair<size_t, size_t>;

  size_t Add(const void* part, std::string name, const char* kind,
             const char* category, std::string op_type);
  size_t AddInput(const onnx::ValueInfoProto& input, const std::string& scope);
  size_t AddNode(const onnx::NodeProto& node, const std::string& name,
                 int depth);
  // Of those who read the value, the innermost scope that holds them all.
  std::string ScopeOf(const std::string& value) const;
  // A graph inside `node`. Gives what makes the graph's outputs.
  std::vector<Endpoint> AddGraph(const onnx::GraphProto& graph,
                                 const onnx::NodeProto& node,
                                 const std::string& scope, int depth);
  // Of the declarations from `first` on.
  void SayNotCaptured(size_t first, const std::string& why);
  void AddTensor(size_t node, const onnx::TensorProto& tensor);
  void AddTypes(const onnx::NodeProto& node, Json* item) const;
  void AddScopeTypes(const onnx::NodeProto& node, const std::string& name);

  Names names_;
  int64_t opset_ = 0;
  const std::unordered_map<std::string, TensorType>* types_ = nullptr;
  // What makes each value. Names in graphs inside nodes differ from those
  // outside.
  std::unordered_map<std::string, Endpoint> makers_;
  std::unordered_map<const void*, size_t> numbers_;
  // Of the nodes at the top.
  std::unordered_map<const onnx::NodeProto*, std::string> node_names_;
  std::unordered_map<std::string, std::string> scopes_of_values_;
  Json nodes_ = Json::array();
  Json scopes_ = Json::object();
};

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_DECLARATIONS_H_
