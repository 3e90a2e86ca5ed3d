#include "server/imports/model_import.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <unistd.h>

#include <boost/asio/this_coro.hpp>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/graphdbg/v1/agent_service.pb.h"
#include "proto/wire/utf8.h"
#include "proto/wire/validate.h"
#include "server/base/error.h"
#include "server/ingest/decode.h"
#include "server/jobs/strand_call.h"

namespace graphdbg::imports {
namespace {

namespace asio = boost::asio;
using jobs::AgentPort;
using jobs::AgentReport;
using Port = absl::StatusOr<std::shared_ptr<AgentPort>>;

constexpr size_t kMaxNameBytes = 200;

absl::Status Invalid(const std::string& why) {
  return Error(absl::StatusCode::kInvalidArgument, "invalid_model", why);
}

// Makes the name valid as a job's id and as the first segment of nodes' names.
std::string CleanName(const std::string& name) {
  std::string clean = wire::ToValidUtf8(name, kMaxNameBytes);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f || c == '/') c = '_';
  }
  return clean.empty() ? "model" : clean;
}

uint64_t RandomNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Ignores orders: the job ends before a client can send one.
class IgnoredOrders final : public jobs::AgentLink {
 public:
  void Send(jobs::AgentOrder order) override {
    if (auto* welcome = std::get_if<jobs::WelcomeOrder>(&order)) {
      job_ = std::move(welcome->job);
    }
  }
  void Close(absl::Status) override {}

  // Valid after the link is attached.
  const std::string& job() const { return job_; }

 private:
  std::string job_;
};

absl::StatusOr<std::vector<AgentReport>> ParseReports(
    const std::string& output) {
  if (output.size() > std::numeric_limits<int>::max()) {
    return Invalid("the graph of the model is too large");
  }
  google::protobuf::io::ArrayInputStream stream(
      output.data(), static_cast<int>(output.size()));
  std::vector<AgentReport> reports;
  bool at_end = false;
  while (true) {
    v1::AgentMessage message;
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(
            &message, &stream, &at_end)) {
      break;
    }
    if (!message.has_graph() && !message.has_log()) {
      return Invalid("the graph of the model could not be read");
    }
    if (absl::Status valid = wire::Validate(message); !valid.ok()) {
      return Invalid(std::string(valid.message()));
    }
    reports.push_back(ingest::DecodeReport(message));
  }
  if (!at_end) return Invalid("the graph of the model could not be read");
  return reports;
}

// These are not coroutines, because GCC 12 destroys the captures of a lambda
// inside co_await twice.
asio::awaitable<Port> Attach(asio::any_io_executor executor,
                             jobs::AgentAcceptor& entrance,
                             const jobs::AgentHello& hello,
                             std::shared_ptr<jobs::AgentLink> link) {
  auto start = [&entrance, hello, link](std::function<void(Port)> complete) {
    entrance.Attach(hello, link, std::move(complete));
  };
  return jobs::StartOn<Port>(std::move(executor), std::move(start));
}

asio::awaitable<absl::Status> Deliver(asio::any_io_executor executor,
                                      std::shared_ptr<AgentPort> port,
                                      AgentReport report) {
  auto start = [port, report = std::move(report)](
                   std::function<void(absl::Status)> complete) mutable {
    port->Deliver(std::move(report), std::move(complete));
  };
  return jobs::StartOn<absl::Status>(std::move(executor), std::move(start));
}

}  // namespace

ModelImport::ModelImport(std::shared_ptr<jobs::AgentAcceptor> entrance,
                         ImportOptions options)
    : entrance_(std::move(entrance)), options_(std::move(options)) {}

bool ModelImport::Begin(const std::string& person) {
  absl::MutexLock lock(&mu_);
  if (running_ >= options_.at_once) return false;
  if (const auto found = running_of_.find(person);
      found != running_of_.end() && found->second >= options_.per_person) {
    return false;
  }
  ++running_;
  ++running_of_[person];
  return true;
}

void ModelImport::End(const std::string& person) {
  absl::MutexLock lock(&mu_);
  --running_;
  if (--running_of_[person] == 0) running_of_.erase(person);
}

jobs::Task<std::string> ModelImport::Run(std::string name, std::string person,
                                         http::NextPiece bytes) {
  if (!Begin(person)) {
    co_return Error(absl::StatusCode::kResourceExhausted, "too_many_imports",
                    absl::StrCat("models are being opened, up to ",
                                 options_.per_person, " by one person and ",
                                 options_.at_once, " in all; try again later"));
  }
  struct Running {
    ModelImport& owner;
    const std::string& person;
    ~Running() { owner.End(person); }
  } running{*this, person};
  std::string file = CleanName(name);
  co_return co_await Read(std::move(file), std::move(bytes));
}

jobs::Task<std::string> ModelImport::Read(std::string file,
                                          http::NextPiece bytes) {
  const std::string graph(absl::StripSuffix(file, ".onnx"));
  std::vector<std::string> command = {options_.program, "--graph",
                                      graph.empty() ? file : graph};
  absl::StatusOr<ChildEnd> end =
      co_await RunChild(std::move(command), std::move(bytes), options_.limits);
  if (!end.ok()) co_return end.status();
  if (end->exit_code < 0) {
    co_return Invalid(absl::StrCat("the program that reads ", file,
                                   " was ended by signal ", -end->exit_code,
                                   ", because of its limits or a crash"));
  }
  if (end->exit_code != 0) {
    co_return Invalid(wire::ToValidUtf8(
        absl::StripTrailingAsciiWhitespace(end->errors), kMaxNameBytes * 10));
  }
  absl::StatusOr<std::vector<AgentReport>> reports = ParseReports(end->output);
  if (!reports.ok()) co_return reports.status();

  jobs::AgentHello hello;
  hello.job = file;
  hello.job_name = file;
  hello.framework = "onnx";
  hello.device = "cpu";
  hello.host = HostName();
  hello.pid = static_cast<uint64_t>(getpid());
  hello.peer = "an opened file";
  hello.incarnation = absl::StrCat("import ", absl::Hex(RandomNumber()));
  auto link = std::make_shared<IgnoredOrders>();
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  Port port = co_await Attach(executor, *entrance_, hello, link);
  // A job with this name may still be running.
  for (int copy = 2; absl::IsAlreadyExists(port.status()) && copy < 100;
       ++copy) {
    hello.job = absl::StrCat(file, " (", copy, ")");
    port = co_await Attach(executor, *entrance_, hello, link);
  }
  if (!port.ok()) co_return port.status();
  absl::Status status;
  for (AgentReport& report : *reports) {
    absl::Status each = co_await Deliver(executor, *port, std::move(report));
    // A report that is not stored yet has been processed nevertheless.
    const bool processed = each.ok() || ReasonOf(each) == "not_kept";
    status.Update(each);
    if (!processed) break;
  }
  // The job ends even if a report was refused.
  AgentReport farewell = jobs::ExitReport();
  absl::Status left = co_await Deliver(executor, *port, std::move(farewell));
  (*port)->Closed();
  if (!status.ok()) co_return status;
  if (!left.ok()) co_return left;
  co_return link->job();
}

}  // namespace graphdbg::imports
