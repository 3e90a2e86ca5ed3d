// The jobs of a server by id, by requested id, and in the order of creation.
#ifndef SERVER_JOBS_JOB_INDEX_H_
#define SERVER_JOBS_JOB_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace graphdbg::jobs {

// `Job` has a method id(). Several jobs, the runs of one program, share a
// requested id: the first one has that id, the others have it with a number,
// for example "train-2". No id is used again while there is another run. Not
// thread safe.
template <class Job>
class JobIndex {
 public:
  using JobPtr = std::shared_ptr<Job>;

  // In the order of creation.
  const std::vector<JobPtr>& all() const { return all_; }

  // Null if no job has this id.
  JobPtr Find(const std::string& id) const {
    auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second.job;
  }

  // The newest run. Null if there is none.
  JobPtr Newest(const std::string& requested_id) const {
    auto it = by_name_.find(requested_id);
    return it == by_name_.end() ? nullptr : it->second.runs.back();
  }

  // The id for another run.
  std::string NextId(const std::string& requested_id) const {
    auto it = by_name_.find(requested_id);
    uint64_t run = it == by_name_.end() ? 1 : it->second.last_run + 1;
    std::string id = IdOf(requested_id, run);
    // A job may have requested this very id.
    while (by_id_.contains(id)) id = IdOf(requested_id, ++run);
    return id;
  }

  void Add(const std::string& requested_id, JobPtr job) {
    Name& name = by_name_[requested_id];
    name.runs.push_back(job);
    name.last_run = std::max(name.last_run, RunOf(requested_id, job->id()));
    by_id_[job->id()] = {requested_id, job};
    all_.push_back(std::move(job));
  }

  // There was a run with this id. Ignored if no run of the name is left.
  void AddRemoved(const std::string& requested_id, const std::string& id) {
    auto it = by_name_.find(requested_id);
    if (it == by_name_.end()) return;
    it->second.last_run =
        std::max(it->second.last_run, RunOf(requested_id, id));
  }

  void Remove(const JobPtr& job) {
    auto found = by_id_.find(job->id());
    if (found == by_id_.end() || found->second.job != job) return;
    auto name = by_name_.find(found->second.requested_id);
    Erase(name->second.runs, job);
    if (name->second.runs.empty()) by_name_.erase(name);
    by_id_.erase(found);
    Erase(all_, job);
  }

 private:
  struct Entry {
    std::string requested_id;
    JobPtr job;
  };
  struct Name {
    // In the order of creation.
    std::vector<JobPtr> runs;
    // The highest number of a run.
    uint64_t last_run = 0;
  };

  static std::string IdOf(const std::string& requested_id, uint64_t run) {
    return run == 1 ? requested_id : absl::StrCat(requested_id, "-", run);
  }

  static uint64_t RunOf(const std::string& requested_id,
                        const std::string& id) {
    uint64_t run = 1;
    if (id.size() > requested_id.size() + 1) {
      const std::string_view number =
          std::string_view(id).substr(requested_id.size() + 1);
      if (!absl::SimpleAtoi(absl::string_view(number.data(), number.size()),
                            &run)) {
        return 1;
      }
    }
    return run;
  }

  static void Erase(std::vector<JobPtr>& jobs, const JobPtr& job) {
    jobs.erase(std::find(jobs.begin(), jobs.end(), job));
  }

  std::vector<JobPtr> all_;
  std::unordered_map<std::string, Entry> by_id_;
  std::unordered_map<std::string, Name> by_name_;
};

}  // namespace graphdbg::jobs

#endif  // SERVER_JOBS_JOB_INDEX_H_
