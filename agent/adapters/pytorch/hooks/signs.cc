#include "agent/adapters/pytorch/hooks/signs.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "agent/adapters/pytorch/hooks/owned.h"

namespace graphdbg::hooks {
namespace {

// Changes of a learning rate by less than this factor are those of a schedule.
constexpr double kFactor = 4;

// The attributes that are read.
struct Names {
  PyObject* param_groups = PyUnicode_InternFromString("param_groups");
  PyObject* params = PyUnicode_InternFromString("params");
  PyObject* lr = PyUnicode_InternFromString("lr");
  PyObject* grad = PyUnicode_InternFromString("grad");
  PyObject* is_leaf = PyUnicode_InternFromString("is_leaf");
  PyObject* version = PyUnicode_InternFromString("_version");
  PyObject* training = PyUnicode_InternFromString("training");
};

const Names& Name() {
  static const Names* const names = new Names;
  return *names;
}

// The learning rates of an optimizer that are numbers.
struct Rates {
  Py_ssize_t negative = 0, zero = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = 0;

  void Add(double rate) {
    negative += rate < 0;
    zero += rate == 0;
    if (!(rate > 0)) return;
    lowest = std::min(lowest, rate);
    highest = std::max(highest, rate);
  }
};

// An optimizer's parameters at one time.
struct Parameters {
  Py_ssize_t count = 0;
  // How many have no gradient.
  Py_ssize_t missing = 0;
  // The first one that has a gradient, and this gradient.
  Owned first, gradient;
};

// The state of an optimizer in its last step.
struct Seen {
  // A weak reference.
  Owned optimizer;
  Py_ssize_t count = 0, missing = 0;
  // The models that were known, by `Signs::models`, and whether they were in
  // training mode; weak references.
  uint64_t models = 0;
  std::vector<std::pair<Owned, bool>> modes;
  // Positive rates were between these.
  Rates rates{0, 0, 0, 0};
  // A parameter whose gradient stands for all, as a weak reference, and the
  // version of this gradient, unless a backward pass has begun since.
  Owned probe;
  bool has_version = false;
  long version = 0;
  // The first backward pass after a step has found the same version.
  bool keeps_gradients = true;
};

// Python code that runs while an attribute is read may change all of this, so
// that nothing below keeps an iterator or a plain pointer meanwhile.
struct Signs {
  std::vector<std::shared_ptr<Seen>> optimizers;
  // Weak references, and how often they have been replaced.
  std::vector<Owned> followed;
  uint64_t models = 1;
  // The last backward pass began at a tensor without history.
  bool detached = false;
  bool kept = false;
};

Signs& All() {
  static Signs* const signs = new Signs;
  return *signs;
}

// The object of a weak reference; null if there is none any more.
Owned Target(const Owned& reference) {
  if (!reference) return Owned();
  PyObject* const object = PyWeakref_GetObject(reference.get());
  return object == Py_None ? Owned() : Share(object);
}

// The gradient of a parameter, null if it has none. Returns false with an
// exception set if it cannot be read.
bool GradientOf(const Owned& parameter, Owned* gradient) {
  if (!parameter) return true;
  Owned found(PyObject_GetAttr(parameter.get(), Name().grad));
  if (!found) return false;
  if (!found.is_none()) *gradient = std::move(found);
  return true;
}

bool VersionOf(const Owned& tensor, long* version) {
  const Owned value(PyObject_GetAttr(tensor.get(), Name().version));
  if (!value) return false;
  *version = PyLong_AsLong(value.get());
  return *version != -1 || PyErr_Occurred() == nullptr;
}

// Returns an item of a dict; null with an exception set if there is none, or if
// it is not a list.
Owned ListIn(PyObject* dict, PyObject* key) {
  PyObject* const list =
      PyDict_Check(dict) ? PyDict_GetItemWithError(dict, key) : nullptr;
  if (list != nullptr && PyList_Check(list)) return Share(list);
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_TypeError, "an optimizer's group has no parameters");
  }
  return Owned();
}

