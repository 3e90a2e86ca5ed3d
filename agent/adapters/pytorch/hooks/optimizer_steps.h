#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_OPTIMIZER_STEPS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_OPTIMIZER_STEPS_H_

#include "agent/adapters/pytorch/hooks/python_api.h"

namespace graphdbg::hooks {

// What Python code has to do around steps of optimizers and backward passes is
// needed in few jobs. In the others these functions leave it out, because steps
// of a third of a millisecond feel every call of a Python function: each finds
// the caches as the program has left them.
//
// Methods of the extension module; see _hooks.pyi.
PyObject* AroundSteps(PyObject* self, PyObject* args);
PyObject* AroundBackward(PyObject* self, PyObject* args);
PyObject* PassStepsOf(PyObject* self, PyObject* optimizer);
PyObject* PassedSteps(PyObject* self, PyObject* args);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_OPTIMIZER_STEPS_H_
