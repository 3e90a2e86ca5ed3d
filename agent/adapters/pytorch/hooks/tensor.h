#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_TENSOR_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_TENSOR_H_

#include "agent/adapters/pytorch/hooks/python_api.h"

namespace graphdbg::hooks {

// Sets `result`, which points to a const void*, to the address of a
// torch.Tensor's TensorImpl. Returns 0 with an exception set if it is none. A
// converter for PyArg_ParseTuple.
inline int TensorImplOf(PyObject* tensor, void* result) {
  PyObject* const address = PyObject_GetAttrString(tensor, "_cdata");
  if (address == nullptr) return 0;
  *static_cast<const void**>(result) = PyLong_AsVoidPtr(address);
  Py_DECREF(address);
  return PyErr_Occurred() == nullptr ? 1 : 0;
}

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_TENSOR_H_
