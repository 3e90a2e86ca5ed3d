// The upper bound for the speed of tensors: a plain gRPC stream of slices
// between two processes over loopback, without any processing. Prints the
// seconds of each round.
//
//   slice_stream BYTES ROUNDS
#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "proto/graphdbg/v1/agent_service.grpc.pb.h"
#include "proto/wire/limits.h"

namespace graphdbg::bench {
namespace {

constexpr size_t kSliceBytes = size_t{1} << 20;
constexpr char kMethod[] = "/graphdbg.v1.AgentService/Session";

// Reads until the client ends the stream.
class Sink final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Sink() { StartRead(&buffer_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    buffer_.Clear();
    StartRead(&buffer_);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer buffer_;
};

class Service final : public v1::AgentService::WithRawCallbackMethod_Session<
                          v1::AgentService::Service> {
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Session(
      grpc::CallbackServerContext*) override {
    return new Sink;
  }
};

// Writes its port to the pipe and serves until it is killed.
[[noreturn]] void Serve(int out) {
  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.SetMaxReceiveMessageSize(wire::kMaxMessageBytes);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (write(out, &port, sizeof port) != sizeof port) std::_Exit(1);
  server->Wait();
  std::_Exit(0);
}

double Send(grpc::Channel* channel, const std::string& bytes, size_t total) {
  grpc::ClientContext context;
  const grpc::internal::RpcMethod method(
      kMethod, grpc::internal::RpcMethod::BIDI_STREAMING);
  const std::unique_ptr<
      grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>>
      stream(grpc::internal::ClientReaderWriterFactory<
             grpc::ByteBuffer, grpc::ByteBuffer>::Create(channel, method,
                                                         &context));
  const grpc::Slice slice(bytes.data(), bytes.size(),
                          grpc::Slice::STATIC_SLICE);
  const auto start = std::chrono::steady_clock::now();
  for (size_t sent = 0; sent < total; sent += bytes.size()) {
    if (!stream->Write(grpc::ByteBuffer(&slice, 1))) std::exit(1);
  }
  stream->WritesDone();
  if (!stream->Finish().ok()) std::exit(1);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  return took.count();
}

int Run(size_t total, int rounds) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 1;
  // Must precede the creation of gRPC's threads.
  const pid_t child = fork();
  if (child == 0) Serve(pipe_ends[1]);
  int port = 0;
  if (read(pipe_ends[0], &port, sizeof port) != sizeof port) return 1;
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                           grpc::InsecureChannelCredentials());
  const std::string bytes(kSliceBytes, 'x');
  for (int round = 0; round < rounds; ++round) {
    std::printf("%.6f\n", Send(channel.get(), bytes, total));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace graphdbg::bench

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return graphdbg::bench::Run(std::strtoull(argv[1], nullptr, 10),
                              std::atoi(argv[2]));
}
