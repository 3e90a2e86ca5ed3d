#include "server/jobs/directory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/event_bus.h"
#include "server/jobs/job_index.h"
#include "server/jobs/job_recorder.h"
#include "server/jobs/live_job.h"
#include "server/jobs/process_index.h"
#include "server/jobs/viewers.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxJobIdBytes = 256;
// A budget of this size allows for a few small jobs.
constexpr uint64_t kMinBudget = uint64_t{64} << 20;

int64_t SystemUnixNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Ids are part of URLs, log lines and file names.
absl::Status CheckJobId(const std::string& id) {
  const bool printable = std::none_of(id.begin(), id.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '/' || c == 0x7f;
  });
  if (!id.empty() && id.size() <= kMaxJobIdBytes && printable) {
    return absl::OkStatus();
  }
  return WithField(
      Error(absl::StatusCode::kInvalidArgument, "invalid_job_id",
            absl::StrCat("a job's id has 1 to ", kMaxJobIdBytes,
                         " bytes without slashes and control characters")),
      "job");
}

class DirectoryImpl final : public JobDirectory,
                            public std::enable_shared_from_this<DirectoryImpl> {
 public:
  DirectoryImpl(boost::asio::any_io_executor executor, JobOptions options)
      : executor_(std::move(executor)),
        options_(std::make_shared<const JobOptions>(std::move(options))),
        bus_(std::make_shared<EventBus>()),
        viewers_(std::make_shared<Viewers>()) {}

  std::vector<std::shared_ptr<Job>> Jobs() const override {
    absl::MutexLock lock(&mu_);
    return {jobs_.all().begin(), jobs_.all().end()};
  }

  std::shared_ptr<Job> Find(const std::string& id) const override {
    return FindLive(id);
  }

  StatusTask Forget(std::string id) override;

  std::shared_ptr<void> Subscribe(EventSink sink) override {
    return bus_->Subscribe(std::move(sink));
  }
  std::shared_ptr<void> AddViewer(std::string job) override {
    return viewers_->Add(std::move(job));
  }
  uint32_t CountViewers() const override { return viewers_->Count(); }

  void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
              Answer answer) override;

  absl::Status Restore() override;
  model::Storage storage() const override;
  void Trim() override;

 private:
  using JobPtr = std::shared_ptr<LiveJob>;

  std::shared_ptr<LiveJob> FindLive(const std::string& id) const;
  // The job that this process was in before; null if it is new.
  JobPtr FindReturning(const AgentHello& hello) const;
  void Remember(const AgentHello& hello, const JobPtr& job);
  // Attaches the agent to `job`, or to its successor if `job` has ended.
  void AttachTo(JobPtr job, AgentHello hello, std::shared_ptr<AgentLink> link,
                Answer answer);
  // Returns the newest job of this id, or creates one if there is none or if it
  // is `ended`. RESOURCE_EXHAUSTED "too_many_jobs".
  absl::StatusOr<JobPtr> FindOrCreate(const std::string& requested_id,
                                      const JobPtr& ended);
  JobPtr Create(const std::string& requested_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets the oldest ended job. Returns false if there is none.
  bool EvictOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets a job that ended longer ago than max_age, if there is one.
  void EvictExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `job` by value: it is removed from the list that holds it.
  void Evict(JobPtr job, absl::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool ExceedsLimit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remove(const JobPtr& job);
  void PublishStorage();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const JobOptions> options_;
  const std::shared_ptr<EventBus> bus_;
  const std::shared_ptr<Viewers> viewers_;

  mutable absl::Mutex mu_;
  JobIndex<LiveJob> jobs_ ABSL_GUARDED_BY(mu_);
  ProcessIndex processes_ ABSL_GUARDED_BY(mu_);
  // The number of the newest server event.
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
};

std::shared_ptr<LiveJob> DirectoryImpl::FindLive(const std::string& id) const {
  absl::MutexLock lock(&mu_);
  return jobs_.Find(id);
}

StatusTask DirectoryImpl::Forget(std::string id) {
  auto self = shared_from_this();
  JobPtr job = FindLive(id);
  if (job == nullptr) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_job",
                    absl::StrCat("no job \"", id, "\""));
  }
  // GCC 12 destroys a lambda twice that is converted within a co_await.
  const std::function<void()> removed = [self, job] { self->Remove(job); };
  co_return co_await job->Retire(removed);
}

