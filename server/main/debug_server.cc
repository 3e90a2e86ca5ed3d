#include "server/main/debug_server.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "proto/wire/status_macros.h"
#include "server/api/event_buffer.h"
#include "server/api/routes.h"
#include "server/auth/authenticator.h"
#include "server/base/error.h"
#include "server/http/assets.h"
#include "server/http/server.h"
#include "server/http/tls.h"
#include "server/imports/model_import.h"
#include "server/ingest/ingest_server.h"
#include "server/jobs/directory.h"
#include "server/main/parent_watch.h"
#include "server/main/version.h"
#include "server/mindspore/mindspore_frontend.h"
#include "server/store/store.h"

extern "C" const unsigned char graphdbg_web_assets[];
extern "C" const uint64_t graphdbg_web_assets_size;

namespace graphdbg {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kTrimInterval(2);

std::string Address(const std::string& host, uint16_t port) {
  bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// A wildcard means all addresses of the host, so it cannot be part of a URL.
bool IsWildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

// Creates the data directory, readable only by its owner, unless it exists.
absl::Status CreateDataDir(const std::string& dir) {
  std::error_code ec;
  std::filesystem::path path(dir);
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), ec);
  }
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError("cannot create the data directory " + dir +
                                  ": " + std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file || text.empty()) {
    return absl::InvalidArgumentError("cannot read " + name);
  }
  return text;
}

absl::StatusOr<ingest::IngestTls> ReadTls(const Options& options) {
  ingest::IngestTls tls;
  const std::pair<const std::string&, std::string&> files[] = {
      {options.tls_certificate, tls.certificate},
      {options.tls_key, tls.key},
      {options.tls_client_authority, tls.client_authority}};
  for (const auto& [name, content] : files) {
    if (name.empty()) continue;
    ASSIGN_OR_RETURN(content, ReadFile(name));
  }
  return tls;
}

// The program that reads ONNX files. It is installed next to the server.
std::string ModelReader() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  return (self.parent_path() / "graphdbg-onnx").string();
}

absl::Status WithAdvice(const absl::Status& status, const std::string& flag) {
  return absl::Status(status.code(), std::string(status.message()) +
                                         "; choose another port with " + flag);
}

}  // namespace

class DebugServer::Impl {
 public:
  Impl(Options options, std::function<void(std::string_view)> log);
  ~Impl();

  absl::Status Start();
  void Wait();

  const std::string& url() const { return url_; }
  const std::string& mindspore_address() const { return mindspore_address_; }
  const api::ServerIdentity& identity() const { return identity_; }

 private:
  absl::Status RestoreJobs();
  absl::Status LoadTls();
  void ScheduleTrim();
  absl::Status Open();
  absl::Status OpenToMindSpore();
  void CreateServices();
  void CreateHttpServer(http::Assets assets);
  void CreateAgentServer();
  void RunThreads();
  void Close();

  const Options options_;
  const std::function<void(std::string_view)> log_;
  std::string url_;
  std::string mindspore_address_;
  api::ServerIdentity identity_;
  api::ApiCounters counters_;
  std::atomic<bool> ready_{false};

  // Declared before everything that runs on it.
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::signal_set signals_;
  std::promise<std::string> stop_reason_;
  std::atomic<bool> stopping_{false};
  std::optional<auth::Authenticator> auth_;
  // Null and absent without TLS.
  std::shared_ptr<http::Tls> tls_;
  std::optional<ingest::IngestTls> agents_tls_;
  asio::steady_timer trim_timer_;
  std::shared_ptr<jobs::Journal> journal_;
  std::shared_ptr<jobs::JobDirectory> directory_;
  std::unique_ptr<api::EventBuffer> events_;
  std::unique_ptr<imports::ModelImport> imports_;
  std::optional<api::Services> services_;
  std::unique_ptr<http::Server> http_;
  // Declared before `ingest_`, with which its service is registered.
  std::unique_ptr<mindspore::MindSporeFrontend> mindspore_;
  std::unique_ptr<ingest::IngestServer> ingest_;
  std::vector<std::thread> threads_;
};

