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
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "proto/wire/status_macros.h"
#include "server/api/decode_rules.h"
#include "server/api/embedding.h"
#include "server/api/encode.h"
#include "server/api/encode_run.h"
#include "server/api/event_buffer.h"
#include "server/api/routes.h"
#include "server/audit/audit_log.h"
#include "server/auth/authenticator.h"
#include "server/auth/peer_user.h"
#include "server/base/error.h"
#include "server/base/memory_budget.h"
#include "server/http/assets.h"
#include "server/http/server.h"
#include "server/imports/model_import.h"
#include "server/ingest/ingest_server.h"
#include "server/jobs/directory.h"
#include "server/main/certificate_watch.h"
#include "server/main/command_line.h"
#include "server/main/listed_server.h"
#include "server/main/memory_watch.h"
#include "server/main/parent_watch.h"
#include "server/main/running_file.h"
#include "server/main/version.h"
#include "server/mindspore/mindspore_frontend.h"
#include "server/rules/actions.h"
#include "server/rules/live_rules.h"
#include "server/runs/run_directory.h"
#include "server/store/store.h"

extern "C" const unsigned char graphdbg_web_assets[];
extern "C" const uint64_t graphdbg_web_assets_size;

namespace graphdbg {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kTrimInterval(2);
// For small jobs, whatever --max-memory is.
constexpr uint64_t kMinMemoryBytes = uint64_t{64} << 20;

// Enough for the largest tensors that a job may send at once.
constexpr uint64_t kLeastReceivedBytes = uint64_t{2} << 30;

class Context : public asio::io_context {
 public:
  // Destroys everything that waits to be run.
  void Discard() { shutdown(); }
};

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

// The program that reads ONNX files. It is installed next to the server.
std::string ModelReader() {
  std::error_code ec;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ec);
  return (self.parent_path() / "graphdbg-onnx").string();
}

// Leaves half of the descriptors to agents, files and imports.
http::PlaceLimits PlacesWithin(uint64_t max_descriptors) {
  http::PlaceLimits limits;
  limits.all = static_cast<uint32_t>(
      std::clamp<uint64_t>(max_descriptors / 2, 16, limits.all));
  limits.reserved = std::min(limits.reserved, limits.all / 4);
  limits.per_address = std::min(limits.per_address, limits.all / 2);
  return limits;
}

