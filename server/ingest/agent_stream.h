// The server's end of one agent's stream.
#ifndef SERVER_INGEST_AGENT_STREAM_H_
#define SERVER_INGEST_AGENT_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/frame.h"
#include "server/ingest/encode.h"
#include "server/jobs/agent_port.h"

namespace graphdbg::ingest {

// Reads the next message only after the job has processed the previous one, so
// that a fast agent waits instead of filling the server's memory. Owns itself
// until gRPC has finished with it and the job has released it.
//
// The methods of AgentLink may be called on any thread, those of the reactor
// are called on gRPC's threads. gRPC's Start...() methods are not called with
// mu_ held, because they may call back immediately. Finish() must be the last
// of these calls, so it waits until `starting_` is 0 and `writing_` is false.
class AgentStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public jobs::AgentLink,
      public std::enable_shared_from_this<AgentStream> {
 public:
  // Shared by the streams of a server.
  struct Shared {
    std::shared_ptr<jobs::AgentAcceptor> entrance;
    ServerInfo server_info;
    std::atomic<uint32_t> streams = 0;
  };

  // Closes the stream immediately if `admission` is not OK.
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
  void ReportClosed();
  // Adds a confirmation of hits to one that has not been sent yet. False if
  // there is none.
  bool MergeConfirmation(uint64_t through);
  void ClearOutbox() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Push(v1::ServerMessage message);
  // Starts the next write, or ends the stream, if nothing prevents it.
  void Pump();

  const std::shared_ptr<Shared> shared_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<AgentStream> self_;
  grpc::Alarm hello_alarm_;

  // The current read.
  grpc::ByteBuffer incoming_;
  // The last message read.
  wire::Frame frame_;
  // The current write.
  grpc::ByteBuffer outgoing_;
  // Used only by the thread that handles a message.
  bool has_said_hello_ = false;
  // The agent knows the conditions' parameter `absorbed`.
  std::atomic<bool> knows_absorbed_{false};

  absl::Mutex mu_;
  std::deque<v1::ServerMessage> outbox_ ABSL_GUARDED_BY(mu_);
  size_t outbox_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  int starting_ ABSL_GUARDED_BY(mu_) = 0;
  bool greeted_ ABSL_GUARDED_BY(mu_) = false;
  bool said_goodbye_ ABSL_GUARDED_BY(mu_) = false;
  // The status with which the stream ends once the outbox is empty.
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  // No further message will be read.
  bool input_over_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<jobs::AgentPort> port_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::ingest

#endif  // SERVER_INGEST_AGENT_STREAM_H_
