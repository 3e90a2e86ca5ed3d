#include "agent/core/hello.h"

#include <unistd.h>

#include <random>

#include "absl/strings/str_format.h"
#include "agent/conditions/catalogue.h"
#include "agent/core/version.h"
#include "proto/wire/capabilities.h"
#include "proto/wire/limits.h"
#include "proto/wire/utf8.h"

namespace graphdbg::agent {
namespace {

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return wire::ToValidUtf8(name, wire::kMaxNameBytes);
}

std::string Name(const std::string& text) {
  return wire::ToValidUtf8(text, wire::kMaxNameBytes);
}

}  // namespace

std::vector<std::string> AgentCapabilities() {
  std::vector<std::string> conditions;
  for (const conditions::Condition& condition : conditions::Catalogue()) {
    conditions.push_back(condition.id);
  }
  return wire::OwnCapabilities(conditions);
}

std::string NewIncarnation() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(),
                         random());
}

v1::Hello MakeHello(
    const Config& config, const Identity& identity,
    const std::string& incarnation,
    const std::optional<std::pair<std::string, int32_t>>& device,
    bool waits_at_start) {
  v1::Hello hello;
  for (const std::string& name : AgentCapabilities()) {
    hello.add_capabilities(name);
  }
  hello.set_agent_version(kVersion);
  hello.set_job(Name(config.job));
  hello.set_job_name(
      Name(identity.job_name.empty() ? config.program : identity.job_name));
  hello.set_rank(config.rank);
  hello.set_world_size(config.world_size);
  hello.set_framework(Name(identity.framework));
  hello.set_framework_version(Name(identity.framework_version));
  hello.set_host(HostName());
  hello.set_pid(static_cast<uint64_t>(getpid()));
  hello.set_device(Name(device ? device->first : identity.device));
  hello.set_device_id(device ? device->second : identity.device_id);
  hello.set_incarnation(incarnation);
  hello.set_waits_at_start(waits_at_start);
  if (!config.allowed.all()) {
    v1::Allowed* allowed = hello.mutable_allowed();
    allowed->set_view(config.allowed.view);
    allowed->set_control(config.allowed.control);
    allowed->set_terminate(config.allowed.terminate);
    allowed->set_change(config.allowed.change);
  }
  return hello;
}

}  // namespace graphdbg::agent
