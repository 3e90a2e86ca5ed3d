#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_

#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {

// Replaces torch.nn.Module.__call__ by a function in C that enters the module's
// scope for the duration of the call.
//
//   on_unknown(module)     is called for a module without a scope and assigns
//                          one with set_scope
//   on_model(module, ...)  is called with the arguments of a model's call if
//                          inputs have to be reported, unless their names are
//                          known
//
// All functions in this file require the interpreter's lock. They return false
// with an exception set on failure.
bool InstallModuleCalls(PyObject* module_class, PyObject* on_unknown,
                        PyObject* on_model);

// Takes it out again, and forgets all scopes. Returns 1; 0 if something has
// replaced it since, in which case it stays and only forwards calls; -1 with an
// exception set.
int UninstallModuleCalls(PyObject* module_class);

// Has `on_output(module, output)` called after each call of a model, and
// `on_model` before each, whether or not inputs have to be reported. None ends
// it. With `suspicious_only`, only calls in training mode without gradients are
// observed.
void ObserveModels(PyObject* on_output, bool suspicious_only);

// Sets the scope of a module. `model` means that its calls from outside all
// scopes are passes of the program.
bool SetModuleScope(PyObject* module, uint32_t scope, bool model);

// From now on, the arguments of calls of this module, which has a scope, are
// reported under these names, a tuple of str, if a call has as many of them, by
// position, and each is an instance of the class itself.
void SetModuleInputNames(PyObject* module, PyObject* tensor_class,
                         PyObject* names);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_
