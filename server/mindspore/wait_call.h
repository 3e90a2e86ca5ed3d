// A client's "what now?", held until there is an answer.
#ifndef SERVER_MINDSPORE_WAIT_CALL_H_
#define SERVER_MINDSPORE_WAIT_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>

#include "proto/mindspore/debugger.pb.h"

namespace graphdbg::mindspore {

// Occupies no thread. Owns itself until gRPC is done with it. Exactly one of
// Answer and Break is to be called, once, by whoever took it out of its
// conversation; on any thread.
class WaitCall final : public grpc::ServerUnaryReactor,
                       public std::enable_shared_from_this<WaitCall> {
 public:
  // What to do when the call has waited long, or is broken off. On gRPC's
  // threads; the call may have been answered in the meantime.
  struct Handler {
    std::function<void(WaitCall*)> waited_long;
    std::function<void(WaitCall*)> broken;
  };

  static std::shared_ptr<WaitCall> Open(debugger::EventReply* reply,
                                        Handler handler);

  void Hold(std::chrono::milliseconds patience);
  void Answer(const debugger::EventReply& reply);
  void Break();

 private:
  WaitCall(debugger::EventReply* reply, Handler handler)
      : reply_(reply), handler_(std::move(handler)) {}

  void OnCancel() override { handler_.broken(this); }
  void OnDone() override;

  debugger::EventReply* const reply_;
  const Handler handler_;
  std::shared_ptr<WaitCall> self_;
  grpc::Alarm alarm_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_WAIT_CALL_H_
