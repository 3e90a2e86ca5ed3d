// One agent's stream.
#ifndef SERVER_INGEST_AGENT_STREAM_H_
#define SERVER_INGEST_AGENT_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/frame.h"
#include "server/ingest/encode.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

// Reads one message at a time: the next only when the session has dealt with
// the last, so that a fast agent waits instead of filling our memory. Owns
// itself until gRPC is done with it and the session has let go of it.
//
// Threads: gRPC's, and any for AgentLink. No Start...() of gRPC's is called
// under mu_, as it may call back at once; instead `starting_` and `writing_`
// keep Finish(), after which none may be called, waiting.
class AgentStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public jobs::AgentLink,
      public std::enable_shared_from_this<AgentStream> {
 public:
  // Shared by the streams of a server.
  struct Shared {
    std::shared_ptr<jobs::AgentAcceptor> entrance;
    ServerNames names;
    std::atomic<uint32_t> streams = 0;
  };

  // `admission` not OK: the stream is ended with it at once.
  static AgentStream* Open(std::shared_ptr<Shared> shared,
                           grpc::CallbackServerContext* context,
                           absl::Status admission);
  ~AgentStream() override;

  // jobs::AgentLink.
  void Send(jobs::AgentOrder order) override;
  void Close(absl::Status status) override;

 private:
  AgentStream(std::shared_ptr<Shared> shared,
              grpc::CallbackServerContext* context);

  // grpc::ServerBidiReactor.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void ReadNext();
  void WaitForHello();
  absl::Status Decode();
  void Handle();
  void HandleHello();
  void Attached(absl::StatusOr<std::shared_ptr<jobs::AgentPort>> port);
  void TellClosed();
  void ConfirmHits(uint64_t through);
  void Push(v1::ServerMessage message);
  // Starts the next write or the end, if it is time for it.
  void Pump();

  const std::shared_ptr<Shared> shared_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<AgentStream> self_;
  grpc::Alarm hello_alarm_;

  // Of the read under way.
  grpc::ByteBuffer incoming_;
  // The last that was read.
  wire::Frame frame_;
  // Of the write under way.
  grpc::ByteBuffer outgoing_;
  // Only on the thread that handles a message.
  bool said_hello_ = false;

  std::mutex mu_;
  // Guarded by mu_.
  std::deque<v1::ServerMessage> outbox_;
  size_t outbox_bytes_ = 0;
  bool writing_ = false;
  int starting_ = 0;
  bool greeted_ = false;
  bool said_goodbye_ = false;
  // How to end once the outbox is empty.
  std::optional<grpc::Status> ending_;
  bool finished_ = false;
  // No message of the agent comes any more.
  bool input_over_ = false;
  std::shared_ptr<jobs::AgentPort> port_;
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_AGENT_STREAM_H_
