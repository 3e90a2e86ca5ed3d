#include "agent/adapters/pytorch/hooks/module_calls.h"

#include <structmember.h>

#include <cstddef>
#include <unordered_map>

#include "agent/adapters/pytorch/hooks/interpreter.h"
#include "agent/adapters/pytorch/hooks/owned.h"
#include "agent/adapters/pytorch/hooks/tensor.h"

namespace graphdbg::hooks {
namespace {

struct ModuleScope {
  // A weak reference, to detect that the address was reused.
  PyObject* module = nullptr;
  uint32_t scope = 0;
  bool model = false;
  // The names of the inputs; null if they are not known.
  PyObject* input_names = nullptr;

  void Clear() {
    Py_CLEAR(module);
    Py_CLEAR(input_names);
  }
};

// Protected by the interpreter's lock.
struct Calls {
  // The object that is installed. Earlier ones, which something may still refer
  // to, only forward calls.
  PyObject* installed = nullptr;
  PyObject* on_unknown = nullptr;
  // Null after it has raised an exception.
  PyObject* on_model = nullptr;
  // Null unless models are observed.
  PyObject* on_output = nullptr;
  bool suspicious_only = false;
  // torch.Tensor; null until names of inputs are known.
  PyObject* tensor_class = nullptr;
  std::unordered_map<PyObject*, ModuleScope> scopes;
  size_t next_sweep_size = 1024;
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

// Removes the entries of destroyed modules.
void RemoveExpired() {
  auto& scopes = Table().scopes;
  for (auto entry = scopes.begin(); entry != scopes.end();) {
    if (PyWeakref_GetObject(entry->second.module) == Py_None) {
      entry->second.Clear();
      entry = scopes.erase(entry);
    } else {
      ++entry;
    }
  }
  Table().next_sweep_size = 1024 + 2 * scopes.size();
}

// Whether graphdbg's own Python code was interrupted by an exception that is
// intended for the program, such as KeyboardInterrupt or graphdbg.Terminated.
bool IsForProgram() { return PyErr_ExceptionMatches(PyExc_Exception) == 0; }

// Requests the module's scope from Python code. An exception is an internal
// error, not the program's: it is reported, and the call continues without
// scope. Returns false with an exception set if that is for the program.
bool RequestScope(PyObject* module, ModuleScope* out) {
  if (Table().on_unknown == nullptr) return false;
  PyObject* const result =
      PyObject_CallFunctionObjArgs(Table().on_unknown, module, nullptr);
  if (result == nullptr) {
    if (IsForProgram()) return false;
    PyErr_WriteUnraisable(Table().on_unknown);
    // Do not try again.
    SetModuleScope(module, 0, false);
    return false;
  }
  Py_DECREF(result);
  return Find(module, out);
}

// The type of the object that replaces torch.nn.Module.__call__. It behaves
// like a function of the class, with a tenth of the overhead of a Python
// function, and has the attributes of the original: PyTorch's profiler, for
// example, reads __code__.
struct ModuleCall {
  PyObject_HEAD Vectorcall call;
  PyObject* original;
};

PyObject* OriginalOf(PyObject* self) {
  return reinterpret_cast<ModuleCall*>(self)->original;
}

// Arguments of a vectorcall; args[0] is the module.
struct Arguments {
  PyObject* original;
  PyObject* const* args;
  size_t count;
  PyObject* keywords;

