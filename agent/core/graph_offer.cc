#include "agent/core/graph_offer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/core/sha256.h"
#include "proto/wire/limits.h"

namespace graphdbg::agent {
namespace {

using NameOf = std::function<absl::string_view(uint32_t)>;

std::string Finish(Sha256& hash) {
  return absl::HexStringToBytes(
      hash.Finish().substr(0, 2 * wire::kDigestBytes));
}

// Equal messages have equal bytes, whatever the order of their maps.
std::string Serialize(const v1::Node& node) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  node.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string ReferenceTo(absl::string_view name, uint32_t slot, bool control) {
  return absl::StrCat(name.size(), ":", name, ":", slot, control ? "c" : "d");
}

// Numbers that other ranks may have differently are left out, for a moment: a
// copy of the node would have a copy of its stack.
std::string DigestOf(const NameOf& name_of, v1::Node& node) {
  const uint32_t id = node.id();
  const uint32_t forward = node.forward_node_id();
  const uint64_t last_step = node.last_step();
  google::protobuf::RepeatedPtrField<v1::Input> inputs;
  inputs.Swap(node.mutable_inputs());
  node.clear_id();
  node.clear_forward_node_id();
  node.clear_last_step();
  node.clear_digest();
  Sha256 hash;
  hash.Add(Serialize(node));
  node.set_id(id);
  node.set_forward_node_id(forward);
  node.set_last_step(last_step);
  inputs.Swap(node.mutable_inputs());
  if (forward != 0) hash.Add(ReferenceTo(name_of(forward), 0, true));
  for (const v1::Input& input : node.inputs()) {
    hash.Add(
        ReferenceTo(name_of(input.node_id()), input.slot(), input.control()));
  }
  return Finish(hash);
}

// Keeps the elements at these positions.
template <class Message>
void Keep(const google::protobuf::RepeatedField<uint32_t>& positions,
          google::protobuf::RepeatedPtrField<Message>* all) {
  google::protobuf::RepeatedPtrField<Message> kept;
  for (uint32_t position : positions) {
    if (position >= static_cast<uint32_t>(all->size())) continue;
    kept.Add()->Swap(all->Mutable(static_cast<int>(position)));
  }
  kept.Swap(all);
}

}  // namespace

void AddDigests(const NameOf& name_of, v1::GraphUpdate* update) {
  for (v1::Node& node : *update->mutable_nodes()) {
    node.set_digest(DigestOf(name_of, node));
  }
  for (v1::SourceFile& file : *update->mutable_files()) {
    Sha256 hash;
    hash.Add(file.text());
    file.set_digest(Finish(hash));
  }
}

v1::GraphOffer OfferOf(const v1::GraphUpdate& update) {
  v1::GraphOffer offer;
  for (const v1::Node& node : update.nodes()) {
    offer.add_node_ids(node.id());
    offer.mutable_digests()->append(node.digest());
  }
  for (const v1::SourceFile& file : update.files()) {
    v1::SourceFile& offered = *offer.add_files();
    offered.set_file(file.file());
    offered.set_digest(file.digest());
  }
  return offer;
}

void KeepNeeded(const v1::NeededGraph& needed, v1::GraphUpdate* update) {
  std::map<uint64_t, google::protobuf::RepeatedField<uint32_t>> seen;
  for (const v1::Node& node : update->nodes()) {
    if (node.last_step() != 0) seen[node.last_step()].Add(node.id());
  }
  Keep(needed.nodes(), update->mutable_nodes());
  Keep(needed.files(), update->mutable_files());
  // Those of the nodes that are sent are repeated, which does no harm.
  for (auto& [step, ids] : seen) {
    v1::SeenNodes& nodes = *update->add_seen();
    nodes.set_step(step);
    nodes.mutable_node_ids()->Swap(&ids);
  }
}

}  // namespace graphdbg::agent
