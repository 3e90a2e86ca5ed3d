#include "server/mindspore/wait_call.h"

#include <utility>

namespace graphdbg::mindspore {

std::shared_ptr<WaitCall> WaitCall::Open(debugger::EventReply* reply,
                                         Handler handler) {
  auto call =
      std::shared_ptr<WaitCall>(new WaitCall(reply, std::move(handler)));
  call->self_ = call;
  return call;
}

void WaitCall::Hold(std::chrono::milliseconds limit) {
  alarm_.Set(std::chrono::system_clock::now() + limit,
             [weak = weak_from_this()](bool expired) {
               auto self = weak.lock();
               if (expired && self != nullptr) {
                 self->handler_.timed_out(self.get());
               }
             });
}

void WaitCall::Answer(const debugger::EventReply& reply) {
  alarm_.Cancel();
  *reply_ = reply;
  Finish(grpc::Status::OK);
}

void WaitCall::Cancel() {
  alarm_.Cancel();
  Finish(grpc::Status::CANCELLED);
}

void WaitCall::OnDone() {
  // This may be the last reference.
  auto self = std::move(self_);
}

}  // namespace graphdbg::mindspore