void DirectoryImpl::Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                           Answer answer) {
  if (auto valid = CheckJobId(hello.job); !valid.ok()) return answer(valid);
  absl::StatusOr<JobPtr> job = FindReturning(hello);
  if (*job == nullptr) job = FindOrCreate(hello.job, nullptr);
  if (!job.ok()) return answer(job.status());
  AttachTo(*job, std::move(hello), std::move(link), std::move(answer));
}

void DirectoryImpl::AttachTo(JobPtr job, AgentHello hello,
                             std::shared_ptr<AgentLink> link, Answer answer) {
  auto next = [self = shared_from_this(), job, hello, link,
               answer](absl::StatusOr<std::shared_ptr<AgentPort>> port) {
    if (port.ok() && *port != nullptr) self->Remember(hello, job);
    if (!port.ok() || *port != nullptr) return answer(std::move(port));
    auto newer = self->FindOrCreate(hello.job, job);
    if (!newer.ok()) return answer(newer.status());
    self->AttachTo(*newer, hello, link, answer);
  };
  job->Attach(std::move(hello), std::move(link), std::move(next));
}

DirectoryImpl::JobPtr DirectoryImpl::FindReturning(
    const AgentHello& hello) const {
  absl::MutexLock lock(&mu_);
  return processes_.Find(hello);
}

void DirectoryImpl::Remember(const AgentHello& hello, const JobPtr& job) {
  absl::MutexLock lock(&mu_);
  processes_.Add(hello.job, hello, job);
}

absl::StatusOr<DirectoryImpl::JobPtr> DirectoryImpl::FindOrCreate(
    const std::string& requested_id, const JobPtr& ended) {
  absl::MutexLock lock(&mu_);
  JobPtr newest = jobs_.Newest(requested_id);
  if (newest != nullptr && newest != ended) return newest;
  if (options_->journal && options_->journal->full()) {
    return NotKept(absl::ResourceExhaustedError(
        "too much waits for the disk; try again later"));
  }
  RETURN_IF_ERROR(MakeRoom());
  return Create(requested_id);
}

DirectoryImpl::JobPtr DirectoryImpl::Create(const std::string& requested_id) {
  const std::string id = jobs_.NextId(requested_id);
  const int64_t now = options_->now_unix_nano();
  std::unique_ptr<JobJournal> journal;
  if (options_->journal) {
    journal = options_->journal->Open(id, requested_id, now);
  }
  auto job = std::make_shared<LiveJob>(id, now, std::move(journal), executor_,
                                       options_, bus_, viewers_);
  jobs_.Add(requested_id, job);
  return job;
}

absl::Status DirectoryImpl::MakeRoom() {
  if (options_->memory->pressure() >= MemoryBudget::Pressure::kRefuseJobs &&
      !EvictOne()) {
    return options_->memory->Refuse("another job");
  }
  if (jobs_.all().size() < options_->max_jobs || EvictOne()) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kResourceExhausted, "too_many_jobs",
      absl::StrCat("the server has ", jobs_.all().size(), " jobs, all alive"));
}

bool DirectoryImpl::EvictOne() {
  const auto& all = jobs_.all();
  auto it = std::find_if(all.begin(), all.end(),
                         [](const JobPtr& job) { return job->ended(); });
  if (it == all.end()) return false;
  Evict(*it, "to make room for others");
  return true;
}

