#include "agent/adapters/pytorch/hooks/source_stack.h"

#include <unistd.h>

#include <climits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace graphdbg::hooks {
namespace {

struct SourceFile {
  const char* path;
  bool user;
};

// Protected by the interpreter's lock. Strings are never freed, because frames
// refer to them; their number is limited by that of files and functions.
struct Table {
  std::vector<std::string> libraries;
  std::string directory;
  std::unordered_set<std::string> strings;
  // By co_filename.
  std::unordered_map<std::string, SourceFile> files;
};

Table& Strings() {
  static Table* const table = new Table;
  return *table;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

bool IsUserCode(const std::string& path) {
  // Code without a file is generated (<frozen importlib>, <eval_with_key>),
  // unless it was entered interactively.
  if (StartsWith(path, "<")) {
    return path == "<stdin>" || path == "<string>" || path == "<console>" ||
           StartsWith(path, "<ipython-input-");
  }
  if (path.find("/site-packages/") != std::string::npos ||
      path.find("/dist-packages/") != std::string::npos) {
    return false;
  }
  for (const std::string& library : Strings().libraries) {
    if (StartsWith(path, library)) return false;
  }
  return true;
}

std::string Absolute(const std::string& name) {
  if (name.empty() || name[0] == '/' || name[0] == '<') return name;
  return Strings().directory + '/' + name;
}

const char* Intern(const std::string& text) {
  return Strings().strings.insert(text).first->c_str();
}

const SourceFile& FileOf(const char* name) {
  const auto [entry, added] = Strings().files.try_emplace(name);
  if (added) {
    const std::string path = Absolute(name);
    entry->second = {Intern(path), IsUserCode(path)};
  }
  return entry->second;
}

// The text of an attribute of a code object, which has it as long as it lives.
const char* TextOf(PyObject* code, const char* attribute) {
  PyObject* const string = PyObject_GetAttrString(code, attribute);
  const char* const text =
      string == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(string, nullptr);
  Py_XDECREF(string);
  if (text != nullptr) return text;
  PyErr_Clear();
  return "?";
}

// From Python 3.11 on, with the names of classes and outer functions.
const char* FunctionName(PyObject* code) {
  static const bool is_qualified =
      PyObject_HasAttrString(code, "co_qualname") == 1;
  return TextOf(code, is_qualified ? "co_qualname" : "co_name");
}

void Describe(PyFrameObject* frame, graphdbg_source_frame* out) {
  PyObject* const code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
  const SourceFile& file = FileOf(TextOf(code, "co_filename"));
  const int line = PyFrame_GetLineNumber(frame);
  out->file = file.path;
  out->line = line > 0 ? static_cast<uint32_t>(line) : 0;
  out->function = Intern(FunctionName(code));
  out->user = file.user ? 1 : 0;
  Py_DECREF(code);
}

}  // namespace

void SetLibraryDirectories(PyObject* directories) {
  Table& table = Strings();
  char buffer[PATH_MAX];
  if (getcwd(buffer, sizeof(buffer)) != nullptr) table.directory = buffer;
  PyObject* const list = PySequence_List(directories);
  if (list == nullptr) return;
  table.libraries.clear();
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    const char* const directory =
        PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), nullptr);
    if (directory == nullptr) break;
    table.libraries.emplace_back(directory);
  }
  Py_DECREF(list);
}

size_t SourceStack(graphdbg_source_frame* out, size_t max) {
  if (!Py_IsInitialized()) return 0;
  const PyGILState_STATE gil = PyGILState_Ensure();
  // An op may run while C code propagates an exception.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  size_t depth = 0;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr && depth < max) {
    Describe(frame, &out[depth++]);
    PyFrameObject* const outer = Python().outer_frame(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(gil);
  return depth;
}

}  // namespace graphdbg::hooks
