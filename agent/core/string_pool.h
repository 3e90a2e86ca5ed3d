// Stores each distinct string once.
#ifndef AGENT_CORE_STRING_POOL_H_
#define AGENT_CORE_STRING_POOL_H_

#include <string>
#include <unordered_set>
#include <utility>

namespace graphdbg::agent {

// Strings live as long as the pool. Not thread-safe.
class StringPool {
 public:
  const std::string* Intern(std::string text) {
    return &*strings_.insert(std::move(text)).first;
  }

 private:
  std::unordered_set<std::string> strings_;
};

}  // namespace graphdbg::agent

#endif  // AGENT_CORE_STRING_POOL_H_
