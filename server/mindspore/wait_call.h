// A client's wait-for-command call, which is held until there is a reply.
#ifndef SERVER_MINDSPORE_WAIT_CALL_H_
#define SERVER_MINDSPORE_WAIT_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>

#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

// Does not occupy a thread. Owns itself until gRPC has finished with it.
// Exactly one of Answer and Cancel must be called, once, on any thread, by the
// code that takes the call out of its connection.
class WaitCall final : public grpc::ServerUnaryReactor,
                       public std::enable_shared_from_this<WaitCall> {
 public:
  using Clock = std::chrono::steady_clock;

  // `cancelled` is called on gRPC's threads when the client has cancelled the
  // call. It may have been answered in the meantime.
  static std::shared_ptr<WaitCall> Open(
      debugger::EventReply* reply, std::function<void(WaitCall*)> cancelled);

  // When the client made the call.
  Clock::time_point since() const { return since_; }
  void Answer(const debugger::EventReply& reply);
  void Cancel();

 private:
  WaitCall(debugger::EventReply* reply,
           std::function<void(WaitCall*)> cancelled)
      : reply_(reply), cancelled_(std::move(cancelled)) {}

  void OnCancel() override { cancelled_(this); }
  void OnDone() override;

  debugger::EventReply* const reply_;
  const std::function<void(WaitCall*)> cancelled_;
  const Clock::time_point since_ = Clock::now();
  std::shared_ptr<WaitCall> self_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WAIT_CALL_H_
