// A client's wait-for-command call, which is held until there is a reply.
#ifndef SERVER_MINDSPORE_WAIT_CALL_H_
#define SERVER_MINDSPORE_WAIT_CALL_H_

#include <grpcpp/alarm.h>
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
  // Called on gRPC's threads when the call has waited for its time limit, or
  // when the client has cancelled it. It may have been answered in the
  // meantime.
  struct Handler {
    std::function<void(WaitCall*)> timed_out;
    std::function<void(WaitCall*)> cancelled;
  };

  static std::shared_ptr<WaitCall> Open(debugger::EventReply* reply,
                                        Handler handler);

  void Hold(std::chrono::milliseconds limit);
  void Answer(const debugger::EventReply& reply);
  void Cancel();

 private:
  WaitCall(debugger::EventReply* reply, Handler handler)
      : reply_(reply), handler_(std::move(handler)) {}

  void OnCancel() override { handler_.cancelled(this); }
  void OnDone() override;

  debugger::EventReply* const reply_;
  const Handler handler_;
  std::shared_ptr<WaitCall> self_;
  grpc::Alarm alarm_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WAIT_CALL_H_
