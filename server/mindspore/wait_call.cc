#include "server/mindspore/wait_call.h"

#include <utility>

namespace graphdbg::mindspore {

std::shared_ptr<WaitCall> WaitCall::Open(
    debugger::EventReply* reply, std::function<void(WaitCall*)> cancelled) {
  auto call =
      std::shared_ptr<WaitCall>(new WaitCall(reply, std::move(cancelled)));
  call->self_ = call;
  return call;
}

void WaitCall::Answer(const debugger::EventReply& reply) {
  *reply_ = reply;
  Finish(grpc::Status::OK);
}

void WaitCall::Cancel() { Finish(grpc::Status::CANCELLED); }

void WaitCall::OnDone() {
  // This may be the last reference.
  auto self = std::move(self_);
}

}  // namespace graphdbg::mindspore
