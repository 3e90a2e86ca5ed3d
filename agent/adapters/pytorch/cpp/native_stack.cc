#include "agent/adapters/pytorch/cpp/native_stack.h"

#include <backtrace.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/base/mutex.h"

namespace graphdbg::cpp {
namespace {

constexpr const char* kEngine = "torch::autograd::Engine::execute";

void OnError(void*, const char*, int) {}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

// Demangles a name and removes the arguments: "Net::forward".
std::string Readable(const char* name) {
  if (name == nullptr) return "?";
  int status = 0;
  const std::unique_ptr<char, Free> demangled(
      abi::__cxa_demangle(name, nullptr, nullptr, &status));
  std::string text = demangled == nullptr ? name : demangled.get();
  return text.substr(0, text.find('('));
}

bool IsUserCode(const char* library) {
  const std::string_view path = library == nullptr ? "" : library;
  for (const std::string_view system : {"/lib/", "/lib64/", "/usr/lib/"}) {
    if (path.substr(0, system.size()) == system) return false;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view own : {"libtorch", "libc10", "libgraphdbg"}) {
    if (name.substr(0, own.size()) == own) return false;
  }
  return true;
}

// Source locations of the program's code, by address. Entries are never
// removed.
class Symbols {
 public:
  // The frames at an address: several if functions were inlined, none for code
  // that is not the user's.
  const std::vector<graphdbg_source_frame>& At(uintptr_t address) {
    MutexLock lock(&mu_);
    const auto [entry, added] = frames_.try_emplace(address);
    if (added) Read(address, &entry->second);
    return entry->second;
  }

 private:
  struct Reading {
    Symbols* symbols;
    std::vector<graphdbg_source_frame>* frames;
  };

  void Read(uintptr_t address, std::vector<graphdbg_source_frame>* frames)
      GRAPHDBG_REQUIRES(mu_) {
    Dl_info object;
    if (dladdr(reinterpret_cast<void*>(address), &object) == 0) return;
    if (!IsUserCode(object.dli_fname)) {
      // Frames outside the engine belong to the caller of backward().
      const std::string function = Readable(object.dli_sname);
      if (function == kEngine) frames->push_back({"", 0, kEngine, 0});
      return;
    }
    Reading reading{this, frames};
    backtrace_pcinfo(state_, address, OnLine, OnError, &reading);
    if (!frames->empty()) return;
    frames->push_back({Intern(object.dli_fname), 0, "?", 1});
    backtrace_syminfo(state_, address, OnSymbol, OnError, &reading);
  }

  static int OnLine(void* data, uintptr_t, const char* file, int line,
                    const char* function) {
    const auto* reading = static_cast<Reading*>(data);
    if (file == nullptr) return 0;
    Symbols* const symbols = reading->symbols;
    symbols->mu_.AssertHeld();
    // Code from headers of PyTorch and the standard library may be inlined.
    const bool user = std::strstr(file, "/torch/") == nullptr &&
                      std::strstr(file, "/include/c++/") == nullptr &&
                      std::strstr(file, "/ATen/") == nullptr &&
                      std::strstr(file, "/c10/") == nullptr;
    reading->frames->push_back({symbols->Intern(file),
                                static_cast<uint32_t>(line < 0 ? 0 : line),
                                symbols->Intern(Readable(function)), user});
    return 0;
  }

  static void OnSymbol(void* data, uintptr_t, const char* symbol, uintptr_t,
                       uintptr_t) {
    const auto* reading = static_cast<Reading*>(data);
    reading->symbols->mu_.AssertHeld();
    reading->frames->back().function =
        reading->symbols->Intern(Readable(symbol));
  }

  const char* Intern(const std::string& text) GRAPHDBG_REQUIRES(mu_) {
    return strings_.insert(text).first->c_str();
  }

  backtrace_state* const state_ =
      backtrace_create_state(nullptr, /*threaded=*/1, OnError, nullptr);

  Mutex mu_;
  std::unordered_map<uintptr_t, std::vector<graphdbg_source_frame>> frames_
      GRAPHDBG_GUARDED_BY(mu_);
  std::unordered_set<std::string> strings_ GRAPHDBG_GUARDED_BY(mu_);
};

Symbols& ProgramSymbols() {
  // Never destroyed: threads may run ops during process exit.
  static auto* const symbols = new Symbols;
  return *symbols;
}

struct Walk {
  graphdbg_source_frame* out;
  size_t max;
  size_t depth = 0;
};

int OnFrame(void* data, uintptr_t address) {
  auto* const walk = static_cast<Walk*>(data);
  for (const graphdbg_source_frame& frame : ProgramSymbols().At(address)) {
    if (walk->depth == walk->max) return 1;
    walk->out[walk->depth++] = frame;
  }
  return 0;
}

}  // namespace

size_t NativeStack(graphdbg_source_frame* out, size_t max) {
  Walk walk{out, max};
  backtrace_state* const state = nullptr;
  backtrace_simple(state, /*skip=*/1, OnFrame, OnError, &walk);
  return walk.depth;
}

}  // namespace graphdbg::cpp
