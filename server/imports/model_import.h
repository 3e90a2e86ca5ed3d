// Opens model files of people: each becomes a job that has ended, with the
// model's graph.
//
//   bytes ──► graphdbg-onnx, confined ──► the wire's messages ──► a job
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
  // graphdbg-onnx.
  std::string program;
  ChildLimits limits;
  // Imports under way.
  uint32_t at_once = 2;
};

// Any thread.
class ModelImport {
 public:
  ModelImport(std::shared_ptr<jobs::AgentAcceptor> entrance,
              ImportOptions options);

  // The job's id. `name` is the file's, as "cnn.onnx". INVALID_ARGUMENT
  // "invalid_model" in one line if the bytes are no model, RESOURCE_EXHAUSTED
  // "too_many_imports" or at a limit, and what RunChild says.
  jobs::Task<std::string> Run(std::string name, http::NextPiece bytes);

 private:
  jobs::Task<std::string> Read(std::string file, http::NextPiece bytes);

  const std::shared_ptr<jobs::AgentAcceptor> entrance_;
  const ImportOptions options_;
  std::atomic<uint32_t> running_{0};
};

}  // namespace graphdbg::imports

#endif  // SERVER_IMPORTS_MODEL_IMPORT_H_
