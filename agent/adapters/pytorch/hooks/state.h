#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_STATE_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_STATE_H_

#include "agent/adapters/pytorch/hooks/python_api.h"
#include "agent/adapters/pytorch/hooks_api.h"

namespace graphdbg::hooks {

// State of the extension module, for the lifetime of the process. Written with
// the interpreter's lock held, before the hooks are installed.
struct State {
  const graphdbg_torch_adapter* adapter = nullptr;
  // The class graphdbg.Terminated.
  PyObject* terminated = nullptr;
  // Called without arguments when debugging has ended.
  PyObject* on_detached = nullptr;
  // See _hooks.pyi.
  PyObject* on_start = nullptr;
  // False in a forked child and after debugging has ended; module calls are
  // then forwarded without further action.
  bool enabled = false;
};

inline State& Global() {
  static State state;
  return state;
}

// Replaces a reference that the module owns.
inline void Assign(PyObject** reference, PyObject* value) {
  PyObject* const before = *reference;
  *reference = Py_NewRef(value);
  Py_XDECREF(before);
}

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_STATE_H_
