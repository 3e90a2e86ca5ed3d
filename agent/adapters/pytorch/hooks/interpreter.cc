#include "agent/adapters/pytorch/hooks/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "agent/adapters/pytorch/hooks/source_stack.h"
#include "agent/adapters/pytorch/hooks/waits.h"

namespace graphdbg::hooks {
namespace {

// Sets an exception and returns false.
bool RaiseTerminated() {
  PyObject* const exception = PyObject_CallNoArgs(Global().terminated);
  if (exception == nullptr) return false;
  PyErr_SetObject(Global().terminated, exception);
  Py_DECREF(exception);
  return false;
}

// Called during an op, which cannot raise: the exception is raised in the main
// thread when it returns to Python code. (An asynchronous exception would
// behave similarly, but may lose its exit code.)
void Terminate() {
  Py_AddPendingCall([](void*) { return RaiseTerminated() ? 0 : -1; }, nullptr);
}

// Disables the hooks permanently.
void Detach() {
  if (!Global().enabled) return;
  Global().enabled = false;
  // Kept, because it may uninstall the hooks.
  PyObject* const on_detached = Py_NewRef(Global().on_detached);
  PyObject* const result = PyObject_CallNoArgs(on_detached);
  if (result == nullptr) PyErr_WriteUnraisable(on_detached);
  Py_XDECREF(result);
  Py_DECREF(on_detached);
}

// Calls the function on_start of the Python side, see _hooks.pyi. An exception
// is an internal error: it is reported, and debugging starts without a rank.
int BeginsTraining(int trains, uint32_t* rank, uint32_t* world_size) {
  *rank = *world_size = 0;
  if (!Py_IsInitialized() || Global().on_start == nullptr) return 1;
  const PyGILState_STATE gil = PyGILState_Ensure();
  // The start may be found out while C code propagates an exception.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  int begins = 1;
  PyObject* const place = PyObject_CallFunctionObjArgs(
      Global().on_start, trains ? Py_True : Py_False, nullptr);
  if (place == Py_None) {
    begins = 0;
  } else if (place == nullptr ||
             !PyArg_ParseTuple(place, "II", rank, world_size)) {
    PyErr_WriteUnraisable(Global().on_start);
  }
  Py_XDECREF(place);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(gil);
  return begins;
}

// The text that a function of a module returns, as a copy that is never freed
// by Python; null if it fails. The caller holds the interpreter's lock.
char* TextOf(const char* module_name, const char* function) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* const module = PyImport_ImportModule(module_name);
  PyObject* const text = module == nullptr
                             ? nullptr
                             : PyObject_CallMethod(module, function, nullptr);
  const char* const utf8 =
      text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, nullptr);
  char* const copy = utf8 == nullptr ? nullptr : strdup(utf8);
  if (copy == nullptr) PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(module);
  PyErr_Restore(type, value, traceback);
  return copy;
}

const char* Environment() {
  if (!Py_IsInitialized() || Python().is_finalizing()) return nullptr;
  const PyGILState_STATE gil = PyGILState_Ensure();
  // Not initialized once by the language: importing gives the lock away.
  static const char* text = nullptr;
  if (text == nullptr) text = TextOf("graphdbg._environment", "describe");
  const char* const result = text;
  PyGILState_Release(gil);
  return result;
}

constexpr char kStepModule[] = "graphdbg._torch.step_record";

void StepBegins() {
  if (!Py_IsInitialized() || Python().is_finalizing()) return;
  const PyGILState_STATE gil = PyGILState_Ensure();
  free(TextOf(kStepModule, "remember"));
  PyGILState_Release(gil);
}

const char* Training() {
  if (!Py_IsInitialized() || Python().is_finalizing()) return nullptr;
  const PyGILState_STATE gil = PyGILState_Ensure();
  char* const described = TextOf(kStepModule, "describe");
  // Guarded by the lock.
  static char* text = nullptr;
  free(text);
  text = described;
  PyGILState_Release(gil);
  return described;
}

// Stores the text that a function of Python has returned, or, if `result` is
// null, the message of its exception. Takes the reference. The caller holds the
// interpreter's lock. Returns 0 if there is a result.
int StoreText(PyObject* result, const char** text) {
  // Guarded by the lock.
  static char* last = nullptr;
  free(last);
  last = nullptr;
  int status = 0;
  if (result == nullptr) {
    status = 1;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    result = value == nullptr ? nullptr : PyObject_Str(value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
  const char* const utf8 =
      result == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(result, nullptr);
  if (utf8 != nullptr) last = strdup(utf8);
  PyErr_Clear();
  Py_XDECREF(result);
  *text = last;
  return status;
}

int Experiment(int bundle, const char* experiments, const char** text) {
  *text = nullptr;
  if (!Py_IsInitialized() || Python().is_finalizing()) return 1;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* const module = PyImport_ImportModule("graphdbg._torch.experiments");
  const int status = StoreText(
      module == nullptr
          ? nullptr
          : PyObject_CallMethod(module, "run", "is", bundle, experiments),
      text);
  Py_XDECREF(module);
  PyGILState_Release(gil);
  return status;
}

int Change(const graphdbg_change* change, const char** text) {
  *text = nullptr;
  if (!Py_IsInitialized() || Python().is_finalizing()) return 1;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* const module = PyImport_ImportModule("graphdbg._torch.changes");
  const bool sets_rate = change->kind == GRAPHDBG_SET_LEARNING_RATE;
  PyObject* const result =
      module == nullptr ? nullptr
      : sets_rate
          ? PyObject_CallMethod(module, "set_learning_rate", "dii",
                                change->value, change->optimizer, change->group)
          : PyObject_CallMethod(module, "skip_step", nullptr);
  const int status = StoreText(result, text);
  Py_XDECREF(module);
  PyGILState_Release(gil);
  return status;
}

}  // namespace

const graphdbg_interpreter* Interpreter() {
  static const graphdbg_interpreter interpreter = {
      SourceStack,
      BeginWait,
      EndWait,
      Interrupted,
      Terminate,
      BeginsTraining,
      /*tests_training=*/1,
      Environment,
      StepBegins,
      Training,
      Experiment,
      Change,
  };
  return &interpreter;
}

bool CheckStatus(graphdbg_status status) {
  switch (status) {
    case GRAPHDBG_TERMINATE:
      return RaiseTerminated();
    case GRAPHDBG_DETACHED:
      Detach();
      return true;
    case GRAPHDBG_INTERRUPTED:
      return PyErr_CheckSignals() == 0;
    default:
      return true;
  }
}

}  // namespace graphdbg::hooks
