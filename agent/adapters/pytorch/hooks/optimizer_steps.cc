#include "agent/adapters/pytorch/hooks/optimizer_steps.h"

#include <time.h>

#include <cstring>

#include "agent/adapters/pytorch/hooks/interpreter.h"
#include "agent/adapters/pytorch/hooks/signs.h"
#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {
namespace {

// Requires the interpreter's lock.
struct Passed {
  // The optimizer of which steps are passed, and the thread that called it
  // last. Only compared: another one at the same address takes the lead from
  // one that is gone.
  PyObject* optimizer = nullptr;
  unsigned long thread = 0;
  // Conditions of training are watched: signs are looked for, until this time
  // in seconds. 0 if there are none.
  double until = 0;
  unsigned long long steps = 0;
};
Passed passed;

bool LooksForSigns() { return passed.until > 0; }

// The clock of time.perf_counter().
double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

bool NothingElseToDo() {
  return passed.optimizer != nullptr && Global().enabled;
}

bool OnThreadOfSteps() { return passed.thread == PyThread_get_thread_ident(); }

bool Passes(PyObject* optimizer) {
  return optimizer == passed.optimizer && OnThreadOfSteps() &&
         NothingElseToDo();
}

// Looks for a sign, if that is wanted. Returns false if there is one, or it
// cannot be found out, so that Python code has to look.
bool HasNoSign(bool (*look)(PyObject*, bool*), PyObject* subject) {
  if (!LooksForSigns()) return true;
  bool changed = false;
  if (!look(subject, &changed)) {
    PyErr_Clear();
    changed = true;
  } else if (changed) {
    KeepSign();
  }
  if (changed) passed.optimizer = nullptr;
  return !changed;
}

// Whether the next step may be passed as well.
bool GoesOn() { return !LooksForSigns() || Now() < passed.until; }

bool HasArguments(PyObject* args, PyObject* kwargs) {
  // The first one is the optimizer.
  return PyTuple_Size(args) > 1 ||
         (kwargs != Py_None && PyDict_Size(kwargs) > 0);
}

// PyTorch has marked the beginning of the step when this thread's ops were not
// traced yet.
void TraceFrom(PyObject* optimizer) {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(optimizer));
  PyObject* const name = PyObject_GetAttrString(type, "__name__");
  const char* const text =
      name == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(name, nullptr);
  if (text != nullptr) Global().adapter->enter_step(text);
  PyErr_Clear();
  Py_XDECREF(name);
}

PyObject* BeforeStep(PyObject* before, PyObject* const* args,
                     Py_ssize_t count) {
  if (count == 3 && Global().enabled && Global().adapter->misses_thread()) {
    TraceFrom(args[0]);
  }
  if (count == 3 && Passes(args[0]) && !HasArguments(args[1], args[2]) &&
      HasNoSign(SignBeforeStep, args[0])) {
    Py_RETURN_NONE;
  }
  return Python().vectorcall(before, args, static_cast<size_t>(count), nullptr);
}

PyObject* AfterStep(PyObject* after, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !Passes(args[0]) || !GoesOn()) {
    return Python().vectorcall(after, args, static_cast<size_t>(count),
                               nullptr);
  }
  ++passed.steps;
  if (!CheckStatus(Global().adapter->step_end())) return nullptr;
  // The user may have set a watchpoint meanwhile.
  if (!LooksForSigns() && Global().adapter->watches(nullptr)) {
    passed.optimizer = nullptr;
  }
  Py_RETURN_NONE;
}

// The arguments of run_backward that count, by position and by name.
constexpr size_t kCreateGraph = 3;
constexpr size_t kAccumulateGrad = 6;

// Returns false with an exception set if it cannot be converted to a bool.
bool Flag(PyObject* const* args, size_t count, PyObject* names, size_t position,
          const char* name, bool* flag) {
  PyObject* value = position < count ? args[position] : nullptr;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name) ==
        0) {
      value = args[count + static_cast<size_t>(i)];
    }
  }
  const int truth = value == nullptr ? 0 : PyObject_IsTrue(value);
  *flag = truth == 1;
  return truth >= 0;
}