bool AddParameters(PyObject* group, Parameters* all) {
  const Owned parameters = ListIn(group, Name().params);
  if (!parameters) return false;
  for (Py_ssize_t i = 0; i < PyList_Size(parameters.get()); ++i) {
    Owned parameter = Share(PyList_GetItem(parameters.get(), i));
    Owned gradient;
    if (!GradientOf(parameter, &gradient)) return false;
    ++all->count;
    if (!gradient) {
      ++all->missing;
    } else if (!all->first) {
      all->first = std::move(parameter);
      all->gradient = std::move(gradient);
    }
  }
  return true;
}

// Other rates, such as tensors, may take time to read.
bool AddRate(PyObject* group, Rates* rates) {
  PyObject* const rate = PyDict_GetItemWithError(group, Name().lr);
  if (rate == nullptr) return PyErr_Occurred() == nullptr;
  if (!PyFloat_Check(rate) && !PyLong_Check(rate)) return true;
  const double value = PyFloat_AsDouble(rate);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  rates->Add(value);
  return true;
}

bool ReadOptimizer(PyObject* optimizer, Parameters* parameters, Rates* rates) {
  const Owned groups(PyObject_GetAttr(optimizer, Name().param_groups));
  if (!groups) return false;
  if (!PyList_Check(groups.get())) {
    PyErr_SetString(PyExc_TypeError, "an optimizer's groups are not a list");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(groups.get()); ++i) {
    const Owned group = Share(PyList_GetItem(groups.get(), i));
    if (!AddParameters(group.get(), parameters) ||
        !AddRate(group.get(), rates)) {
      return false;
    }
  }
  return true;
}

// Whether a model is in training mode; one without modes is not.
bool ReadMode(PyObject* model, bool* training) {
  const Owned value(PyObject_GetAttr(model, Name().training));
  if (!value) return false;
  const int truth = PyObject_IsTrue(value.get());
  *training = truth == 1;
  return truth >= 0;
}

bool ReadModes(Seen* seen) {
  seen->modes.clear();
  seen->models = All().models;
  for (size_t i = 0; i < All().followed.size(); ++i) {
    Owned reference = Share(All().followed[i].get());
    const Owned model = Target(reference);
    bool training;
    if (!model) continue;
    if (!ReadMode(model.get(), &training)) return false;
    seen->modes.emplace_back(std::move(reference), training);
  }
  return true;
}

bool CompareModes(const Seen& seen, bool* changed) {
  for (size_t i = 0; i < seen.modes.size(); ++i) {
    const Owned model = Target(seen.modes[i].first);
    const bool was_training = seen.modes[i].second;
    bool training;
    if (!model) continue;
    if (!ReadMode(model.get(), &training)) return false;
    if (training != was_training) *changed = true;
  }
  return true;
}

bool HasNewRate(const Rates& rates, Rates* seen) {
  const bool has_positive = rates.highest > 0;
  const bool inside = !has_positive || (rates.lowest > seen->lowest &&
                                        rates.highest < seen->highest);
  if (inside && rates.negative == seen->negative && rates.zero == seen->zero) {
    return false;
  }
  seen->negative = rates.negative;
  seen->zero = rates.zero;
  if (has_positive) {
    seen->lowest = rates.lowest / kFactor;
    seen->highest = rates.highest * kFactor;
  }
  return true;
}

// Remembers the version of the probe's gradient, or of another one's.
bool RememberVersion(Parameters* parameters, Seen* seen) {
  const Owned probe = Target(seen->probe);
  Owned gradient;
  if (probe && probe.get() == parameters->first.get()) {
    gradient = std::move(parameters->gradient);
  } else if (!GradientOf(probe, &gradient)) {
    return false;
  }
  if (!gradient && parameters->first) {
    seen->probe =
        Owned(PyWeakref_NewRef(parameters->first.get(), /*callback=*/nullptr));
    if (!seen->probe) return false;
    gradient = std::move(parameters->gradient);
  }
  seen->has_version = static_cast<bool>(gradient);
  return !gradient || VersionOf(gradient, &seen->version);
}

// Returns the state of an optimizer; null with an exception set if it cannot be
// followed.
std::shared_ptr<Seen> Find(PyObject* optimizer, bool* is_new) {
  auto& optimizers = All().optimizers;
  *is_new = false;
  for (const auto& seen : optimizers) {
    if (PyWeakref_GetObject(seen->optimizer.get()) == optimizer) return seen;
  }
  *is_new = true;
  auto seen = std::make_shared<Seen>();
  seen->optimizer = Owned(PyWeakref_NewRef(optimizer, /*callback=*/nullptr));
  if (!seen->optimizer) return nullptr;
  optimizers.erase(std::remove_if(optimizers.begin(), optimizers.end(),
                                  [](const auto& old) {
                                    return PyWeakref_GetObject(
                                               old->optimizer.get()) == Py_None;
                                  }),
                   optimizers.end());
  optimizers.push_back(seen);
  return seen;
}

