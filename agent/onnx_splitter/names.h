// Full names of the nodes of an ONNX graph. ONNX has no scopes; exporters write
// them into names and metadata.
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

// The metadata of a node by key, which libonnx 1.12 does not know of.
std::map<std::string, std::string> MetadataOf(const onnx::NodeProto& node);

// The strings of "['', 'layer1', 'layer1.0']", as exporters write lists.
std::vector<std::string> ListOf(absl::string_view text);

// Whether a name, or a node's metadata, says which scope it belongs to.
bool HasScope(absl::string_view name);
bool HasScope(const onnx::NodeProto& node);

class Names {
 public:
  // All names begin with `model`.
  explicit Names(std::string model) : model_(std::move(model)) {}

  // "model/layer1/0/conv/Conv" for a node "/layer1/layer1.0/conv/Conv" or for
  // one whose metadata says that it belongs to the module "layer1.0.conv".
  // A second one of the same name is "..._1". `scope` is that of the subgraph
  // or function, empty at the top.
  std::string OfNode(const onnx::NodeProto& node, absl::string_view scope);
  // "model/layer1/0/conv/weight".
  std::string OfInitializer(absl::string_view name, absl::string_view scope);
  std::string OfInput(absl::string_view name, absl::string_view scope);

 private:
  std::string Unique(std::vector<std::string> parts, absl::string_view scope);

  const std::string model_;
  // How many have asked for a name.
  std::unordered_map<std::string, int> taken_;
};

}  // namespace graphdbg::onnx_splitter

#endif  // AGENT_ONNX_SPLITTER_NAMES_H_
