// The thread that gives complete files their final names.
#ifndef AGENT_RECORDING_FILE_FINISHER_H_
#define AGENT_RECORDING_FILE_FINISHER_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "agent/base/mutex.h"
#include "agent/recording/file.h"

namespace graphdbg::recording {

// A file gets its name once it is on the disk, for which a disk takes as long
// as for some megabytes. Meanwhile, another thread writes the next files.
//
// One thread at a time calls it.
class FileFinisher {
 public:
  FileFinisher() = default;
  // Waits for what was added.
  ~FileFinisher();
  FileFinisher(const FileFinisher&) = delete;
  FileFinisher& operator=(const FileFinisher&) = delete;

  // Nothing more is written to the file, which is renamed to `path` in the same
  // directory. The first call starts the thread. Waits if there are too many
  // files already.
  void Add(File file, std::string path) GRAPHDBG_EXCLUDES(mu_);
  // Waits for everything that was added.
  void Wait() GRAPHDBG_EXCLUDES(mu_);
  // The first failure since the last call. The files keep their names.
  absl::Status TakeError() GRAPHDBG_EXCLUDES(mu_);

 private:
  struct Complete {
    File file;
    std::string path;
  };

  void Run() GRAPHDBG_EXCLUDES(mu_);
  static absl::Status Finish(std::vector<Complete> files);

  Mutex mu_;
  CondVar changed_;
  std::vector<Complete> waiting_ GRAPHDBG_GUARDED_BY(mu_);
  bool busy_ GRAPHDBG_GUARDED_BY(mu_) = false;
  bool stopping_ GRAPHDBG_GUARDED_BY(mu_) = false;
  absl::Status error_ GRAPHDBG_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace graphdbg::recording

#endif  // AGENT_RECORDING_FILE_FINISHER_H_
