/* libgraphdbg_preload.so: attaches the debugger to C++ programs that link to
 * LibTorch. `graphdbg run` preloads it (LD_PRELOAD).
 *
 * Depends on the C library only, because every program that the job starts
 * loads it. Before main, it searches the loaded libraries for LibTorch. If it
 * finds it, it loads the adapter for its version and forwards calls of the
 * functions in torch_functions.inc to the adapter. In all other programs,
 * including the Python interpreter, it has no effect. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/adapters/pytorch/cpp/program_api.h"

#define EXPORT __attribute__((visibility("default")))
#define PATH_SIZE 4096

static const graphdbg_cpp_program* program;

/* ---- LibTorch, and its version */

static int IsLibTorch(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  const char* const slash = strrchr(info->dlpi_name, '/');
  if (slash == NULL || strncmp(slash, "/libtorch_cpu.so", 16) != 0) return 0;
  snprintf(path, PATH_SIZE, "%s", info->dlpi_name);
  return 1;
}

static int FindLibTorch(char path[PATH_SIZE]) {
  return dl_iterate_phdr(IsLibTorch, path) != 0;
}

/* Extracts the first "<number>.<number>" of a text. */
static int ReadVersion(const char* text, char* version, size_t size) {
  unsigned major, minor;
  for (; *text != '\0'; ++text) {
    if (*text >= '0' && *text <= '9') {
      if (sscanf(text, "%u.%u", &major, &minor) == 2) {
        snprintf(version, size, "%u.%u", major, minor);
        return 1;
      }
      while (text[1] >= '0' && text[1] <= '9') ++text;
    }
  }
  return 0;
}

static int ReadVersionFile(const char* library, const char* name, char* version,
                           size_t size) {
  char path[PATH_SIZE + 64];
  char text[1024];
  snprintf(path, sizeof(path), "%s", library);
  *strrchr(path, '/') = '\0';
  strcat(path, name);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0;
  text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
  fclose(file);
  return ReadVersion(text, version, size);
}

/* The version is in the library's name (distributions) or in a file next to the
 * library (wheels and archives). */
static int VersionOf(const char* library, char* version, size_t size) {
  return ReadVersion(strrchr(library, '/'), version, size) ||
         ReadVersionFile(library, "/../version.py", version, size) ||
         ReadVersionFile(library, "/../build-version", version, size);
}

/* ---- the adapter */

static int IsSet(const char* name) {
  const char* const value = getenv(name);
  return value != NULL && *value != '\0';
}

static int Enabled(void) {
  const char* value = getenv("GRAPHDBG_ENABLE");
  if (value == NULL) value = getenv("ENABLE_MS_DEBUGGER");
  if (value == NULL) {
    /* A directory suffices to have a run recorded. */
    return IsSet("GRAPHDBG_RECORD") || IsSet("GRAPHDBG_BLACK_BOX");
  }
  return value != NULL &&
         (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0);
}

static void Warn(const char* problem, const char* detail) {
  fprintf(stderr, "graphdbg: %s%s; the program continues without debugging\n",
          problem, detail);
}

/* Loads a library from this library's directory. */
static void* Load(const char* name) {
  Dl_info here;
  char path[PATH_SIZE + 64];
  if (dladdr((void*)Load, &here) == 0) return NULL;
  snprintf(path, PATH_SIZE, "%s", here.dli_fname);
  char* const slash = strrchr(path, '/');
  if (slash == NULL) return NULL;
  snprintf(slash, sizeof(path) - (size_t)(slash - path), "/%s", name);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void Attach(void) {
  char library[PATH_SIZE];
  char version[16];
  char adapter[64];
  if (!Enabled() || !FindLibTorch(library)) return;
  if (!VersionOf(library, version, sizeof(version))) {
    Warn("cannot determine the version of ", library);
    return;
  }
  snprintf(adapter, sizeof(adapter), "torch-%s/libgraphdbg_torch_cpp.so",
           version);
  void* handle = Load("libgraphdbg.so");
  if (handle != NULL) handle = Load(adapter);
  if (handle == NULL) {
    Warn("no adapter for C++ programs with PyTorch ", version);
    return;
  }
  const graphdbg_cpp_program_opener open =
      (graphdbg_cpp_program_opener)dlsym(handle, "graphdbg_cpp_program_open");
  if (open != NULL) program = open(version);
}

/* ---- before main, when all libraries are initialized */

typedef int (*Main)(int, char**, char**);
typedef int (*StartMain)(Main, int, char**, void (*)(void), void (*)(void),
                         void (*)(void), void*);

static Main real_main;

static int AttachedMain(int argc, char** argv, char** environment) {
  Attach();
  return real_main(argc, argv, environment);
}

EXPORT int __libc_start_main(Main main, int argc, char** argv,
                             void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void* stack_end) {
  const StartMain start = (StartMain)dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(AttachedMain, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- intercepted calls. Other architectures have other calling conventions;
 * there, only ops are traced, neither steps nor modules. */

#ifdef __x86_64__

/* The intercepted function. If LibTorch was loaded later, as in Python, it is
 * not among the libraries that RTLD_NEXT searches. */
static graphdbg_member FindOriginal(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  char path[PATH_SIZE];
  if (function == NULL && FindLibTorch(path)) {
    void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) function = dlsym(library, name);
  }
  if (function == NULL) {
    fprintf(stderr, "graphdbg: LibTorch does not define %s\n", name);
    abort();
  }
  return (graphdbg_member)function;
}

enum Kind { kStep, kZeroGrad, kAddGroup, kModelByResult, kModel, kForward };

static void* Call(enum Kind kind, const graphdbg_member_call* call) {
  switch (kind) {
    case kStep:
      return program->step(call);
    case kZeroGrad:
      return program->zero_grad(call);
    case kAddGroup:
      return program->add_group(call);
    case kModelByResult:
      return program->model_by_result(call);
    case kModel:
      return program->model(call);
    case kForward:
      return program->forward(call);
  }
  return NULL;
}

#define INTERPOSE(kind, name)                                               \
  EXPORT void* name(void* a, void* b, void* c, void* d, void* e, void* f) { \
    static _Atomic(graphdbg_member) original;                               \
    graphdbg_member next = atomic_load(&original);                          \
    if (next == NULL) atomic_store(&original, next = FindOriginal(#name));  \
    if (program == NULL) return next(a, b, c, d, e, f);                     \
    const graphdbg_member_call call = {next, {a, b, c, d, e, f}};           \
    return Call(kind, &call);                                               \
  }
#include "agent/adapters/pytorch/cpp/torch_functions.inc"

#endif /* __x86_64__ */
