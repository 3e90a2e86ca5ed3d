#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_

#include "agent/adapters/pytorch/hooks/state.h"

namespace graphdbg::hooks {

// Replaces __call__ of torch.nn.Module by one in C that enters the module's
// scope for as long as the call lasts, whichever way it ends.
//
//   on_unknown(module)     is called for a module without a scope, and gives it
//                          one by set_scope
//   on_model(module, ...)  is called with what a model is about to be called
//                          with, while that is of interest
//
// All functions here need the interpreter's lock. False or null: an exception
// is set.
bool InstallModuleCalls(PyObject* module_class, PyObject* on_unknown,
                        PyObject* on_model);

// The scope of a module; `model`: its calls from outside all scopes are the
// program's passes.
bool SetModuleScope(PyObject* module, uint32_t scope, bool model);

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_MODULE_CALLS_H_
