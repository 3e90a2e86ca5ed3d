// The extension module graphdbg._hooks; see _hooks.pyi for what it offers.

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

#include "agent/adapters/pytorch/hooks/interpreter.h"
#include "agent/adapters/pytorch/hooks/module_calls.h"
#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {
namespace {

// An adapter may lie anywhere; what it needs of the agent is found because the
// agent is loaded already.
PyObject* Load(PyObject*, PyObject* args) {
  const char* agent;
  const char* path;
  if (!PyArg_ParseTuple(args, "ss", &agent, &path)) return nullptr;
  void* library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    PyErr_SetString(PyExc_ImportError, dlerror());
    return nullptr;
  }
  const auto get = reinterpret_cast<graphdbg_torch_adapter_getter>(
      dlsym(library, "graphdbg_torch_adapter_get"));
  if (get == nullptr || get()->api_version != GRAPHDBG_HOOKS_API_VERSION) {
    PyErr_Format(PyExc_ImportError, "%s is of another version", path);
    return nullptr;
  }
  Global().adapter = get();
  Py_RETURN_NONE;
}

PyObject* Open(PyObject*, PyObject* args) {
  const char* torch_version;
  const char* job_name;
  if (!PyArg_ParseTuple(args, "ss", &torch_version, &job_name)) return nullptr;
  const graphdbg_status status =
      Global().adapter->open(torch_version, job_name, Interpreter());
  return PyBool_FromLong(status == GRAPHDBG_OK);
}

PyObject* Install(PyObject*, PyObject* args) {
  PyObject *module_class, *on_unknown, *optimizer_exists, *terminated, *dirs;
  if (!PyArg_ParseTuple(args, "OOOOO", &module_class, &on_unknown,
                        &optimizer_exists, &terminated, &dirs)) {
    return nullptr;
  }
  Global().terminated = Py_NewRef(terminated);
  SetLibraryDirectories(dirs);
  if (PyErr_Occurred() != nullptr ||
      !InstallModuleCalls(module_class, on_unknown, optimizer_exists)) {
    return nullptr;
  }
  Global().enabled = true;
  Py_RETURN_NONE;
}

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
  PyObject* tensor;
  if (!PyArg_ParseTuple(args, "IsiO", &scope, &name, &kind, &tensor)) {
    return nullptr;
  }
  PyObject* const address = PyObject_GetAttrString(tensor, "_cdata");
  if (address == nullptr) return nullptr;
  const void* const impl = PyLong_AsVoidPtr(address);
  Py_DECREF(address);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Global().adapter->bind_tensor(scope, name,
                                static_cast<graphdbg_node_kind>(kind), impl);
  Py_RETURN_NONE;
}

PyObject* SetScope(PyObject*, PyObject* args) {
  PyObject* module;
  unsigned int scope;
  int model;
  if (!PyArg_ParseTuple(args, "OIp", &module, &scope, &model)) return nullptr;
  if (!SetModuleScope(module, scope, model != 0)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* CurrentScope(PyObject*, PyObject*) {
  int inside;
  const uint32_t scope = Global().adapter->current_scope(&inside);
  return Py_BuildValue("(IO)", scope, inside ? Py_True : Py_False);
}

PyObject* StepEnd(PyObject*, PyObject*) {
  if (Global().enabled && !CheckStatus(Global().adapter->step_end())) {
    return nullptr;
  }
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
  Global().adapter->close(&ending);
}

// Python tells no atexit function the exit code (of sys.exit(3), say), but the
// C library tells its own kind.
PyObject* CloseAtExit(PyObject*, PyObject*) {
  Global().enabled = false;
  Global().adapter->detach_interpreter();
  on_exit(CloseWithExitCode, nullptr);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"load", Load, METH_VARARGS, nullptr},
    {"open", Open, METH_VARARGS, nullptr},
    {"install", Install, METH_VARARGS, nullptr},
    {"disable", Disable, METH_NOARGS, nullptr},
    {"declare_scope", DeclareScope, METH_VARARGS, nullptr},
    {"bind_tensor", BindTensor, METH_VARARGS, nullptr},
    {"set_scope", SetScope, METH_VARARGS, nullptr},
    {"current_scope", CurrentScope, METH_NOARGS, nullptr},
    {"step_end", StepEnd, METH_NOARGS, nullptr},
    {"close", Close, METH_VARARGS, nullptr},
    {"close_at_exit", CloseAtExit, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "graphdbg._hooks", nullptr, -1,
                          methods};

}  // namespace
}  // namespace graphdbg::hooks

PyMODINIT_FUNC PyInit__hooks(void) {
  PyObject* const module = PyModule_Create(&graphdbg::hooks::definition);
  if (module == nullptr) return nullptr;
  if (PyModule_AddIntConstant(module, "PARAMETER", GRAPHDBG_PARAMETER) < 0 ||
      PyModule_AddIntConstant(module, "BUFFER", GRAPHDBG_BUFFER) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
