// Messages of graphdbg's own protocol come from any process that connects to
// the port. Valid messages must be decodable, and the resulting graphs
// consistent.
//
// An input consists of one byte and length-delimited messages: messages of an
// agent if the byte is even, of a server otherwise.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>

#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/frame.h"
#include "proto/wire/validate.h"
#include "server/graph/graph_store.h"
#include "server/graph/graph_view.h"
#include "server/ingest/decode.h"

using google::protobuf::io::ArrayInputStream;
using google::protobuf::util::ParseDelimitedFromZeroCopyStream;

namespace graphdbg {
namespace {

// Every name and every edge must refer to an existing node.
void CheckGraph(const graph::GraphStore& store) {
  for (graph::NodeIndex i = 0; i < store.node_count(); ++i) {
    if (store.FindNode(store.node(i).name) != i) std::abort();
    for (const graph::Input& input : store.node(i).inputs) {
      const bool known = input.node < store.node_count();
      if (!known && input.node != graph::kNoNode) std::abort();
    }
  }
}

// A frame must decode to the same message as protobuf, and fail to decode
// whenever protobuf fails.
void CheckFrame(const v1::AgentMessage& message) {
  std::string bytes = message.SerializeAsString();
  for (const size_t cut : {bytes.size(), bytes.size() / 2}) {
    const grpc::Slice slices[] = {grpc::Slice(bytes.substr(0, cut)),
                                  grpc::Slice(bytes.substr(cut))};
    grpc::ByteBuffer buffer(slices, 2);
    wire::Frame frame;
    if (!frame.Decode(&buffer).ok()) std::abort();
    std::string data;
    for (const grpc::Slice& slice : frame.data()) {
      data.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    if (data != message.tensor().data()) std::abort();
    if (!data.empty()) frame.message().mutable_tensor()->set_data(data);
    if (frame.message().ByteSizeLong() != message.ByteSizeLong()) std::abort();
    // Truncated bytes must decode exactly if protobuf can decode them.
    v1::AgentMessage half;
    const std::string start = bytes.substr(0, cut);
    grpc::Slice slice(start);
    grpc::ByteBuffer start_buffer(&slice, 1);
    const bool whole = half.ParseFromString(start);
    if (frame.Decode(&start_buffer).ok() != whole) std::abort();
  }
}

void TakeAgentMessages(ArrayInputStream* stream) {
  graph::GraphStore store;
  graph::AgentIds ids;
  v1::AgentMessage message;
  while (ParseDelimitedFromZeroCopyStream(&message, stream, nullptr)) {
    CheckFrame(message);
    const absl::Status valid = wire::Validate(message);
    if (!valid.ok() && valid.message().empty()) std::abort();
    if (valid.ok() && message.has_hello()) {
      ingest::DecodeHello(message.hello(), "ipv4:127.0.0.1:1");
    } else if (valid.ok()) {
      const jobs::AgentReport report = ingest::DecodeReport(message);
      if (const auto* patch = std::get_if<graph::GraphPatch>(&report)) {
        (void)store.Apply(*patch, ids);
      }
    }
    message.Clear();
  }
  CheckGraph(store);
}

void TakeServerMessages(ArrayInputStream* stream) {
  v1::ServerMessage message;
  while (ParseDelimitedFromZeroCopyStream(&message, stream, nullptr)) {
    const absl::Status valid = wire::Validate(message);
    if (!valid.ok() && valid.message().empty()) std::abort();
    message.Clear();
  }
}

}  // namespace
}  // namespace graphdbg

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  ArrayInputStream stream(data + 1, static_cast<int>(size - 1));
  if (data[0] % 2 == 0) {
    graphdbg::TakeAgentMessages(&stream);
  } else {
    graphdbg::TakeServerMessages(&stream);
  }
  return 0;
}
