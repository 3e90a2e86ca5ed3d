#include "agent/onnx_splitter/names.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace graphdbg::onnx_splitter {
namespace {

using Parts = std::vector<std::string>;

// Leave room for suffixes below the limits of proto/wire/limits.h.
constexpr size_t kMaxNameBytes = 4000;
constexpr size_t kMaxDepth = 60;
// NodeProto.metadata_props since version 10 of the format.
constexpr int kMetadataField = 9;
constexpr char kScopesKey[] = "pkg.torch.onnx.name_scopes";

void AddDotted(absl::string_view text, Parts* parts) {
  for (absl::string_view part : absl::StrSplit(text, '.', absl::SkipEmpty())) {
    parts->emplace_back(part);
  }
}

// The parts of "/layer1/layer1.0/conv/Conv", where a module in a container
// repeats the container's name: layer1, 0, conv, Conv.
Parts PartsOfPath(absl::string_view name) {
  Parts parts;
  std::string previous;
  for (absl::string_view part : absl::StrSplit(name, '/', absl::SkipEmpty())) {
    absl::string_view rest = part;
    if (!previous.empty() &&
        absl::StartsWith(part, absl::StrCat(previous, "."))) {
      rest.remove_prefix(previous.size() + 1);
    }
    previous = std::string(part);
    AddDotted(rest, &parts);
  }
  return parts;
}

}  // namespace

std::map<std::string, std::string> MetadataOf(const onnx::NodeProto& node) {
  std::map<std::string, std::string> metadata;
  const google::protobuf::UnknownFieldSet& unknown =
      node.GetReflection()->GetUnknownFields(node);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    onnx::StringStringEntryProto entry;
    if (field.number() == kMetadataField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(field.length_delimited())) {
      metadata[entry.key()] = entry.value();
    }
  }
  return metadata;
}

std::vector<std::string> ParseList(absl::string_view text) {
  Parts strings;
  while (true) {
    const size_t begin = text.find_first_of("'\"");
    if (begin == text.npos) return strings;
    const size_t end = text.find(text[begin], begin + 1);
    if (end == text.npos) return strings;
    strings.emplace_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

bool HasScope(absl::string_view name) { return PartsOfPath(name).size() > 1; }

bool HasScope(const onnx::NodeProto& node) {
  return HasScope(node.name()) || MetadataOf(node).count(kScopesKey) > 0;
}

std::string Names::NodeName(const onnx::NodeProto& node,
                            absl::string_view scope) {
  const std::string& name = node.name();
  if (name.empty()) return Unique({node.op_type()}, scope);
  if (absl::StrContains(name, "/")) return Unique(PartsOfPath(name), scope);
  // The list ends with the module's path and the op.
  const Parts scopes = ParseList(MetadataOf(node)[kScopesKey]);
  Parts parts;
  if (scopes.size() < 2) {
    AddDotted(name, &parts);
    return Unique(std::move(parts), scope);
  }
  AddDotted(scopes[scopes.size() - 2], &parts);
  constexpr absl::string_view kPrefix = "node_";
  const bool prefixed =
      absl::StartsWith(name, kPrefix) && name.size() > kPrefix.size();
  parts.push_back(prefixed ? name.substr(kPrefix.size()) : name);
  return Unique(std::move(parts), scope);
}

std::string Names::InitializerName(absl::string_view name,
                                   absl::string_view scope) {
  return Unique(PartsOfPath(name), scope);
}

std::string Names::InputName(absl::string_view name, absl::string_view scope) {
  return Unique({absl::StrSplit(name, '/', absl::SkipEmpty())}, scope);
}

std::string Names::Unique(Parts parts, absl::string_view scope) {
  std::string name = scope.empty() ? model_ : std::string(scope);
  if (parts.empty()) parts.push_back("unnamed");
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool too_deep = i > 0 && i + 1 >= kMaxDepth;
    absl::StrAppend(&name, too_deep ? "." : "/", parts[i]);
  }
  if (name.size() > kMaxNameBytes) {
    name = absl::StrCat(model_, "/", parts.back().substr(0, 200));
  }
  std::string unique = name;
  int& asked = taken_[name];
  while (asked++ > 0) {
    unique = absl::StrCat(name, "_", asked - 1);
    // Another node may already have this very name.
    if (taken_.emplace(unique, 1).second) break;
  }
  return unique;
}

}  // namespace graphdbg::onnx_splitter