// Leaves a pass. The exception that may be set stays, unless the program is
// terminated.
bool LeaveBackward(bool creates_graph, bool accumulates, uint64_t token) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const graphdbg_status status =
      Global().adapter->leave_backward(creates_graph, accumulates, token);
  if (!CheckStatus(status)) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
  }
  PyErr_Restore(type, value, trace);
  return true;
}

// Calls `before` with the roots, unless it has nothing to do.
bool BeforeBackward(PyObject* before, PyObject* roots) {
  if (NothingElseToDo() &&
      (!OnThreadOfSteps() || HasNoSign(SignBeforeBackward, roots))) {
    return true;
  }
  PyObject* const done =
      Python().vectorcall(before, &roots, 1, /*names=*/nullptr);
  Py_XDECREF(done);
  return done != nullptr;
}

// `pair` is (run_backward, before).
PyObject* RunBackward(PyObject* pair, PyObject* const* args,
                      Py_ssize_t arg_count, PyObject* names) {
  PyObject* const run = PyTuple_GetItem(pair, 0);
  const auto count = static_cast<size_t>(arg_count);
  const bool idle = Global().enabled && Global().adapter->is_idle();
  if (!Global().enabled || (idle && NothingElseToDo() && !LooksForSigns())) {
    return Python().vectorcall(run, args, count, names);
  }
  bool creates_graph, accumulates;
  if (!Flag(args, count, names, kCreateGraph, "create_graph", &creates_graph) ||
      !Flag(args, count, names, kAccumulateGrad, "accumulate_grad",
            &accumulates) ||
      (accumulates && count > 0 &&
       !BeforeBackward(PyTuple_GetItem(pair, 1), args[0]))) {
    return nullptr;
  }
  if (idle) return Python().vectorcall(run, args, count, names);
  uint64_t token = 0;
  if (!CheckStatus(Global().adapter->enter_backward(creates_graph, &token))) {
    return nullptr;
  }
  PyObject* const result = Python().vectorcall(run, args, count, names);
  if (!LeaveBackward(creates_graph, accumulates && result != nullptr, token)) {
    Py_XDECREF(result);
    return nullptr;
  }
  return result;
}

template <typename Function>
PyCFunction AsMethod(Function function) {
  PyCFunction method;
  static_assert(sizeof(method) == sizeof(function));
  std::memcpy(&method, &function, sizeof(method));
  return method;
}

}  // namespace

PyObject* AroundSteps(PyObject*, PyObject* args) {
  static PyMethodDef before_step = {"before_step", AsMethod(BeforeStep),
                                    METH_FASTCALL, nullptr};
  static PyMethodDef after_step = {"after_step", AsMethod(AfterStep),
                                   METH_FASTCALL, nullptr};
  PyObject *before, *after;
  if (!PyArg_ParseTuple(args, "OO", &before, &after)) return nullptr;
  return Py_BuildValue("(NN)", PyCFunction_NewEx(&before_step, before, nullptr),
                       PyCFunction_NewEx(&after_step, after, nullptr));
}

PyObject* AroundBackward(PyObject*, PyObject* args) {
  static PyMethodDef run_backward = {"run_backward", AsMethod(RunBackward),
                                     METH_FASTCALL | METH_KEYWORDS, nullptr};
  PyObject *run, *before;
  if (!PyArg_ParseTuple(args, "OO", &run, &before)) return nullptr;
  PyObject* const pair = PyTuple_Pack(2, run, before);
  if (pair == nullptr) return nullptr;
  PyObject* const function = PyCFunction_NewEx(&run_backward, pair, nullptr);
  Py_DECREF(pair);
  return function;
}

PyObject* PassStepsOf(PyObject*, PyObject* args) {
  PyObject* optimizer;
  double until = 0;
  if (!PyArg_ParseTuple(args, "O|d", &optimizer, &until)) return nullptr;
  passed.optimizer = optimizer == Py_None ? nullptr : optimizer;
  passed.thread = PyThread_get_thread_ident();
  passed.until = until;
  Py_RETURN_NONE;
}

PyObject* PassedSteps(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(passed.steps);
}

}  // namespace graphdbg::hooks
