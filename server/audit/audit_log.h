// Records who did what, when, from where, and with which result.
#ifndef SERVER_AUDIT_AUDIT_LOG_H_
#define SERVER_AUDIT_AUDIT_LOG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace graphdbg::audit {

// Texts never contain tokens or codes.
struct Entry {
  // The name of the token or session; empty if the caller is unknown.
  std::string who;
  std::string role;
  // The address and port of the caller.
  std::string from;
  // For example "control".
  std::string action;
  std::string job;
  // For example "step 3".
  std::string detail;
  // "ok" or the code of the error.
  std::string result;
};

struct Options {
  // The directory of "audit.jsonl", and of "audit.<number>.jsonl" with older
  // entries.
  std::string dir;
  uint64_t max_file_bytes = uint64_t{4} << 20;
  // The number of older files that are kept.
  uint64_t max_old_files = 7;
  // Receives a line when entries can no longer be written, and when they can
  // again. May be null.
  std::function<void(std::string_view)> log = {};
  std::function<absl::Time()> now = {};
};

class LogFile;

// Thread-safe. Entries are lines of JSON in a file that is only appended to.
class AuditLog {
 public:
  // Continues the log of earlier servers. UNAVAILABLE, naming the file, if it
  // cannot be opened.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Options options);
  ~AuditLog();

  // Appends an entry. If that fails, up to 1,000 entries are kept until the
  // file can be written again.
  void Record(const Entry& entry) ABSL_LOCKS_EXCLUDED(mu_);
  // The same for requests that were refused, of which at most 10 per minute are
  // recorded: strangers must not be able to displace other entries. The next
  // recorded one states how many were not.
  void RecordRefused(Entry entry) ABSL_LOCKS_EXCLUDED(mu_);
  // The same for actions that repeat, such as reading the values of a tensor,
  // of which at most 60 per minute are recorded. An entry that differs from an
  // earlier one only in its port and its time is recorded once per minute.
  void RecordRepeated(Entry entry) ABSL_LOCKS_EXCLUDED(mu_);

  struct Page {
    // Objects with the fields of Entry and "time", newest first.
    std::vector<std::string> entries;
    // Where the next page begins; empty after the oldest entry.
    std::string next_cursor;
  };
  // `cursor` is empty for the newest entries. INVALID_ARGUMENT "bad_cursor".
  absl::StatusOr<Page> Read(uint32_t limit, std::string_view cursor) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // The same action of the same caller on the same subject.
  using Subject = std::tuple<std::string, std::string, std::string, std::string,
                             std::string>;

  // The number of entries of one kind that are recorded per minute.
  struct Quota {
    uint64_t per_minute;
    absl::Time minute = absl::InfinitePast();
    uint64_t used = 0;
    uint64_t unrecorded = 0;
  };

  explicit AuditLog(Options options);

  // Appends the entry, with the number of those before it that were not
  // recorded, if the quota is not used up.
  void AppendWithin(Quota& quota, Entry entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Append(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes pending lines, oldest first, until one fails.
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable absl::Mutex mu_;
  std::unique_ptr<LogFile> file_ ABSL_GUARDED_BY(mu_);
  // Lines that could not be written yet, and how many more were dropped.
  std::deque<std::string> pending_ ABSL_GUARDED_BY(mu_);
  uint64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
  bool failing_ ABSL_GUARDED_BY(mu_) = false;
  Quota refused_ ABSL_GUARDED_BY(mu_){.per_minute = 10};
  Quota repeating_ ABSL_GUARDED_BY(mu_){.per_minute = 60};
  // When an action was recorded last.
  std::map<Subject, absl::Time> repeated_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::audit

#endif  // SERVER_AUDIT_AUDIT_LOG_H_
