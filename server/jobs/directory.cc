#include "server/jobs/directory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/error.h"
#include "server/jobs/event_hub.h"
#include "server/jobs/job_impl.h"

namespace graphdbg::jobs {
namespace {

constexpr size_t kMaxJobIdBytes = 256;

int64_t SystemUnixNano() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Ids stand in addresses, logs and file names.
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
        hub_(std::make_shared<EventHub>()) {}

  std::vector<std::shared_ptr<Job>> Jobs() const override {
    std::lock_guard lock(mu_);
    std::vector<std::shared_ptr<Job>> jobs;
    for (const Entry& entry : entries_) jobs.push_back(entry.job);
    return jobs;
  }

  std::shared_ptr<Job> Find(const std::string& id) const override {
    return FindImpl(id);
  }

  StatusTask Forget(std::string id) override;

  std::shared_ptr<void> Subscribe(EventSink sink) override {
    return hub_->Subscribe(std::move(sink));
  }

  void Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
              Answer answer) override;

  absl::Status Restore() override;
  void Trim() override;

 private:
  struct Entry {
    // The id that agents ask for; several runs of a job share it.
    std::string asked_for;
    std::shared_ptr<JobImpl> job;
  };
  using JobPtr = std::shared_ptr<JobImpl>;

  std::shared_ptr<JobImpl> FindImpl(const std::string& id) const;
  // Tries the job, and if it has ended, the one that comes after it.
  void AttachTo(JobPtr job, AgentHello hello, std::shared_ptr<AgentLink> link,
                Answer answer);
  // The newest job of this id. If that is `ended` or there is none, a new one.
  absl::StatusOr<JobPtr> Newest(const std::string& asked_for,
                                const JobPtr& ended);
  absl::Status MakeRoom();
  // With mu_ held: the ended job that came first goes; false if there is none.
  bool EvictOne();
  bool OverLimit() const;
  void Remove(const JobPtr& job);

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const JobOptions> options_;
  const std::shared_ptr<EventHub> hub_;

  mutable std::mutex mu_;
  // Guarded by mu_; in the order in which they came.
  std::vector<Entry> entries_;
};

std::shared_ptr<JobImpl> DirectoryImpl::FindImpl(const std::string& id) const {
  std::lock_guard lock(mu_);
  for (const Entry& entry : entries_) {
    if (entry.job->id() == id) return entry.job;
  }
  return nullptr;
}

StatusTask DirectoryImpl::Forget(std::string id) {
  auto self = shared_from_this();
  JobPtr job = FindImpl(id);
  if (job == nullptr) {
    co_return Error(absl::StatusCode::kNotFound, "unknown_job",
                    absl::StrCat("no job \"", id, "\""));
  }
  absl::Status retired = co_await job->Retire();
  if (retired.ok()) self->Remove(job);
  co_return retired;
}

void DirectoryImpl::Attach(AgentHello hello, std::shared_ptr<AgentLink> link,
                           Answer answer) {
  if (auto valid = CheckJobId(hello.job); !valid.ok()) return answer(valid);
  auto job = Newest(hello.job, nullptr);
  if (!job.ok()) return answer(job.status());
  AttachTo(*job, std::move(hello), std::move(link), std::move(answer));
}

void DirectoryImpl::AttachTo(JobPtr job, AgentHello hello,
                             std::shared_ptr<AgentLink> link, Answer answer) {
  auto next = [self = shared_from_this(), job, hello, link,
               answer](absl::StatusOr<std::shared_ptr<AgentPort>> port) {
    if (!port.ok() || *port != nullptr) return answer(std::move(port));
    auto newer = self->Newest(hello.job, job);
    if (!newer.ok()) return answer(newer.status());
    self->AttachTo(*newer, hello, link, answer);
  };
  job->Attach(std::move(hello), std::move(link), std::move(next));
}

absl::StatusOr<DirectoryImpl::JobPtr> DirectoryImpl::Newest(
    const std::string& asked_for, const JobPtr& ended) {
  std::lock_guard lock(mu_);
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) {
    if (it->asked_for != asked_for) continue;
    if (it->job != ended) return it->job;
    break;
  }
  if (auto room = MakeRoom(); !room.ok()) return room;
  auto taken = [&](const std::string& id) {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& e) { return e.job->id() == id; });
  };
  std::string id = asked_for;
  for (int run = 2; taken(id); ++run) id = absl::StrCat(asked_for, "-", run);
  const int64_t now = options_->now_unix_nano();
  std::unique_ptr<JobJournal> journal;
  if (options_->journal) journal = options_->journal->Open(id, asked_for, now);
  auto job = std::make_shared<JobImpl>(id, now, std::move(journal), executor_,
                                       options_, hub_);
  entries_.push_back({asked_for, job});
  return job;
}

absl::Status DirectoryImpl::MakeRoom() {
  if (entries_.size() < options_->max_jobs || EvictOne()) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kResourceExhausted, "too_many_jobs",
      absl::StrCat("the server has ", entries_.size(), " jobs, all alive"));
}

bool DirectoryImpl::EvictOne() {
  auto it = std::find_if(entries_.begin(), entries_.end(),
                         [](const Entry& e) { return e.job->ended(); });
  if (it == entries_.end()) return false;
  it->job->Evict();
  if (options_->log) {
    options_->log(absl::StrCat("job ", it->job->id(),
                               ": forgotten, to make room for others"));
  }
  entries_.erase(it);
  return true;
}

bool DirectoryImpl::OverLimit() const {
  uint64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.job->memory_bytes();
  return bytes > options_->max_memory_bytes ||
         (options_->journal && options_->journal->over_limit());
}

void DirectoryImpl::Trim() {
  std::lock_guard lock(mu_);
  // One at a time where the disk is full: room is made in the background.
  if (OverLimit()) EvictOne();
}

absl::Status DirectoryImpl::Restore() {
  if (!options_->journal) return absl::OkStatus();
  return options_->journal->Load([this](SavedJob saved) {
    auto job = std::make_shared<JobImpl>(saved.id, saved.created_at_unix_nano,
                                         std::move(saved.journal), executor_,
                                         options_, hub_);
    const std::string asked_for = saved.asked_for;
    absl::Status restored = job->Restore(std::move(saved));
    if (!restored.ok()) return restored;
    std::lock_guard lock(mu_);
    entries_.push_back({asked_for, std::move(job)});
    return absl::OkStatus();
  });
}

void DirectoryImpl::Remove(const JobPtr& job) {
  std::lock_guard lock(mu_);
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [&](const Entry& e) { return e.job == job; }),
                 entries_.end());
}

}  // namespace

std::shared_ptr<JobDirectory> MakeDirectory(
    boost::asio::any_io_executor executor, JobOptions options) {
  if (!options.now_unix_nano) options.now_unix_nano = SystemUnixNano;
  return std::make_shared<DirectoryImpl>(std::move(executor),
                                         std::move(options));
}

}  // namespace graphdbg::jobs
