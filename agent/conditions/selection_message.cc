#include "agent/conditions/selection_message.h"

#include <string>

namespace graphdbg::conditions {
namespace {

template <class From>
std::vector<std::string> Texts(const From& from) {
  return {from.begin(), from.end()};
}

void Read(const v1::NodeSelection& from, NodeLists* to) {
  to->nodes = Texts(from.nodes());
  to->scopes = Texts(from.scopes());
  to->patterns = Texts(from.patterns());
  to->regexes = Texts(from.regexes());
  to->op_types = Texts(from.op_types());
  to->sources = Texts(from.sources());
  to->ranks = {from.ranks().begin(), from.ranks().end()};
  for (const int category : from.categories()) {
    to->categories.push_back(static_cast<Category>(category));
  }
  for (const int dtype : from.dtypes()) {
    to->dtypes.push_back(DTypeFromNumber(dtype));
  }
}

void Write(const NodeLists& from, v1::NodeSelection* to) {
  *to->mutable_nodes() = {from.nodes.begin(), from.nodes.end()};
  *to->mutable_scopes() = {from.scopes.begin(), from.scopes.end()};
  *to->mutable_patterns() = {from.patterns.begin(), from.patterns.end()};
  *to->mutable_regexes() = {from.regexes.begin(), from.regexes.end()};
  *to->mutable_op_types() = {from.op_types.begin(), from.op_types.end()};
  *to->mutable_sources() = {from.sources.begin(), from.sources.end()};
  *to->mutable_ranks() = {from.ranks.begin(), from.ranks.end()};
  for (const Category category : from.categories) {
    to->add_categories(static_cast<v1::NodeCategory>(category));
  }
  for (const DType dtype : from.dtypes) {
    to->add_dtypes(static_cast<v1::DType>(dtype));
  }
}

}  // namespace

NodeSelection FromMessage(const v1::NodeSelection& message) {
  NodeSelection selection;
  Read(message, &selection);
  Read(message.exclude(), &selection.exclude);
  return selection;
}

v1::NodeSelection ToMessage(const NodeSelection& selection) {
  v1::NodeSelection message;
  Write(selection, &message);
  if (!selection.exclude.empty()) {
    Write(selection.exclude, message.mutable_exclude());
  }
  return message;
}

}  // namespace graphdbg::conditions
