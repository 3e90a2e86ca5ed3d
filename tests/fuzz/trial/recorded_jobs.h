// A store with a finished and a lost job, which a fuzz target damages.
#ifndef TESTS_FUZZ_TRIAL_RECORDED_JOBS_H_
#define TESTS_FUZZ_TRIAL_RECORDED_JOBS_H_

#include <string>

namespace graphdbg::trial {

// Records the jobs through the server's own rooms, and returns the database.
std::string RecordJobs(const std::string& directory);

// Opens the store in `directory` as a server does at its start, and reads
// everything that clients can ask for. Returns why the store cannot be opened;
// empty if it can.
std::string ReadJobs(const std::string& directory);

}  // namespace graphdbg::trial

#endif  // TESTS_FUZZ_TRIAL_RECORDED_JOBS_H_
