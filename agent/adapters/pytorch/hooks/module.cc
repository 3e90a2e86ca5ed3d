// The extension module graphdbg._torch._hooks; its interface is in _hooks.pyi.

#include <dlfcn.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "agent/adapters/pytorch/hooks/interpreter.h"
#include "agent/adapters/pytorch/hooks/module_calls.h"
#include "agent/adapters/pytorch/hooks/optimizer_steps.h"
#include "agent/adapters/pytorch/hooks/signs.h"
#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/state.h"
#include "agent/adapters/pytorch/hooks/tensor.h"
#include "agent/adapters/pytorch/hooks/waits.h"

namespace graphdbg::hooks {
namespace {

// Loads the agent first, so that the adapter finds it by its soname regardless
// of their directories.
PyObject* Load(PyObject*, PyObject* args) {
  const char* agent;
  const char* path;
  if (!PyArg_ParseTuple(args, "ss", &agent, &path)) return nullptr;
  void* library;
  const char* error = nullptr;
  // The program's other threads go on meanwhile.
  Py_BEGIN_ALLOW_THREADS;
  library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) error = dlerror();
  Py_END_ALLOW_THREADS;
  if (library == nullptr) {
    PyErr_SetString(PyExc_ImportError, error);
    return nullptr;
  }
  const auto get = reinterpret_cast<graphdbg_torch_adapter_getter>(
      dlsym(library, "graphdbg_torch_adapter_get"));
  if (get == nullptr || get()->api_version != GRAPHDBG_HOOKS_API_VERSION) {
    PyErr_Format(PyExc_ImportError, "%s has an incompatible version", path);
    return nullptr;
  }
  Global().adapter = get();
  Py_RETURN_NONE;
}

PyObject* Open(PyObject*, PyObject* args) {
  const char* torch_version;
  const char* job_name;
  int joins = 0;
  if (!PyArg_ParseTuple(args, "ss|p", &torch_version, &job_name, &joins)) {
    return nullptr;
  }
  const graphdbg_status status =
      Global().adapter->open(torch_version, job_name, Interpreter(), joins);
  return PyBool_FromLong(status == GRAPHDBG_OK);
}

PyObject* Install(PyObject*, PyObject* args) {
  PyObject *module_class, *on_unknown, *on_model, *terminated;
  PyObject *on_detached, *on_start, *dirs;
  if (!PyArg_ParseTuple(args, "OOOOOOO", &module_class, &on_unknown, &on_model,
                        &terminated, &on_detached, &on_start, &dirs)) {
    return nullptr;
  }
  Assign(&Global().terminated, terminated);
  Assign(&Global().on_detached, on_detached);
  Assign(&Global().on_start, on_start);
  SetLibraryDirectories(dirs);
  if (PyErr_Occurred() != nullptr ||
      !InstallModuleCalls(module_class, on_unknown, on_model)) {
    return nullptr;
  }
  Global().enabled = true;
  Py_RETURN_NONE;
}

PyObject* Uninstall(PyObject*, PyObject* module_class) {
  Global().enabled = false;
  Py_CLEAR(Global().on_detached);
  Py_CLEAR(Global().on_start);
  const int removed = UninstallModuleCalls(module_class);
  return removed < 0 ? nullptr : PyBool_FromLong(removed);
}

PyObject* Connect(PyObject*, PyObject*) {
  graphdbg_status status;
  RunPendingCallsInWaits(true);
  Py_BEGIN_ALLOW_THREADS;
  status = Global().adapter->connect();
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(status == GRAPHDBG_OK);
}

PyObject* Follow(PyObject*, PyObject*) {
  if (Global().enabled) Global().adapter->follow();
  Py_RETURN_NONE;
}

PyObject* Forget(PyObject*, PyObject*) {
  RunPendingCallsInWaits(false);
  Py_BEGIN_ALLOW_THREADS;
  Global().adapter->forget();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* IsPaused(PyObject*, PyObject*) { return PyBool_FromLong(AnyWait()); }

PyObject* Disable(PyObject*, PyObject*) {
  Global().enabled = false;
  Py_RETURN_NONE;
}

PyObject* DeclareScope(PyObject*, PyObject* args) {
  const char* path;
  const char* type;
  int now;
  if (!PyArg_ParseTuple(args, "ssp", &path, &type, &now)) return nullptr;
  return PyLong_FromUnsignedLong(
      Global().adapter->declare_scope(path, type, now));
}

PyObject* BindTensor(PyObject*, PyObject* args) {
  unsigned int scope;
  const char* name;
  int kind;
  const void* impl;
  if (!PyArg_ParseTuple(args, "IsiO&", &scope, &name, &kind, TensorImplOf,
                        &impl)) {
    return nullptr;
  }
  Global().adapter->bind_tensor(scope, name,
                                static_cast<graphdbg_node_kind>(kind), impl);
  Py_RETURN_NONE;
}

PyObject* ReleaseTensor(PyObject*, PyObject* args) {
  const void* impl;
  if (!PyArg_ParseTuple(args, "O&", TensorImplOf, &impl)) return nullptr;
  return PyLong_FromVoidPtr(Global().adapter->release_tensor(impl));
}

PyObject* HoldTensor(PyObject*, PyObject* args) {
  unsigned long long binding;
  const void* impl;
  if (!PyArg_ParseTuple(args, "KO&", &binding, TensorImplOf, &impl)) {
    return nullptr;
  }
  Global().adapter->hold_tensor(reinterpret_cast<void*>(binding), impl);
  Py_RETURN_NONE;
}

PyObject* GiveInput(PyObject*, PyObject* args) {
  unsigned int scope;
  const char* name;
  const void* impl;
  if (!PyArg_ParseTuple(args, "IsO&", &scope, &name, TensorImplOf, &impl)) {
    return nullptr;
  }
  Global().adapter->give_input(scope, name, impl);
  Py_RETURN_NONE;
}

PyObject* Start(PyObject*, PyObject*) {
  if (Global().enabled && !CheckStatus(Global().adapter->start())) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* SetGradScale(PyObject*, PyObject* args) {
  double scale;
  if (!PyArg_ParseTuple(args, "d", &scale)) return nullptr;
  Global().adapter->set_grad_scale(scale);
  Py_RETURN_NONE;
}

PyObject* OnOptimizerCreated(PyObject*, PyObject*) {
  Global().adapter->optimizer_seen();
  Py_RETURN_NONE;
}

PyObject* Notify(PyObject*, PyObject* args) {
  const char* line;
  if (!PyArg_ParseTuple(args, "s", &line)) return nullptr;
  Global().adapter->notify(line);
  Py_RETURN_NONE;
}

PyObject* ObserveModels(PyObject*, PyObject* args) {
  PyObject* on_output;
  int suspicious_only;
  if (!PyArg_ParseTuple(args, "Op", &on_output, &suspicious_only)) {
    return nullptr;
  }
  graphdbg::hooks::ObserveModels(on_output, suspicious_only != 0);
  Py_RETURN_NONE;
}

PyObject* Watches(PyObject*, PyObject* args) {
  const char* condition;
  if (!PyArg_ParseTuple(args, "z", &condition)) return nullptr;
  return PyBool_FromLong(Global().enabled &&
                         Global().adapter->watches(condition));
}

PyObject* Report(PyObject*, PyObject* args) {
  const char* condition;
  const char* message;
  const char* file;
  unsigned int line;
  PyObject* tensor;
  const void* impl = nullptr;
  if (!PyArg_ParseTuple(args, "sOszI", &condition, &tensor, &message, &file,
                        &line) ||
      TensorImplOf(tensor, &impl) == 0) {
    return nullptr;
  }
  return PyBool_FromLong(
      Global().enabled &&
      Global().adapter->report(condition, impl, message, file, line));
}

PyObject* NodeOf(PyObject*, PyObject* tensor) {
  const void* impl = nullptr;
  if (TensorImplOf(tensor, &impl) == 0) return nullptr;
  return PyLong_FromUnsignedLong(
      Global().enabled ? Global().adapter->node_of(impl) : 0);
}

PyObject* SetScope(PyObject*, PyObject* args) {
  PyObject* module;
  unsigned int scope;
  int model;
  if (!PyArg_ParseTuple(args, "OIp", &module, &scope, &model)) return nullptr;
  if (!SetModuleScope(module, scope, model != 0)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* SetInputNames(PyObject*, PyObject* args) {
  PyObject *module, *tensor_class, *names;
  if (!PyArg_ParseTuple(args, "OOO!", &module, &tensor_class, &PyTuple_Type,
                        &names)) {
    return nullptr;
  }
  SetModuleInputNames(module, tensor_class, names);
  Py_RETURN_NONE;
}

PyObject* CurrentScope(PyObject*, PyObject*) {
  int inside;
  const uint32_t scope = Global().adapter->current_scope(&inside);
  return Py_BuildValue("(IO)", scope, inside ? Py_True : Py_False);
}

PyObject* EnterProgram(PyObject*, PyObject*) {
  return PyLong_FromSize_t(Global().adapter->enter_program());
}

PyObject* EnterIgnored(PyObject*, PyObject*) {
  return PyLong_FromSize_t(Global().adapter->enter_ignored());
}

PyObject* LeaveProgram(PyObject*, PyObject* args) {
  Py_ssize_t depth;
  if (!PyArg_ParseTuple(args, "n", &depth)) return nullptr;
  Global().adapter->leave(static_cast<size_t>(depth));
  Py_RETURN_NONE;
}

// The addresses of the TensorImpls of a list of torch.Tensor. Returns false
// with an exception set on failure.
bool TensorImplsOf(PyObject* list, std::vector<const void*>* result) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const void* impl = nullptr;
    if (TensorImplOf(PyList_GetItem(list, i), &impl) == 0) return false;
    result->push_back(impl);
  }
  return true;
}

PyObject* EnterRegion(PyObject*, PyObject* args) {
  PyObject* inputs;
  std::vector<const void*> impls;
  if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &inputs) ||
      !TensorImplsOf(inputs, &impls)) {
    return nullptr;
  }
  return PyBool_FromLong(Global().enabled && Global().adapter->enter_region(
                                                 impls.data(), impls.size()));
}

PyObject* LeaveRegion(PyObject*, PyObject* args) {
  PyObject* outputs;
  // Reserves memory, so that data() is not null.
  std::vector<const void*> impls;
  impls.reserve(1);
  if (!PyArg_ParseTuple(args, "O", &outputs)) return nullptr;
  if (outputs == Py_None) {
    Global().adapter->leave_region(nullptr, 0);
    Py_RETURN_NONE;
  }
  if (!PyList_Check(outputs) || !TensorImplsOf(outputs, &impls)) {
    return nullptr;
  }
  Global().adapter->leave_region(impls.data(), impls.size());
  Py_RETURN_NONE;
}

PyObject* StepEnd(PyObject*, PyObject*) {
  if (Global().enabled && !CheckStatus(Global().adapter->step_end())) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* LastStep(PyObject*, PyObject*) {
  if (Global().enabled) Global().adapter->last_step();
  Py_RETURN_NONE;
}

// Waits for the user without the interpreter's lock.
PyObject* Failed(PyObject*, PyObject* args) {
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  unsigned int scope = 0;
  unsigned int line = 0;
  const char* file = nullptr;
  if (!PyArg_ParseTuple(args, "sssIsI", &ending.exception_type,
                        &ending.exception_message, &ending.exception_traceback,
                        &scope, &file, &line)) {
    return nullptr;
  }
  if (Global().enabled) Global().adapter->failed(&ending, scope, file, line);
  Py_RETURN_NONE;
}

PyObject* Close(PyObject*, PyObject* args) {
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  if (!PyArg_ParseTuple(args, "izzz", &ending.exit_code, &ending.exception_type,
                        &ending.exception_message,
                        &ending.exception_traceback)) {
    return nullptr;
  }
  Global().enabled = false;
  Global().adapter->detach_interpreter();
  Py_BEGIN_ALLOW_THREADS;
  Global().adapter->close(&ending);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

void CloseWithExitCode(int exit_code, void*) {
  graphdbg_ending ending = {};
  ending.struct_size = sizeof(ending);
  ending.exit_code = exit_code;
  Global().adapter->leak_storages();
  Global().adapter->close(&ending);
}

// Python's atexit functions do not receive the exit code (for example of
// sys.exit(3)), but functions registered with on_exit() do.
PyObject* CloseAtExit(PyObject*, PyObject*) {
  if (Global().enabled) Global().adapter->last_step();
  Global().enabled = false;
  Global().adapter->detach_interpreter();
  on_exit(CloseWithExitCode, nullptr);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"load", Load, METH_VARARGS, nullptr},
    {"open", Open, METH_VARARGS, nullptr},
    {"install", Install, METH_VARARGS, nullptr},
    {"uninstall", Uninstall, METH_O, nullptr},
    {"connect", Connect, METH_NOARGS, nullptr},
    {"follow", Follow, METH_NOARGS, nullptr},
    {"forget", Forget, METH_NOARGS, nullptr},
    {"is_paused", IsPaused, METH_NOARGS, nullptr},
    {"disable", Disable, METH_NOARGS, nullptr},
    {"declare_scope", DeclareScope, METH_VARARGS, nullptr},
    {"bind_tensor", BindTensor, METH_VARARGS, nullptr},
    {"release_tensor", ReleaseTensor, METH_VARARGS, nullptr},
    {"hold_tensor", HoldTensor, METH_VARARGS, nullptr},
    {"give_input", GiveInput, METH_VARARGS, nullptr},
    {"start", Start, METH_NOARGS, nullptr},
    {"around_steps", AroundSteps, METH_VARARGS, nullptr},
    {"around_backward", AroundBackward, METH_VARARGS, nullptr},
    {"pass_steps_of", PassStepsOf, METH_VARARGS, nullptr},
    {"passed_steps", PassedSteps, METH_NOARGS, nullptr},
    {"forget_signs", ForgetSigns, METH_NOARGS, nullptr},
    {"follow_modes", FollowModes, METH_O, nullptr},
    {"sign_before_step", SignBeforeStepOf, METH_O, nullptr},
    {"sign_before_backward", SignBeforeBackwardFrom, METH_O, nullptr},
    {"set_grad_scale", SetGradScale, METH_VARARGS, nullptr},
    {"optimizer_seen", OnOptimizerCreated, METH_NOARGS, nullptr},
    {"notify", Notify, METH_VARARGS, nullptr},
    {"observe_models", ObserveModels, METH_VARARGS, nullptr},
    {"watches", Watches, METH_VARARGS, nullptr},
    {"report", Report, METH_VARARGS, nullptr},
    {"node_of", NodeOf, METH_O, nullptr},
    {"set_scope", SetScope, METH_VARARGS, nullptr},
    {"set_input_names", SetInputNames, METH_VARARGS, nullptr},
    {"current_scope", CurrentScope, METH_NOARGS, nullptr},
    {"enter_program", EnterProgram, METH_NOARGS, nullptr},
    {"leave_program", LeaveProgram, METH_VARARGS, nullptr},
    {"enter_ignored", EnterIgnored, METH_NOARGS, nullptr},
    {"leave_ignored", LeaveProgram, METH_VARARGS, nullptr},
    {"enter_region", EnterRegion, METH_VARARGS, nullptr},
    {"leave_region", LeaveRegion, METH_VARARGS, nullptr},
    {"step_end", StepEnd, METH_NOARGS, nullptr},
    {"last_step", LastStep, METH_NOARGS, nullptr},
    {"failed", Failed, METH_VARARGS, nullptr},
    {"close", Close, METH_VARARGS, nullptr},
    {"close_at_exit", CloseAtExit, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "graphdbg._torch._hooks",
                          nullptr, -1, methods};

}  // namespace
}  // namespace graphdbg::hooks

PyMODINIT_FUNC PyInit__hooks(void) {
  if (!graphdbg::hooks::LoadPythonApi()) return nullptr;
  PyObject* const module = PyModule_Create(&graphdbg::hooks::definition);
  if (module == nullptr) return nullptr;
  if (PyModule_AddIntConstant(module, "PARAMETER", GRAPHDBG_PARAMETER) < 0 ||
      PyModule_AddIntConstant(module, "BUFFER", GRAPHDBG_BUFFER) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
