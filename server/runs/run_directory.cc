#include "server/runs/run_directory.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/runs/headers.h"
#include "proto/runs/layout.h"
#include "proto/wire/status_macros.h"
#include "server/base/error.h"
#include "server/jobs/strand_call.h"
#include "server/runs/files.h"
#include "server/runs/mindspore/dump_run.h"
#include "server/runs/opened_run.h"
#include "server/runs/recording.h"

namespace graphdbg::recorded {
namespace {

constexpr size_t kMaxRuns = 100'000;
constexpr size_t kMaxEntries = 4 * runs::kMaxRanks;
constexpr size_t kMaxNameBytes = 256;
// One thread may be busy with a large graph while another answers.
constexpr size_t kThreads = 2;
constexpr size_t kCheckThreads = 2;

bool IsRecording(const Folder& folder) {
  const auto names = folder.List(kMaxEntries);
  return names.ok() &&
         std::any_of(names->begin(), names->end(), [](const std::string& name) {
           return name == runs::kRunFile || runs::ParseRankDirectory(name);
         });
}

bool IsRun(const Folder& folder) {
  return IsRecording(folder) || dumps::IsDump(folder);
}

std::unique_ptr<RunSource> SourceOf(const std::string& id, const Folder& folder,
                                    std::shared_ptr<MemoryBudget> memory) {
  if (IsRecording(folder)) {
    return std::make_unique<Recording>(id, folder, std::move(memory));
  }
  return std::make_unique<dumps::DumpRun>(id, folder, std::move(memory));
}

// Names are part of addresses and log lines.
bool IsGoodName(const std::string& name) {
  return name.size() <= kMaxNameBytes &&
         std::none_of(name.begin(), name.end(), [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
         });
}

class RunDirectoryImpl final : public RunDirectory {
 public:
  RunDirectoryImpl(std::vector<std::string> paths,
                   std::shared_ptr<MemoryBudget> memory)
      : paths_(std::move(paths)),
        memory_(std::move(memory)),
        threads_(kThreads),
        check_threads_(kCheckThreads),
        strand_(threads_.get_executor()) {}
  ~RunDirectoryImpl() override { Stop(); }

  void Stop() override {
    *stopped_ = true;
    // The checks end when the runs do.
    boost::asio::post(strand_, [this] { runs_.clear(); });
    threads_.join();
    check_threads_.join();
  }

  jobs::Task<std::vector<std::shared_ptr<jobs::RecordedRun>>> Runs() override {
    using List = std::vector<std::shared_ptr<jobs::RecordedRun>>;
    return jobs::CallOn<absl::StatusOr<List>>(
        strand_, [this]() -> absl::StatusOr<List> {
          Scan();
          List list;
          for (const auto& [id, run] : runs_) list.push_back(run.opened);
          return list;
        });
  }

  jobs::Task<std::shared_ptr<jobs::RecordedRun>> Find(std::string id) override {
    using Result = absl::StatusOr<std::shared_ptr<jobs::RecordedRun>>;
    return jobs::CallOn<Result>(
        strand_, [this, id = std::move(id)]() -> Result {
          // A run may be younger than the last list.
          if (!runs_.contains(id)) Scan();
          const auto found = runs_.find(id);
          if (found != runs_.end()) return found->second.opened;
          return Error(absl::StatusCode::kNotFound, "unknown_run",
                       absl::StrCat("there is no recorded run '", id, "'"));
        });
  }

 private:
  struct Run {
    std::string path;
    std::shared_ptr<OpenedRun> opened;
  };

  void Scan() {
    std::map<std::string, Run> found;
    for (const std::string& path : paths_) {
      auto folder = Folder::Open(path);
      if (!folder.ok()) continue;
      if (IsRun(*folder)) {
        Add(std::filesystem::absolute(path).lexically_normal(), *folder, found);
        continue;
      }
      const auto names = folder->List(kMaxRuns);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        auto run = folder->OpenFolder(name);
        if (run.ok() && IsRun(*run)) Add(run->path(), *run, found);
      }
    }
    runs_ = std::move(found);
  }

  // Keeps what has been read of a run that was there before.
  void Add(const std::filesystem::path& path, const Folder& folder,
           std::map<std::string, Run>& found) {
    std::string name = path.filename().string();
    if (name.empty()) name = path.parent_path().filename().string();
    if (name.empty() || !IsGoodName(name)) return;
    std::string id = name;
    for (int i = 2; found.contains(id); ++i) id = absl::StrCat(name, "~", i);
    const auto known = runs_.find(id);
    if (known != runs_.end() && known->second.path == path.string()) {
      found.emplace(id, known->second);
      return;
    }
    found.emplace(id, Run{path.string(),
                          std::make_shared<OpenedRun>(
                              id, path.string(), SourceOf(id, folder, memory_),
                              threads_.get_executor(),
                              check_threads_.get_executor(), stopped_)});
  }

  const std::vector<std::string> paths_;
  const std::shared_ptr<MemoryBudget> memory_;
  const std::shared_ptr<std::atomic<bool>> stopped_ =
      std::make_shared<std::atomic<bool>>(false);
  boost::asio::thread_pool threads_;
  boost::asio::thread_pool check_threads_;
  const boost::asio::strand<boost::asio::thread_pool::executor_type> strand_;
  // On the strand only. By id.
  std::map<std::string, Run> runs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunDirectory>> OpenRuns(
    std::vector<std::string> paths, std::shared_ptr<MemoryBudget> memory) {
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(Folder::Open(path).status());
  }
  return std::make_unique<RunDirectoryImpl>(std::move(paths),
                                            std::move(memory));
}

}  // namespace graphdbg::recorded
