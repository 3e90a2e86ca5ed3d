#ifndef AGENT_ADAPTERS_PYTORCH_HOOKS_OWNED_H_
#define AGENT_ADAPTERS_PYTORCH_HOOKS_OWNED_H_

#include <utility>

#include "agent/adapters/pytorch/hooks/python_api.h"

namespace graphdbg::hooks {

// A reference to a Python object, or none. Requires the interpreter's lock.
class Owned {
 public:
  Owned() = default;
  // Takes over a reference.
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool is_none() const { return object_ == Py_None; }

 private:
  PyObject* object_ = nullptr;
};

// Another reference to an object, which may be null.
inline Owned Share(PyObject* object) {
  Py_XINCREF(object);
  return Owned(object);
}

}  // namespace graphdbg::hooks

#endif  // AGENT_ADAPTERS_PYTORCH_HOOKS_OWNED_H_