DebugServer::Impl::Impl(Options options,
                        std::function<void(std::string_view)> log)
    : options_(std::move(options)),
      log_(std::move(log)),
      work_(io_.get_executor()),
      signals_(io_),
      trim_timer_(io_) {}

DebugServer::Impl::~Impl() { Close(); }

absl::Status DebugServer::Impl::Start() {
  RETURN_IF_ERROR(CreateDataDir(options_.data_dir));
  // Takes the directory's lock: nothing in it is touched before that.
  ASSIGN_OR_RETURN(journal_, store::OpenStore(options_.data_dir,
                                              {options_.max_disk_bytes, log_}));
  ASSIGN_OR_RETURN(auth::Secrets secrets, auth::LoadSecrets(options_.data_dir));
  auth_.emplace(std::move(secrets), options_.auth);
  ASSIGN_OR_RETURN(
      http::Assets assets,
      http::Assets::Parse({reinterpret_cast<const char*>(graphdbg_web_assets),
                           graphdbg_web_assets_size}));
  RETURN_IF_ERROR(RestoreJobs());
  RETURN_IF_ERROR(LoadTls());
  CreateServices();
  CreateHttpServer(std::move(assets));
  CreateAgentServer();
  return Open();
}

absl::Status DebugServer::Impl::LoadTls() {
  if (options_.tls_certificate.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::shared_ptr<http::Tls> tls,
                   http::Tls::Load({options_.tls_certificate, options_.tls_key,
                                    options_.tls_client_authority}));
  ASSIGN_OR_RETURN(ingest::IngestTls agents_tls, ReadTls(options_));
  tls_ = std::move(tls);
  agents_tls_ = std::move(agents_tls);
  return absl::OkStatus();
}

absl::Status DebugServer::Impl::RestoreJobs() {
  jobs::JobOptions job_options;
  job_options.log = log_;
  job_options.journal = journal_;
  job_options.max_jobs = options_.max_jobs;
  job_options.max_memory_bytes = options_.max_memory_bytes;
  directory_ = jobs::MakeDirectory(io_.get_executor(), std::move(job_options));
  events_ = std::make_unique<api::EventBuffer>(*directory_);
  return directory_->Restore();
}

void DebugServer::Impl::ScheduleTrim() {
  trim_timer_.expires_after(kTrimInterval);
  trim_timer_.async_wait([this](boost::system::error_code ec) {
    if (ec) return;
    directory_->Trim();
    ScheduleTrim();
  });
}

void DebugServer::Impl::CreateServices() {
  imports::ImportOptions import_options;
  import_options.program = ModelReader();
  imports_ = std::make_unique<imports::ModelImport>(directory_,
                                                    std::move(import_options));
  services_.emplace(api::Services{
      .directory = *directory_,
      .auth = *auth_,
      .events = *events_,
      .counters = counters_,
      .identity = identity_,
      .ready = [this] { return ready_.load(); },
      .storage = [this] { return directory_->storage(); },
      .http_counters = [this] { return http_->counters(); },
      .now_unix_nano = [] { return absl::GetCurrentTimeNanos(); },
      .open_model =
          [this](std::string name, http::NextPiece bytes) {
            return imports_->Run(std::move(name), std::move(bytes));
          },
  });
}

void DebugServer::Impl::CreateHttpServer(http::Assets assets) {
  auto router = std::make_shared<http::Router>();
  api::AddRoutes(*services_, *router);
  router->SetFallback(
      [assets = std::make_shared<const http::Assets>(std::move(assets))](
          http::Request request) -> asio::awaitable<http::Response> {
        co_return assets->Serve(request);
      });
  http::ServerOptions http_options;
  http_options.host = options_.host;
  http_options.port = options_.port;
  http_options.tls = tls_;
  http_options.log = log_;
  http_ = std::make_unique<http::Server>(io_.get_executor(), router,
                                         std::move(http_options));
}

