#include "agent/core/module_calls.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace graphdbg::agent {
namespace {

constexpr absl::string_view kForward = "forward";

// A frame that is a call of a module.
struct Call {
  size_t frame;
  // The class that defines the function; empty if unknown, as before Python
  // 3.11.
  absl::string_view owner;
  // No code of the user's has called it, as is usual for wrappers.
  bool outermost_library;
};

absl::string_view LastPart(absl::string_view name, char separator) {
  const size_t place = name.rfind(separator);
  return place == absl::string_view::npos ? name : name.substr(place + 1);
}

// Outermost first.
std::vector<Call> CallsIn(const std::vector<NodeTable::StackFrame>& stack) {
  std::vector<Call> calls;
  bool library = true;
  for (size_t i = stack.size(); i-- > 0;) {
    absl::string_view function = stack[i].function;
    if (LastPart(function, '.') != kForward) continue;
    function.remove_suffix(kForward.size());
    if (!function.empty()) function.remove_suffix(1);
    library = library && !stack[i].user;
    calls.push_back({i, LastPart(function, '.'), library});
  }
  return calls;
}

class Alignment {
 public:
  Alignment(const std::vector<NodeTable::Scope>& scopes,
            const std::vector<Call>& calls)
      : scopes_(scopes),
        calls_(calls),
        best_((scopes.size() + 1) * (calls.size() + 1), 0) {
    for (size_t scope = scopes.size() + 1; scope-- > 0;) {
      for (size_t call = calls.size(); call-- > 0;) {
        At(scope, call) = Best(scope, call);
      }
    }
  }

  std::vector<size_t> Frames() {
    std::vector<size_t> frames(scopes_.size(), kNotCalled);
    size_t scope = 0, call = 0;
    while (scope < scopes_.size() && call < calls_.size()) {
      if (At(scope, call) == Paired(scope, call)) {
        frames[scope++] = calls_[call++].frame;
      } else if (At(scope, call) == At(scope + 1, call)) {
        ++scope;
      } else {
        ++call;
      }
    }
    return frames;
  }

 private:
  // The score of the best alignment of the scopes and calls from these on.
  int& At(size_t scope, size_t call) {
    return best_[scope * (calls_.size() + 1) + call];
  }

  int Best(size_t scope, size_t call) {
    const int without = At(scope, call + 1) + Skipped(call);
    if (scope == scopes_.size()) return without;
    return std::max({Paired(scope, call), At(scope + 1, call), without});
  }

  int Paired(size_t scope, size_t call) {
    return Score(scope, call) + At(scope + 1, call + 1);
  }

  int Skipped(size_t call) const {
    return calls_[call].outermost_library ? 0 : -1;
  }

  int Score(size_t scope, size_t call) const {
    const bool is_known = !calls_[call].owner.empty();
    if (is_known && calls_[call].owner == scopes_[scope].type) return 8;
    return IsList(scope) ? 1 : 2;
  }

  // Also if its type is unknown: it has a member with a number.
  bool IsList(size_t scope) const {
    if (IsModuleList(scopes_[scope])) return true;
    if (scope + 1 == scopes_.size()) return false;
    const absl::string_view member = LastPart(scopes_[scope + 1].name, '/');
    return std::all_of(member.begin(), member.end(), absl::ascii_isdigit);
  }

  const std::vector<NodeTable::Scope>& scopes_;
  const std::vector<Call>& calls_;
  std::vector<int> best_;
};

}  // namespace

bool IsModuleList(const NodeTable::Scope& scope) {
  return scope.type == "ModuleList" || scope.type == "ModuleDict";
}

std::vector<size_t> CallsOf(const std::vector<NodeTable::Scope>& scopes,
                            const std::vector<NodeTable::StackFrame>& stack) {
  const std::vector<Call> calls = CallsIn(stack);
  return Alignment(scopes, calls).Frames();
}

}  // namespace graphdbg::agent