absl::Status WithAdvice(const absl::Status& status, const std::string& flag) {
  if (absl::IsUnimplemented(status)) return status;
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
  absl::Status LoadCredentials();
  absl::Status CheckAgent(std::string_view token, std::string_view peer);
  // Passes the status of an agent's check on.
  absl::Status RecordRefusal(absl::Status status, std::string_view peer);
  absl::Status OpenStore();
  absl::Status RestoreJobs();
  absl::Status OpenRuns();
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
  Context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  // Jobs have threads of their own, so that busy jobs do not delay requests
  // about others.
  Context jobs_io_;
  asio::executor_work_guard<asio::io_context::executor_type> jobs_work_;
  asio::signal_set signals_;
  std::promise<std::string> stop_reason_;
  std::atomic<bool> stopping_{false};
  std::optional<auth::Authenticator> auth_;
  std::unique_ptr<audit::AuditLog> audit_;
  // The ports for jobs; 0 until they are open.
  std::atomic<uint16_t> agent_port_{0};
  std::atomic<uint16_t> mindspore_port_{0};
  RunningFile running_;
  ListedServer listed_;
  // Whether the process that started this server has ended before it.
  std::atomic<bool> abandoned_{false};
  // Absent without TLS.
  std::optional<CertificateWatch> certificate_;
  asio::steady_timer trim_timer_;
  std::shared_ptr<MemoryBudget> memory_;
  // Disk space that --max-disk includes, besides the store's own.
  std::atomic<uint64_t> other_disk_bytes_{0};
  // Jobs and rules use it.
  std::optional<rules::ActionRunner> actions_;
  std::shared_ptr<jobs::Journal> journal_;
  std::shared_ptr<jobs::JobDirectory> directory_;
  std::unique_ptr<api::EventBuffer> events_;
  // Null if there are no recorded runs.
  std::unique_ptr<recorded::RunDirectory> runs_;
  // Null if there are no runs.
  std::shared_ptr<rules::LiveRules> rules_;
  std::unique_ptr<imports::ModelImport> imports_;
  // Null if pages cannot attach to trainings.
  std::unique_ptr<CommandLine> commands_;
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
      jobs_work_(jobs_io_.get_executor()),
      signals_(io_),
      trim_timer_(io_) {}

DebugServer::Impl::~Impl() {
  Close();
  // Requests refer to jobs and jobs to requests, so both must be gone before
  // either context is.
  io_.Discard();
  jobs_io_.Discard();
}

absl::Status DebugServer::Impl::Start() {
  memory_ = std::make_shared<MemoryBudget>(
      std::max(options_.max_memory_bytes, ResidentBytes() + kMinMemoryBytes));
  RETURN_IF_ERROR(CreateDataDir(options_.data_dir));
  // Takes the directory's lock: nothing in it is touched before that.
  RETURN_IF_ERROR(OpenStore());
  RETURN_IF_ERROR(LoadCredentials());
  ASSIGN_OR_RETURN(
      http::Assets assets,
      http::Assets::Parse({reinterpret_cast<const char*>(graphdbg_web_assets),
                           graphdbg_web_assets_size}));
  RETURN_IF_ERROR(RestoreJobs());
  RETURN_IF_ERROR(OpenRuns());
  RETURN_IF_ERROR(LoadTls());
  CreateServices();
  CreateHttpServer(std::move(assets));
  CreateAgentServer();
  return Open();
}

absl::Status DebugServer::Impl::LoadCredentials() {
  ASSIGN_OR_RETURN(auth::Secrets secrets, auth::LoadSecrets(options_.data_dir));
  auth::AuthOptions auth_options;
  auth_options.required = options_.auth;
  auth_options.credentials_file = options_.data_dir + "/credentials.json";
  auth_options.user_of_peer = [this](std::string_view peer) {
    return auth::UserOfPeer(peer, {agent_port_, mindspore_port_});
  };
  auth_.emplace(std::move(secrets), std::move(auth_options));
  if (!auth_->warning().empty()) log_("warning: " + auth_->warning());
  audit::Options audit_options;
  audit_options.dir = options_.data_dir;
  audit_options.log = log_;
  ASSIGN_OR_RETURN(audit_, audit::AuditLog::Open(std::move(audit_options)));
  return absl::OkStatus();
}

absl::Status DebugServer::Impl::CheckAgent(std::string_view token,
                                           std::string_view peer) {
  return RecordRefusal(auth_->CheckAgent(token, peer), peer);
}

absl::Status DebugServer::Impl::RecordRefusal(absl::Status status,
                                              std::string_view peer) {
  if (status.ok()) return status;
  audit::Entry entry;
  entry.from = peer;
  entry.action = "connect_agent";
  entry.result = ReasonOf(status);
  audit_->RecordRefused(std::move(entry));
  return status;
}

absl::Status DebugServer::Impl::LoadTls() {
  if (options_.tls_certificate.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      certificate_,
      CertificateWatch::Load({options_.tls_certificate, options_.tls_key,
                              options_.tls_client_authority},
                             log_));
  return absl::OkStatus();
}

absl::Status DebugServer::Impl::OpenStore() {
  store::StoreOptions store_options;
  store_options.max_bytes = options_.max_disk_bytes;
  store_options.log = log_;
  store_options.memory = memory_;
  store_options.max_waiting_bytes =
      std::min(store_options.max_waiting_bytes, memory_->limit() / 8);
  store_options.other_bytes = [this]() -> uint64_t {
    return other_disk_bytes_;
  };
  ASSIGN_OR_RETURN(
      journal_, store::OpenStore(options_.data_dir, std::move(store_options)));
  return absl::OkStatus();
}

absl::Status DebugServer::Impl::RestoreJobs() {
  actions_.emplace(jobs_io_.get_executor(), log_);
  jobs::JobOptions job_options;
  job_options.on_hit = [this](std::shared_ptr<jobs::Job> job,
                              const std::vector<model::Action>& actions,
                              const model::Hit& hit) {
    actions_->Start(actions, std::move(job),
                    {absl::StrCat("watchpoint ", hit.watchpoint), hit.rank,
                     hit.step, api::Summary(hit)});
  };
  job_options.log = log_;
  job_options.journal = journal_;
  job_options.max_jobs = options_.max_jobs;
  job_options.max_age = std::chrono::hours(24) * options_.max_age_days;
  job_options.max_memory_bytes = options_.max_memory_bytes;
  job_options.memory = memory_;
  directory_ =
      jobs::MakeDirectory(jobs_io_.get_executor(), std::move(job_options));
  api::EventBuffer::Limits event_limits;
  event_limits.memory = memory_;
  events_ = std::make_unique<api::EventBuffer>(*directory_, event_limits);
  return directory_->Restore();
}

absl::Status DebugServer::Impl::OpenRuns() {
  if (options_.runs.empty()) return absl::OkStatus();
  auto runs = recorded::OpenRuns(options_.runs, memory_);
  if (!runs.ok()) {
    return absl::Status(runs.status().code(),
                        absl::StrCat("--runs: ", runs.status().message()));
  }
  runs_ = *std::move(runs);
  rules::LiveRules::Options rule_options;
  rule_options.encode = [](const model::Finding& finding) {
    return api::Dump(api::Encode(finding));
  };
  rule_options.log = log_;
  rule_options.encode_rules = api::EncodeRules;
  rule_options.decode_rules = [](std::string_view text)
      -> absl::StatusOr<std::vector<model::LiveRule>> {
    ASSIGN_OR_RETURN(api::AddedRules added, api::DecodeLiveRules(text));
    return std::move(added.expressions);
  };
  rules_ = std::make_shared<rules::LiveRules>(
      jobs_io_.get_executor(), *actions_, std::move(rule_options));
  rules_->Restore(*directory_, *runs_);
  return absl::OkStatus();
}

void DebugServer::Impl::ScheduleTrim() {
  trim_timer_.expires_after(kTrimInterval);
  trim_timer_.async_wait([this](boost::system::error_code ec) {
    if (ec) return;
    ObserveMemory(*memory_);
    if (mindspore_) other_disk_bytes_ = mindspore_->stored_bytes();
    directory_->Trim();
    if (certificate_) certificate_->Check();
    ScheduleTrim();
  });
}

void DebugServer::Impl::CreateServices() {
  imports::ImportOptions import_options;
  import_options.program = ModelReader();
  imports_ = std::make_unique<imports::ModelImport>(directory_,
                                                    std::move(import_options));
  // Without authentication, other users of this machine would attach, too.
  if (!options_.attach_program.empty() && options_.auth) {
    commands_ = std::make_unique<CommandLine>(options_.attach_program);
  }
  services_.emplace(api::Services{
      .directory = *directory_,
      .auth = *auth_,
      .audit = *audit_,
      .events = *events_,
      .counters = counters_,
      .identity = identity_,
      .ready = [this] { return ready_.load(); },
      .storage = [this] { return directory_->storage(); },
      .http_counters = [this] { return http_->counters(); },
      .now_unix_nano = [] { return absl::GetCurrentTimeNanos(); },
      .open_model =
          [this](std::string name, std::string person, http::NextPiece bytes) {
            return imports_->Run(std::move(name), std::move(person),
                                 std::move(bytes));
          },
      .runs = runs_.get(),
      .rules = rules_.get(),
      .memory = memory_,
  });
  if (commands_ == nullptr) return;
  services_->run_command = [this](std::vector<std::string> arguments) {
    return commands_->Run(std::move(arguments));
  };
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
  http_options.forwarded_ports = options_.forwarded_ports;
  http_options.frame_ancestors = absl::StrJoin(options_.frame_ancestors, " ");
  http_options.is_embedded = [this](const http::Request& request) {
    return api::IsEmbedded(*auth_, request);
  };
  if (certificate_) http_options.tls = certificate_->tls();
  http_options.places = PlacesWithin(options_.max_descriptors);
  http_options.log = log_;
  http_options.reserve_body =
      [memory = memory_](
          uint64_t bytes) -> absl::StatusOr<std::shared_ptr<const void>> {
    ASSIGN_OR_RETURN(auto reserved,
                     memory->Reserve(MemoryAccount::kRequests, bytes));
    return std::make_shared<MemoryBudget::Reservation>(std::move(reserved));
  };
  http_ = std::make_unique<http::Server>(io_.get_executor(), router,
                                         std::move(http_options));
}

void DebugServer::Impl::CreateAgentServer() {
  ingest::IngestOptions ingest_options;
  ingest_options.server_version = kVersion;
  if (certificate_) {
    ingest_options.tls = {options_.tls_certificate, options_.tls_key,
                          options_.tls_client_authority};
  }
  ingest_options.max_received_bytes =
      std::max(options_.max_memory_bytes, kLeastReceivedBytes);
  ingest_options.socket_path = options_.debugger_socket;
  ingest_options.log = log_;
  ingest_options.check_token = [this](std::string_view token,
                                      std::string_view peer) {
    return CheckAgent(token, peer);
  };
  mindspore::FrontendOptions mindspore_options;
  mindspore_options.log = log_;
  mindspore_options.check_local = [this](std::string_view peer) {
    return RecordRefusal(auth_->CheckLocalAgent(peer), peer);
  };
  if (options_.mindspore_allow) {
    mindspore_options.allow = *options_.mindspore_allow;
  }
  mindspore_options.state_dir = options_.data_dir + "/mindspore";
  mindspore_options.memory = memory_;
  mindspore_options.state_limits.total_bytes = options_.max_disk_bytes / 4;
  mindspore_options.disk_is_full = [this] { return journal_->over_limit(); };
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
      (certificate_ ? "https://" : "http://") + Address(options_.host, *port);
  // Agents may connect as soon as the port is open.
  agent_port_ = options_.debugger_port;
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
  agent_port_ = *debugger_port;
  if (auto opened = OpenToMindSpore(); !opened.ok()) return opened;
  identity_.version = kVersion;
  identity_.debugger_address = Address(options_.host, *debugger_port);
  url_ = identity_.http_address + "/";
  if (options_.auth) {
    ASSIGN_OR_RETURN(const auth::LoginCode login, auth_->IssueOwnerCode());
    url_ += "#code=" + login.code;
  }
  // Not even a full disk keeps the server from its jobs.
  const absl::Status announced = running_.Write(
      options_.data_dir, identity_.http_address, identity_.debugger_address);
  if (!announced.ok()) {
    log_("warning: commands will not find this server by its data directory: " +
         std::string(announced.message()));
  }
  const absl::Status listed = listed_.Write(
      options_.data_dir, identity_.http_address, identity_.debugger_address);
  if (!listed.ok()) {
    log_("warning: commands find this server only if they are told where: " +
         std::string(listed.message()));
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
  mindspore_port_ = options_.mindspore_port;
  auto port = mindspore_->Listen(all, options_.mindspore_port);
  if (!port.ok()) return WithAdvice(port.status(), "--mindspore-port");
  mindspore_port_ = *port;
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
    WatchProcess(io_.get_executor(), *options_.parent, [this, stop] {
      abandoned_ = true;
      stop("the process that started this server has ended");
    });
  }
  ScheduleTrim();
  unsigned count = std::clamp(std::thread::hardware_concurrency(), 2u, 8u);
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this] { io_.run(); });
    threads_.emplace_back([this] { jobs_io_.run(); });
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
  jobs_io_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (runs_) runs_->Stop();
  listed_.Remove();
  running_.Remove();
  if (options_.temporary_data_dir && abandoned_.exchange(false)) {
    journal_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(options_.data_dir, ignored);
  }
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
