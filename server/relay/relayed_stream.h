// The stream of one rank, passed on to the server.
#ifndef SERVER_RELAY_RELAYED_STREAM_H_
#define SERVER_RELAY_RELAYED_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/relay/upstream.h"

namespace graphdbg::relay {

// Passes messages on in both directions, in order and as they are. Of states
// that tell of a later step only, it passes on the newest, at intervals. Reads
// the next message once the one before has been passed on, so that whoever
// sends too fast waits. Owns itself until gRPC has finished with both streams.
//
// Both streams' reactors are called on gRPC's threads. gRPC's Start...()
// methods are not called with mu_ held, because they may call back immediately.
class RelayedStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public std::enable_shared_from_this<RelayedStream> {
 public:
  // Both outlive the stream. Opens the stream to the server, with the rank's
  // token.
  static RelayedStream* Open(std::shared_ptr<Upstream> upstream,
                             std::chrono::milliseconds interval,
                             const grpc::CallbackServerContext& rank);

 private:
  // The stream to the server.
  class ToServer final
      : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit ToServer(RelayedStream* owner) : owner_(owner) {}
    void OnReadDone(bool ok) override { owner_->OnReadFromServer(ok); }
    void OnWriteDone(bool) override { owner_->OnWrittenToServer(); }
    void OnDone(const grpc::Status& status) override {
      owner_->OnServerDone(status);
    }

   private:
    RelayedStream* const owner_;
  };

  RelayedStream(std::shared_ptr<Upstream> upstream,
                std::chrono::milliseconds interval);

  void Start(const grpc::CallbackServerContext& rank);

  // The rank's stream.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void OnReadFromServer(bool ok);
  void OnWrittenToServer();
  void OnServerDone(const grpc::Status& status);

  // Puts the rank's message where it waits to be sent.
  void Take() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendProgressAt(std::chrono::steady_clock::time_point due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void QueueProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Each starts what is to be done next in its direction, if anything.
  void PumpToServer();
  void ReadFromRank();
  void ReadFromServer();
  void WriteToRank();
  void FinishIfOver();

  const std::shared_ptr<Upstream> upstream_;
  const std::chrono::milliseconds interval_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<RelayedStream> self_;
  grpc::ClientContext context_;
  ToServer to_server_{this};

  // The current reads and writes.
  grpc::ByteBuffer from_rank_;
  grpc::ByteBuffer from_server_;
  grpc::ByteBuffer sent_;

  absl::Mutex mu_;
  // The rank's messages that have not been sent.
  std::deque<grpc::ByteBuffer> queue_ ABSL_GUARDED_BY(mu_);
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  // The rank sends no more, and the server has been told.
  bool rank_over_ ABSL_GUARDED_BY(mu_) = false;
  bool told_over_ ABSL_GUARDED_BY(mu_) = false;
  // The server sends no more. Nothing may be started on its stream.
  bool server_over_ ABSL_GUARDED_BY(mu_) = false;

  // The newest state that waits for its time, and what the last one said.
  std::optional<grpc::ByteBuffer> progress_ ABSL_GUARDED_BY(mu_);
  std::optional<std::string> last_running_ ABSL_GUARDED_BY(mu_);
  std::chrono::steady_clock::time_point next_progress_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mu_);

  // Finish() of the rank's stream must be the last call on it: it waits until
  // `starting_` is 0 and nothing is being written.
  int starting_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::relay

#endif  // SERVER_RELAY_RELAYED_STREAM_H_