  PyObject* CallOriginal() const {
    return Python().vectorcall(original, args, count, keywords);
  }
};

PyObject* CallInScope(const ModuleScope& module, const Arguments& call) {
  const size_t depth = Global().adapter->enter(module.scope);
  PyObject* const result = call.CallOriginal();
  Global().adapter->leave(depth);
  return result;
}

// Whether this call of a model is observed.
bool IsObserved(bool training) {
  if (Table().on_output == nullptr) return false;
  return !Table().suspicious_only ||
         (training && Global().adapter->records_gradients() == 0);
}

// Whether this call need not be followed: the adapter does not need it, nor
// does an observer, should it turn out to be a model's.
bool MayPass() {
  return Global().adapter->is_idle() &&
         (Table().on_output == nullptr ||
          (Table().suspicious_only &&
           Global().adapter->records_gradients() != 0));
}

// Whether the arguments of a call are tensors whose names are known.
bool HasNamedInputs(const ModuleScope& module, const Arguments& call) {
  if (module.input_names == nullptr || call.keywords != nullptr) return false;
  const auto names = static_cast<size_t>(PyTuple_Size(module.input_names));
  if (PositionalCount(call.count) != 1 + names) return false;
  for (size_t i = 1; i <= names; ++i) {
    const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(call.args[i]));
    if (type != Table().tensor_class) return false;
  }
  return true;
}

void GiveNamedInputs(const ModuleScope& module, const Arguments& call) {
  const Owned names = Share(module.input_names);
  for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i) {
    const char* const name =
        PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names.get(), i), nullptr);
    const void* impl;
    if (name == nullptr || !TensorImplOf(call.args[1 + i], &impl)) {
      PyErr_Clear();
      continue;
    }
    Global().adapter->give_input(module.scope, name, impl);
  }
}

// Reports the tensors passed to a model, through Python code if their names are
// not known or the call is observed. Returns false with an exception set if one
// is for the program.
bool ReportModelInputs(const ModuleScope& module, const Arguments& call,
                       bool observed) {
  const bool wanted = observed || Global().adapter->wants_inputs();
  if (Table().on_model == nullptr || !wanted) return true;
  if (!observed && HasNamedInputs(module, call)) {
    GiveNamedInputs(module, call);
    return true;
  }
  PyObject* const result = Python().vectorcall(Table().on_model, call.args,
                                               call.count, call.keywords);
  if (result == nullptr) {
    if (IsForProgram()) return false;
    PyErr_WriteUnraisable(Table().on_model);
    Py_CLEAR(Table().on_model);
  }
  Py_XDECREF(result);
  return true;
}

// Passes the result of a model's call to Python code. Returns false with an
// exception set if one is for the program.
bool ReportOutput(PyObject* module, PyObject* output) {
  if (Table().on_output == nullptr) return true;
  PyObject* const result =
      PyObject_CallFunctionObjArgs(Table().on_output, module, output, nullptr);
  if (result == nullptr) {
    if (IsForProgram()) return false;
    PyErr_WriteUnraisable(Table().on_output);
    Py_CLEAR(Table().on_output);
  }
  Py_XDECREF(result);
  return true;
}

// Modules without the attribute `training` are assumed to train.
bool IsTraining(PyObject* module) {
  PyObject* const training = PyObject_GetAttrString(module, "training");
  const int truth = training == nullptr ? -1 : PyObject_IsTrue(training);
  Py_XDECREF(training);
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

PyObject* CallModel(const ModuleScope& module, const Arguments& call) {
  const bool training = IsTraining(call.args[0]);
  const bool observed = IsObserved(training);
  if (!ReportModelInputs(module, call, observed)) return nullptr;
  if (!CheckStatus(Global().adapter->enter_model(module.scope, training))) {
    return nullptr;
  }
  PyObject* const result = CallInScope(module, call);
  if (result == nullptr) return nullptr;
  if ((observed && !ReportOutput(call.args[0], result)) ||
      !CheckStatus(Global().adapter->leave_model())) {
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

PyObject* Call(PyObject* self, PyObject* const* args, size_t count,
               PyObject* keywords) {
  const Arguments call{OriginalOf(self), args, count, keywords};
  if (!Global().enabled || self != Table().installed ||
      PositionalCount(count) == 0 || MayPass()) {
    return call.CallOriginal();
  }
  ModuleScope module;
  if (!Find(args[0], &module) && !RequestScope(args[0], &module)) {
    return PyErr_Occurred() == nullptr ? call.CallOriginal() : nullptr;
  }
  int inside = 0;
  if (module.model) Global().adapter->current_scope(&inside);
  return module.model && !inside ? CallModel(module, call)
                                 : CallInScope(module, call);
}

PyObject* BindToModule(PyObject* self, PyObject* module, PyObject*) {
  if (module == nullptr || module == Py_None) return Py_NewRef(self);
  return Python().new_method(self, module);
}

PyObject* AttributeOfOriginal(PyObject* self, PyObject* name) {
  PyObject* const own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(OriginalOf(self), name);
}

void DeleteModuleCall(PyObject* self) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  Py_DECREF(OriginalOf(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* CallModuleCall(PyObject* self, PyObject* args, PyObject* keywords) {
  return Python().call_vectorcall(self, args, keywords);
}

// Py_TPFLAGS_HAVE_VECTORCALL, whose name the limited API of 3.10 lacks.
constexpr unsigned int kHasVectorcall = 1u << 11;

PyMemberDef module_call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ModuleCall, call), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot module_call_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeleteModuleCall)},
    {Py_tp_call, reinterpret_cast<void*>(CallModuleCall)},
    {Py_tp_descr_get, reinterpret_cast<void*>(BindToModule)},
    {Py_tp_getattro, reinterpret_cast<void*>(AttributeOfOriginal)},
    {Py_tp_members, module_call_members},
    {0, nullptr}};

PyType_Spec module_call_spec = {
    "graphdbg._torch._hooks.ModuleCall", sizeof(ModuleCall), 0,
    Py_TPFLAGS_DEFAULT | kHasVectorcall | Py_TPFLAGS_METHOD_DESCRIPTOR,
    module_call_slots};

PyObject* NewModuleCall(PyObject* original) {
  static PyObject* const type = PyType_FromSpec(&module_call_spec);
  if (type == nullptr) return nullptr;
  ModuleCall* const made =
      PyObject_New(ModuleCall, reinterpret_cast<PyTypeObject*>(type));
  if (made == nullptr) return nullptr;
  made->call = Call;
  made->original = Py_NewRef(original);
  return reinterpret_cast<PyObject*>(made);
}

void ForgetScopes() {
  for (auto& [module, entry] : Table().scopes) entry.Clear();
  Table().scopes.clear();
}

}  // namespace