void DirectoryImpl::EvictExpired() {
  if (options_->max_age == std::chrono::seconds::zero()) return;
  const int64_t oldest = options_->now_unix_nano() -
                         std::chrono::nanoseconds(options_->max_age).count();
  const auto& all = jobs_.all();
  auto it = std::find_if(all.begin(), all.end(), [&](const JobPtr& job) {
    return job->ended() && job->changed_at_unix_nano() < oldest;
  });
  if (it != all.end()) Evict(*it, "because it ended too long ago");
}

void DirectoryImpl::Evict(JobPtr job, absl::string_view why) {
  job->Evict();
  if (options_->log) {
    options_->log(absl::StrCat("job ", job->id(), ": forgotten ", why));
  }
  jobs_.Remove(job);
}

bool DirectoryImpl::ExceedsLimit() const {
  uint64_t bytes = 0;
  for (const JobPtr& job : jobs_.all()) bytes += job->memory_bytes();
  return bytes > options_->max_memory_bytes / 100 * 85 ||
         options_->memory->pressure() >=
             MemoryBudget::Pressure::kForgetEndedJobs ||
         (options_->journal && options_->journal->over_limit());
}

void DirectoryImpl::Trim() {
  absl::MutexLock lock(&mu_);
  // Only one job at a time: disk space is freed in the background.
  if (ExceedsLimit()) {
    EvictOne();
  } else {
    EvictExpired();
  }
}

absl::Status DirectoryImpl::Restore() {
  if (!options_->journal) return absl::OkStatus();
  {
    absl::MutexLock lock(&mu_);
    // Numbered like the events of a job: above all earlier generations.
    last_number_ = options_->journal->generation() << 32;
  }
  options_->journal->Listen([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->PublishStorage();
  });
  return options_->journal->Load([this](SavedJob saved) {
    auto job = std::make_shared<LiveJob>(saved.id, saved.created_at_unix_nano,
                                         std::move(saved.journal), executor_,
                                         options_, bus_, viewers_);
    const std::string requested_id = saved.requested_id;
    const std::string newest_id = saved.newest_id;
    std::vector<AgentHello> processes;
    for (const auto& [number, rank] : saved.ranks) {
      processes.push_back(rank.hello);
      processes.back().rank = number;
    }
    job->Restore(std::move(saved));
    absl::MutexLock lock(&mu_);
    for (const AgentHello& process : processes) {
      processes_.Add(requested_id, process, job);
    }
    jobs_.Add(requested_id, std::move(job));
    jobs_.AddRemoved(requested_id, newest_id);
  });
}

model::Storage DirectoryImpl::storage() const {
  model::Storage storage;
  if (options_->journal) storage = options_->journal->storage();
  absl::MutexLock lock(&mu_);
  for (const JobPtr& job : jobs_.all()) {
    if (job->damage().empty()) continue;
    storage.set_aside.push_back({job->id(), job->damage()});
  }
  return storage;
}

void DirectoryImpl::PublishStorage() {
  model::Event event;
  event.type = model::Event::Type::kServer;
  event.storage = storage();
  {
    absl::MutexLock lock(&mu_);
    event.seq = ++last_number_;
  }
  bus_->Publish(std::make_shared<const model::Event>(std::move(event)));
}

void DirectoryImpl::Remove(const JobPtr& job) {
  absl::MutexLock lock(&mu_);
  jobs_.Remove(job);
}

}  // namespace

std::shared_ptr<JobDirectory> MakeDirectory(
    boost::asio::any_io_executor executor, JobOptions options) {
  if (!options.now_unix_nano) options.now_unix_nano = SystemUnixNano;
  if (options.memory == nullptr) {
    options.memory = std::make_shared<MemoryBudget>(
        std::max(options.max_memory_bytes, kMinBudget));
  }
  return std::make_shared<DirectoryImpl>(std::move(executor),
                                         std::move(options));
}

}  // namespace graphdbg::jobs
