#include "agent/onnx_splitter/attributes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace graphdbg::onnx_splitter {
namespace {

constexpr size_t kMaxElements = 64;
constexpr size_t kMaxBytes = 1000;

template <class Values>
std::string List(const Values& values) {
  const size_t shown =
      std::min(kMaxElements, static_cast<size_t>(values.size()));
  const bool all = shown == static_cast<size_t>(values.size());
  return absl::StrCat(
      "[", absl::StrJoin(values.begin(), values.begin() + shown, ", "),
      all ? "]" : ", ...]");
}

std::string Truncate(std::string text) {
  if (text.size() > kMaxBytes) text = text.substr(0, kMaxBytes) + "...";
  return text;
}

}  // namespace

std::string TextOf(const onnx::AttributeProto& attribute) {
  using Proto = onnx::AttributeProto;
  switch (attribute.type()) {
    case Proto::FLOAT:
      return absl::StrCat(attribute.f());
    case Proto::INT:
      return absl::StrCat(attribute.i());
    case Proto::STRING:
      return Truncate(attribute.s());
    case Proto::FLOATS:
      return List(attribute.floats());
    case Proto::INTS:
      return List(attribute.ints());
    case Proto::STRINGS:
      return Truncate(List(attribute.strings()));
    case Proto::TENSOR:
      return absl::StrCat("tensor ", List(attribute.t().dims()));
    case Proto::GRAPH:
      return absl::StrCat("graph of ", attribute.g().node_size(), " nodes");
    default:
      return Proto::AttributeType_Name(attribute.type());
  }
}

bool MovesValues(const onnx::NodeProto& node) {
  static constexpr absl::string_view kMovers[] = {
      "Concat",       "Expand",       "Flatten", "Gather",    "GatherElements",
      "GatherND",     "Identity",     "Pad",     "Reshape",   "Slice",
      "Split",        "Squeeze",      "Tile",    "Transpose", "Unsqueeze",
      "DepthToSpace", "SpaceToDepth",
  };
  return node.domain().empty() &&
         std::find(std::begin(kMovers), std::end(kMovers), node.op_type()) !=
             std::end(kMovers);
}

}  // namespace graphdbg::onnx_splitter
