#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_SIGNS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_SIGNS_H_

#include "agent/adapters/pytorch/hooks/python_api.h"

namespace graphdbg::hooks {

// Signs that something has changed on which findings of conditions of training
// depend. A change need not be a fault. They are looked for in each step of the
// program, by comparing it with the one before.
//
// Requires the interpreter's lock.

// Stores whether something has changed. Returns false with an exception set if
// the optimizer is not like PyTorch's.
bool SignBeforeStep(PyObject* optimizer, bool* changed);
// `roots`: of a backward pass that accumulates gradients.
bool SignBeforeBackward(PyObject* roots, bool* changed);
// The next call of one of these stores true.
void KeepSign();

// Methods of the extension module; see _hooks.pyi.
PyObject* ForgetSigns(PyObject* self, PyObject* args);
PyObject* FollowModes(PyObject* self, PyObject* models);
PyObject* SignBeforeStepOf(PyObject* self, PyObject* optimizer);
PyObject* SignBeforeBackwardFrom(PyObject* self, PyObject* roots);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_SIGNS_H_
