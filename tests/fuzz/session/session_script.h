// Scripts of calls in any order: agents that connect, report, answer and
// vanish, clients that command, and servers that restart. The calls are made to
// the server's real jobs and to a reference model, which must agree.
#ifndef TESTS_FUZZ_SESSION_SESSION_SCRIPT_H_
#define TESTS_FUZZ_SESSION_SESSION_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace graphdbg::session {

struct ScriptResult {
  // Empty, or how the jobs contradicted the model and after which call.
  std::string violation;
  // The calls that were made, and how many of them were commands of clients
  // that the jobs accepted.
  size_t calls = 0;
  size_t accepted_commands = 0;
};

// Any bytes are a script. The first one has the number of ranks in its lower
// half; its highest bit makes deadlines pass at once instead of never.
ScriptResult RunScript(const uint8_t* data, size_t size);

}  // namespace graphdbg::session

#endif  // TESTS_FUZZ_SESSION_SESSION_SCRIPT_H_
