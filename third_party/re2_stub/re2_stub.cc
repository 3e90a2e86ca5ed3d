// gRPC 1.51 uses RE2 only for xDS routing and RBAC, so a client that uses
// neither never constructs a pattern. Debian's libre2.a cannot be linked into a
// shared object, so the agent library links these stubs instead.
#include <re2/re2.h>

#include <cstdlib>

namespace re2 {

RE2::RE2(const std::string&) { std::abort(); }
RE2::RE2(const StringPiece&, const Options&) { std::abort(); }
RE2::~RE2() {}

bool RE2::FullMatchN(const StringPiece&, const RE2&, const Arg* const[], int) {
  return false;
}

int RE2::GlobalReplace(std::string*, const RE2&, const StringPiece&) {
  return 0;
}

}  // namespace re2
