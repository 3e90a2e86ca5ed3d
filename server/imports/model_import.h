// Opens model files of users. Each becomes a finished job with the model's
// graph.
//
//   bytes ──► graphdbg-onnx (sandboxed) ──► messages of the wire ──► job
#ifndef SERVER_IMPORTS_MODEL_IMPORT_H_
#define SERVER_IMPORTS_MODEL_IMPORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http/message.h"
#include "server/imports/child_process.h"
#include "server/jobs/agent_port.h"
#include "server/jobs/interfaces.h"

namespace graphdbg::imports {

struct ImportOptions {
  // Path of graphdbg-onnx.
  std::string program;
  ChildLimits limits;
  // Limit on concurrent imports.
  uint32_t at_once = 2;
};

// Thread-safe.
class ModelImport {
 public:
  ModelImport(std::shared_ptr<jobs::AgentAcceptor> entrance,
              ImportOptions options);

  // Returns the job's id. `name` is the name of the file, such as "cnn.onnx".
  // INVALID_ARGUMENT "invalid_model", with a message of one line, if the bytes
  // are not a model; RESOURCE_EXHAUSTED "too_many_imports"; or an error of
  // RunChild.
  jobs::Task<std::string> Run(std::string name, http::NextPiece bytes);

 private:
  jobs::Task<std::string> Read(std::string file, http::NextPiece bytes);

  const std::shared_ptr<jobs::AgentAcceptor> entrance_;
  const ImportOptions options_;
  std::atomic<uint32_t> running_{0};
};

}  // namespace graphdbg::imports

#endif  // SERVER_IMPORTS_MODEL_IMPORT_H_
