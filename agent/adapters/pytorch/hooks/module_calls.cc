#include "agent/adapters/pytorch/hooks/module_calls.h"

#include <array>
#include <memory>
#include <unordered_map>

#include "agent/adapters/pytorch/hooks/interpreter.h"

namespace graphdbg::hooks {
namespace {

struct ModuleScope {
  // A weak reference: tells the module from a later one at its address.
  PyObject* module = nullptr;
  uint32_t scope = 0;
  bool model = false;
};

// All guarded by the interpreter's lock.
struct Calls {
  PyObject* original = nullptr;
  PyObject* on_unknown = nullptr;
  PyObject* optimizer_exists = nullptr;
  bool optimizer_known = false;
  std::unordered_map<PyObject*, ModuleScope> scopes;
  size_t sweep_at = 1024;
};

Calls& Table() {
  static Calls* const calls = new Calls;
  return *calls;
}

bool Find(PyObject* module, ModuleScope* out) {
  const auto found = Table().scopes.find(module);
  if (found == Table().scopes.end()) return false;
  if (PyWeakref_GetObject(found->second.module) != module) return false;
  *out = found->second;
  return true;
}

// Drops the entries of modules that are gone.
void Sweep() {
  auto& scopes = Table().scopes;
  for (auto entry = scopes.begin(); entry != scopes.end();) {
    if (PyWeakref_GetObject(entry->second.module) == Py_None) {
      Py_DECREF(entry->second.module);
      entry = scopes.erase(entry);
    } else {
      ++entry;
    }
  }
  Table().sweep_at = 1024 + 2 * scopes.size();
}

PyObject* CallOriginal(PyObject* self, PyObject* const* args, Py_ssize_t count,
                       PyObject* keywords) {
  const Py_ssize_t total =
      count + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
  constexpr Py_ssize_t kSmall = 8;
  std::array<PyObject*, kSmall + 1> small;
  std::unique_ptr<PyObject*[]> large;
  PyObject** all = small.data();
  if (total > kSmall) {
    large.reset(new PyObject*[static_cast<size_t>(total) + 1]);
    all = large.get();
  }
  all[0] = self;
  for (Py_ssize_t i = 0; i < total; ++i) all[i + 1] = args[i];
  return PyObject_Vectorcall(Table().original, all,
                             static_cast<size_t>(count) + 1, keywords);
}

// Asks Python for the module's scope. A failure there is ours, not the
// program's: it is reported, and the call goes on without a scope.
bool AskForScope(PyObject* module, ModuleScope* out) {
  PyObject* const result = PyObject_CallOneArg(Table().on_unknown, module);
  if (result == nullptr) {
    PyErr_WriteUnraisable(Table().on_unknown);
    // Once is enough.
    SetModuleScope(module, 0, false);
    return false;
  }
  Py_DECREF(result);
  return Find(module, out);
}

// Steps are the optimizer's as soon as there is one.
void LookForOptimizer() {
  if (Table().optimizer_known) return;
  PyObject* const answer = PyObject_CallNoArgs(Table().optimizer_exists);
  if (answer == nullptr) {
    PyErr_WriteUnraisable(Table().optimizer_exists);
    Table().optimizer_known = true;
    return;
  }
  if (answer == Py_True) {
    Table().optimizer_known = true;
    Global().adapter->optimizer_seen();
  }
  Py_DECREF(answer);
}

PyObject* CallInScope(const ModuleScope& module, PyObject* self,
                      PyObject* const* args, Py_ssize_t count,
                      PyObject* keywords) {
  const size_t depth = Global().adapter->enter(module.scope);
  PyObject* const result = CallOriginal(self, args, count, keywords);
  Global().adapter->leave(depth);
  return result;
}

PyObject* CallModel(const ModuleScope& module, PyObject* self,
                    PyObject* const* args, Py_ssize_t count,
                    PyObject* keywords) {
  LookForOptimizer();
  if (!CheckStatus(Global().adapter->enter_model(module.scope))) {
    return nullptr;
  }
  PyObject* const result = CallInScope(module, self, args, count, keywords);
  if (result == nullptr) return nullptr;
  if (!CheckStatus(Global().adapter->leave_model())) {
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

PyObject* Call(PyObject* self, PyObject* const* args, Py_ssize_t count,
               PyObject* keywords) {
  ModuleScope module;
  if (!Global().enabled ||
      (!Find(self, &module) && !AskForScope(self, &module))) {
    return CallOriginal(self, args, count, keywords);
  }
  int inside = 0;
  if (module.model) Global().adapter->current_scope(&inside);
  if (module.model && !inside) {
    return CallModel(module, self, args, count, keywords);
  }
  return CallInScope(module, self, args, count, keywords);
}

PyMethodDef call_method = {
    "__call__",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(Call)),
    METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

bool InstallModuleCalls(PyObject* module_class, PyObject* on_unknown,
                        PyObject* optimizer_exists) {
  if (!PyType_Check(module_class)) {
    PyErr_SetString(PyExc_TypeError, "torch.nn.Module is not a class");
    return false;
  }
  Calls& calls = Table();
  calls.original = PyObject_GetAttrString(module_class, "__call__");
  if (calls.original == nullptr) return false;
  calls.on_unknown = Py_NewRef(on_unknown);
  calls.optimizer_exists = Py_NewRef(optimizer_exists);
  PyObject* const descriptor = PyDescr_NewMethod(
      reinterpret_cast<PyTypeObject*>(module_class), &call_method);
  if (descriptor == nullptr) return false;
  const int failed =
      PyObject_SetAttrString(module_class, "__call__", descriptor);
  Py_DECREF(descriptor);
  return failed == 0;
}

bool SetModuleScope(PyObject* module, uint32_t scope, bool model) {
  PyObject* const reference = PyWeakref_NewRef(module, nullptr);
  if (reference == nullptr) return false;
  if (Table().scopes.size() >= Table().sweep_at) Sweep();
  ModuleScope& entry = Table().scopes[module];
  Py_XDECREF(entry.module);
  entry = {reference, scope, model};
  return true;
}

}  // namespace graphdbg::hooks