bool InstallModuleCalls(PyObject* module_class, PyObject* on_unknown,
                        PyObject* on_model) {
  if (!PyType_Check(module_class)) {
    PyErr_SetString(PyExc_TypeError, "torch.nn.Module is not a class");
    return false;
  }
  PyObject* const original = PyObject_GetAttrString(module_class, "__call__");
  if (original == nullptr) return false;
  PyObject* const call = NewModuleCall(original);
  Py_DECREF(original);
  if (call == nullptr) return false;
  ForgetScopes();
  Assign(&Table().on_unknown, on_unknown);
  Assign(&Table().on_model, on_model);
  Assign(&Table().installed, call);
  const int failed = PyObject_SetAttrString(module_class, "__call__", call);
  Py_DECREF(call);
  return failed == 0;
}

int UninstallModuleCalls(PyObject* module_class) {
  Calls& calls = Table();
  ForgetScopes();
  ObserveModels(Py_None, false);
  Py_CLEAR(calls.on_unknown);
  Py_CLEAR(calls.on_model);
  if (calls.installed == nullptr) return 1;
  PyObject* const now = PyObject_GetAttrString(module_class, "__call__");
  if (now == nullptr) return -1;
  int removed = now == calls.installed ? 1 : 0;
  if (removed == 1 &&
      PyObject_SetAttrString(module_class, "__call__", OriginalOf(now)) != 0) {
    removed = -1;
  }
  Py_DECREF(now);
  Py_CLEAR(calls.installed);
  return removed;
}

void ObserveModels(PyObject* on_output, bool suspicious_only) {
  PyObject* const before = Table().on_output;
  Table().on_output = on_output == Py_None ? nullptr : Py_NewRef(on_output);
  Table().suspicious_only = suspicious_only;
  Py_XDECREF(before);
}

bool SetModuleScope(PyObject* module, uint32_t scope, bool model) {
  PyObject* const reference = PyWeakref_NewRef(module, nullptr);
  if (reference == nullptr) return false;
  if (Table().scopes.size() >= Table().next_sweep_size) RemoveExpired();
  ModuleScope& entry = Table().scopes[module];
  entry.Clear();
  entry = {reference, scope, model};
  return true;
}

void SetModuleInputNames(PyObject* module, PyObject* tensor_class,
                         PyObject* names) {
  const auto found = Table().scopes.find(module);
  if (found == Table().scopes.end()) return;
  Assign(&Table().tensor_class, tensor_class);
  Assign(&found->second.input_names, names);
}

}  // namespace graphdbg::hooks
