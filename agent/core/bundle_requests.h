#ifndef AGENT_CORE_BUNDLE_REQUESTS_H_
#define AGENT_CORE_BUNDLE_REQUESTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/core/captures.h"
#include "agent/core/gate.h"
#include "agent/core/host.h"
#include "proto/graphdbg/v1/tensor.pb.h"

namespace graphdbg::agent {

// A bundle that a server downloads: a file without a name, which exists as long
// as this object.
class BundleFile {
 public:
  BundleFile(std::string id, int file, uint64_t bytes)
      : id_(std::move(id)), file_(file), bytes_(bytes) {}
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;
  ~BundleFile();

  const std::string& id() const { return id_; }
  int descriptor() const { return file_; }
  uint64_t bytes() const { return bytes_; }
  // Appends `size` bytes from `offset` on, which must exist.
  absl::Status Read(uint64_t offset, uint64_t size, std::string* out) const;

 private:
  const std::string id_;
  const int file_;
  const uint64_t bytes_;
};

// Makes bundles for downloads, and for experiments in this process. The agent's
// thread.
class BundleRequests {
 public:
  // All must outlive this.
  struct Parts {
    const Config* config;
    const NodeTable* nodes;
    const Captures* captures;
    const BundleWriter* writer;
    const Host* host;
    Gate* gate;
  };
  explicit BundleRequests(const Parts& parts) : parts_(parts) {}

  // The bundle of a request, which is made if the request asks for no bytes of
  // it. Reasons of errors: those of BundleWriter::Write, "unknown_node",
  // "value_gone", "not_paused".
  absl::StatusOr<std::shared_ptr<const BundleFile>> Find(
      const v1::TensorRequest& request);

  // Repeats the ops of a request's hit in the paused process, and returns what
  // graphdbg_host.experiment says. Errors as above, or "cannot_run".
  absl::StatusOr<std::string> Experiment(const v1::TensorRequest& request);

 private:
  struct Wanted {
    const v1::TensorRequest& request;
    // 0: the one in progress.
    uint64_t step;
    const std::string& hit;
  };

  absl::StatusOr<std::shared_ptr<const BundleFile>> Make(
      const v1::TensorRequest& request);
  // The program stays paused as long as `hold` is held.
  absl::StatusOr<std::shared_ptr<const BundleFile>> Write(const Wanted& wanted,
                                                          const std::string& id,
                                                          Gate::Hold* hold);

  const Parts parts_;
  // The newest last.
  std::deque<std::shared_ptr<const BundleFile>> files_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_BUNDLE_REQUESTS_H_
