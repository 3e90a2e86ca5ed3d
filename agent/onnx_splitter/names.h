// Full names of the nodes of an ONNX graph. ONNX has no scopes; exporters
// encode them in names and metadata.
#ifndef AGENT_ONNX_SPLITTER_NAMES_H_
#define AGENT_ONNX_SPLITTER_NAMES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace graphdbg::onnx_splitter {

// The metadata of a node by key. libonnx 1.12 does not define this field.
std::map<std::string, std::string> MetadataOf(const onnx::NodeProto& node);

// Parses a Python list of strings, such as "['', 'layer1', 'layer1.0']".
std::vector<std::string> ParseList(absl::string_view text);

// Whether a name, or a node's name or metadata, contains a scope.
bool HasScope(absl::string_view name);
bool HasScope(const onnx::NodeProto& node);

class Names {
 public:
  // All names begin with `model`.
  explicit Names(std::string model) : model_(std::move(model)) {}

  // "model/layer1/0/conv/Conv" for a node "/layer1/layer1.0/conv/Conv" or for
  // one whose metadata names the module "layer1.0.conv". Duplicates get a
  // suffix: "..._1". `scope` is the scope of the subgraph or function, empty at
  // the top level.
  std::string NodeName(const onnx::NodeProto& node, absl::string_view scope);
  // "model/layer1/0/conv/weight".
  std::string InitializerName(absl::string_view name, absl::string_view scope);
  std::string InputName(absl::string_view name, absl::string_view scope);

 private:
  std::string Unique(std::vector<std::string> parts, absl::string_view scope);

  const std::string model_;
  // How often each name was requested.
  std::unordered_map<std::string, int> taken_;
};

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_NAMES_H_
