// Opens model files of users. Each becomes a finished job with the model's
// graph.
//
//   bytes ──► graphdbg-onnx (sandboxed) ──► messages of the wire ──► job
#ifndef SERVER_IMPORTS_MODEL_IMPORT_H_
#define SERVER_IMPORTS_MODEL_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/http/message.h"
#include "server/imports/child_process.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::imports {

struct ImportOptions {
  // Path of graphdbg-onnx.
  std::string program;
  ChildLimits limits;
  // Limits on concurrent imports, of all people and of each.
  uint32_t at_once = 4;
  uint32_t per_person = 2;
};

// Thread-safe.
class ModelImport {
 public:
  ModelImport(std::shared_ptr<jobs::AgentAcceptor> entrance,
              ImportOptions options);

  // Returns the job's id. `name` is the name of the file, such as "cnn.onnx";
  // `person` is who opens it.
  // INVALID_ARGUMENT "invalid_model", with a message of one line, if the bytes
  // are not a model; RESOURCE_EXHAUSTED "too_many_imports"; or an error of
  // RunChild.
  jobs::Task<std::string> Run(std::string name, std::string person,
                              http::NextPiece bytes);

 private:
  bool Begin(const std::string& person) ABSL_LOCKS_EXCLUDED(mu_);
  void End(const std::string& person) ABSL_LOCKS_EXCLUDED(mu_);
  jobs::Task<std::string> Read(std::string file, http::NextPiece bytes);

  const std::shared_ptr<jobs::AgentAcceptor> entrance_;
  const ImportOptions options_;
  absl::Mutex mu_;
  uint32_t running_ ABSL_GUARDED_BY(mu_) = 0;
  // Without people who open nothing.
  std::map<std::string, uint32_t> running_of_ ABSL_GUARDED_BY(mu_);
};

}  // namespace graphdbg::imports

#endif  // SERVER_IMPORTS_MODEL_IMPORT_H_