// Whether the first backward pass after a step accumulates to the gradients of
// that step, which the one before did not.
bool BeginsToKeepGradients(Seen* seen, bool* changed) {
  if (!seen->has_version) return true;
  Owned gradient;
  if (!GradientOf(Target(seen->probe), &gradient)) return false;
  bool keeps = false;
  if (gradient) {
    // Setting it to zero in place makes a new version.
    long version;
    if (!VersionOf(gradient, &version)) return false;
    keeps = version == seen->version;
  }
  if (keeps && !seen->keeps_gradients) *changed = true;
  seen->keeps_gradients = keeps;
  seen->has_version = false;
  return true;
}

// Whether a root has no history. An edge of autograd's graph, which may be a
// root, has one, and is no tensor.
bool IsDetached(PyObject* root) {
  const Owned leaf(PyObject_GetAttr(root, Name().is_leaf));
  if (!leaf) PyErr_Clear();
  return leaf.get() == Py_True;
}

PyObject* Answer(bool known, bool changed) {
  return known ? PyBool_FromLong(changed) : nullptr;
}

}  // namespace

bool SignBeforeStep(PyObject* optimizer, bool* changed) {
  *changed = false;
  bool is_new;
  const std::shared_ptr<Seen> seen = Find(optimizer, &is_new);
  Parameters parameters;
  Rates rates;
  if (seen == nullptr || !ReadOptimizer(optimizer, &parameters, &rates) ||
      !CompareModes(*seen, changed)) {
    return false;
  }
  if (parameters.count != seen->count || parameters.missing != seen->missing) {
    *changed = true;
  }
  seen->count = parameters.count;
  seen->missing = parameters.missing;
  if (HasNewRate(rates, &seen->rates)) *changed = true;
  if ((*changed || seen->models != All().models) && !ReadModes(seen.get())) {
    return false;
  }
  if (is_new) *changed = false;
  if (std::exchange(All().kept, false)) *changed = true;
  return RememberVersion(&parameters, seen.get());
}

bool SignBeforeBackward(PyObject* roots, bool* changed) {
  *changed = std::exchange(All().kept, false);
  bool detached = false;
  const Py_ssize_t count = PySequence_Size(roots);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Owned root(PySequence_GetItem(roots, i));
    if (!root) return false;
    if (IsDetached(root.get())) detached = true;
  }
  if (detached && !All().detached) *changed = true;
  All().detached = detached;
  for (size_t i = 0; i < All().optimizers.size(); ++i) {
    const std::shared_ptr<Seen> seen = All().optimizers[i];
    if (!BeginsToKeepGradients(seen.get(), changed)) return false;
  }
  return true;
}

void KeepSign() { All().kept = true; }

PyObject* ForgetSigns(PyObject*, PyObject*) {
  All() = Signs();
  Py_RETURN_NONE;
}

PyObject* FollowModes(PyObject*, PyObject* models) {
  if (!PyList_Check(models)) {
    PyErr_SetString(PyExc_TypeError, "a list is required");
    return nullptr;
  }
  std::vector<Owned> followed;
  for (Py_ssize_t i = 0; i < PyList_Size(models); ++i) {
    followed.emplace_back(
        PyWeakref_NewRef(PyList_GetItem(models, i), /*callback=*/nullptr));
    if (!followed.back()) return nullptr;
  }
  All().followed = std::move(followed);
  ++All().models;
  Py_RETURN_NONE;
}

PyObject* SignBeforeStepOf(PyObject*, PyObject* optimizer) {
  bool changed;
  const bool known = SignBeforeStep(optimizer, &changed);
  return Answer(known, changed);
}

PyObject* SignBeforeBackwardFrom(PyObject*, PyObject* roots) {
  bool changed;
  const bool known = SignBeforeBackward(roots, &changed);
  return Answer(known, changed);
}

}  // namespace graphdbg::hooks
