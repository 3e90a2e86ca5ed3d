#include "server/main/running_file.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "proto/wire/status_macros.h"
#include "server/auth/private_file.h"

namespace graphdbg {

absl::Status RunningFile::Write(const std::string& data_dir,
                                const std::string& http_address,
                                const std::string& debugger_address) {
  const nlohmann::ordered_json json = {{"pid", getpid()},
                                       {"http_address", http_address},
                                       {"debugger_address", debugger_address}};
  const std::string name = data_dir + "/server.json";
  RETURN_IF_ERROR(auth::WritePrivateFile(name, json.dump() + "\n"));
  name_ = name;
  return absl::OkStatus();
}

void RunningFile::Remove() {
  if (!name_.empty()) unlink(name_.c_str());
  name_.clear();
}

}  // namespace graphdbg
