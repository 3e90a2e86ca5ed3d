// Reads a client's stream, keeping one message in memory at a time.
#ifndef SERVER_MINDSPORE_STREAM_READER_H_
#define SERVER_MINDSPORE_STREAM_READER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace graphdbg::mindspore {

// Owns itself until gRPC has finished with it. Calls its functions on gRPC's
// threads, in order. An error ends the stream.
template <class Message>
class StreamReader final : public grpc::ServerReadReactor<Message> {
 public:
  using OnMessage = std::function<absl::Status(Message& message)>;
  // Not called for a stream that was cancelled.
  using OnEnd = std::function<absl::Status()>;

  StreamReader(grpc::CallbackServerContext* context, OnMessage on_message,
               OnEnd on_end)
      : context_(context),
        on_message_(std::move(on_message)),
        on_end_(std::move(on_end)) {
    this->StartRead(&message_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (context_->IsCancelled()) return End(absl::CancelledError());
    if (!ok) return End(on_end_());
    absl::Status taken = on_message_(message_);
    if (!taken.ok()) return End(taken);
    this->StartRead(&message_);
  }

  void OnDone() override { delete this; }

  void End(const absl::Status& status) {
    const absl::string_view message = status.message();
    this->Finish(grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                              std::string(message.data(), message.size())));
  }

  grpc::CallbackServerContext* const context_;
  const OnMessage on_message_;
  const OnEnd on_end_;
  Message message_;
};

}  // namespace graphdbg::mindspore

#endif  // SERVER_MINDSPORE_STREAM_READER_H_