void DebugServer::Impl::CreateAgentServer() {
  ingest::IngestOptions ingest_options;
  ingest_options.server_version = kVersion;
  ingest_options.tls = agents_tls_;
  ingest_options.check_token = [this](std::string_view token,
                                      std::string_view peer) {
    return auth_->CheckAgent(token, peer);
  };
  mindspore::FrontendOptions mindspore_options;
  mindspore_options.log = log_;
  if (options_.mindspore_allow) {
    mindspore_options.allow = *options_.mindspore_allow;
  }
  mindspore_options.state_dir = options_.data_dir + "/mindspore";
  mindspore_ = std::make_unique<mindspore::MindSporeFrontend>(
      directory_, std::move(mindspore_options));
  ingest_options.other_wires = {mindspore_->service()};
  ingest_ = std::make_unique<ingest::IngestServer>(directory_,
                                                   std::move(ingest_options));
}

absl::Status DebugServer::Impl::Open() {
  absl::StatusOr<uint16_t> port = http_->Start();
  if (!port.ok()) return WithAdvice(port.status(), "--port");
  identity_.http_address =
      (tls_ ? "https://" : "http://") + Address(options_.host, *port);
  // With --json, the program that started the server shows the address of the
  // page.
  const std::string page = options_.json || IsWildcard(options_.host)
                               ? ""
                               : identity_.http_address + "/";
  absl::StatusOr<uint16_t> debugger_port =
      ingest_->Start(options_.host, options_.debugger_port, page);
  if (!debugger_port.ok()) {
    return WithAdvice(debugger_port.status(), "--debugger-port");
  }
  if (auto opened = OpenToMindSpore(); !opened.ok()) return opened;
  identity_.version = kVersion;
  identity_.debugger_address = Address(options_.host, *debugger_port);
  url_ = identity_.http_address + "/";
  if (options_.auth) {
    ASSIGN_OR_RETURN(const std::string code, auth_->IssueCode());
    url_ += "#code=" + code;
  }
  ready_ = true;
  RunThreads();
  return absl::OkStatus();
}

// This port accepts MindSpore jobs only. graphdbg's own protocol would send its
// tokens unencrypted.
absl::Status DebugServer::Impl::OpenToMindSpore() {
  if (!options_.mindspore_allow) return absl::OkStatus();
  // MindSpore clients support IPv4 only.
  const std::string all = "0.0.0.0";
  auto port = mindspore_->Listen(all, options_.mindspore_port);
  if (!port.ok()) return WithAdvice(port.status(), "--mindspore-port");
  mindspore_address_ = Address(all, *port);
  return absl::OkStatus();
}

// Runs last: requests are handled from here on, when everything else is
// initialized.
void DebugServer::Impl::RunThreads() {
  auto stop = [this](std::string why) {
    if (!stopping_.exchange(true)) stop_reason_.set_value(std::move(why));
  };
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  signals_.async_wait([stop](boost::system::error_code ec, int signal) {
    if (!ec) stop(signal == SIGINT ? "interrupted" : "terminated");
  });
  if (options_.parent) {
    WatchProcess(io_.get_executor(), *options_.parent, [stop] {
      stop("the process that started this server has ended");
    });
  }
  ScheduleTrim();
  unsigned count = std::clamp(std::thread::hardware_concurrency(), 2u, 8u);
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this] { io_.run(); });
  }
}

void DebugServer::Impl::Wait() {
  std::string why = stop_reason_.get_future().get();
  log_("stopping: " + why);
  Close();
}

void DebugServer::Impl::Close() {
  ready_ = false;
  if (http_) http_->Stop();
  if (mindspore_) mindspore_->StopSaving();
  // The journal must not record that the agents' streams end: the jobs are not
  // lost, they reconnect to the next server.
  if (journal_) journal_->Close();
  // The destructor waits until the last agent has disconnected.
  ingest_.reset();
  mindspore_.reset();
  io_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

DebugServer::DebugServer(Options options,
                         std::function<void(std::string_view)> log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(log))) {}

DebugServer::~DebugServer() = default;

absl::Status DebugServer::Start() { return impl_->Start(); }

void DebugServer::Wait() { impl_->Wait(); }

const std::string& DebugServer::url() const { return impl_->url(); }

const std::string& DebugServer::http_address() const {
  return impl_->identity().http_address;
}

const std::string& DebugServer::mindspore_address() const {
  return impl_->mindspore_address();
}

const std::string& DebugServer::debugger_address() const {
  return impl_->identity().debugger_address;
}

}  // namespace graphdbg
