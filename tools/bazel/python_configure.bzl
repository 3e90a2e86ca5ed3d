"""@local_python: headers of the versions of Python and PyTorch that the adapter supports.

Uses the virtual environment in <workspace>/.venv, which tools/dev setup creates,
and the system's /usr/bin/python3 (Debian's python3-torch and libtorch-dev). Always
defines a valid repository:
  //:python        Python.h of the first of them that has it
  //:torch-<v>     C++ headers and libraries of each PyTorch, by minor version
  //:defs.bzl      HAS_PYTHON, TORCH_VERSIONS, TORCH_LIBS (directories)
"""

_PROBE = """
import json, os, sys, sysconfig
include = sysconfig.get_path("include")
info = dict(python=include, torch="", version="")
if not os.path.exists(os.path.join(include, "Python.h")):
    info["python"] = ""
for place in sys.path:
    root = os.path.join(place, "torch")
    if os.path.exists(os.path.join(root, "include", "ATen", "record_function.h")):
        scope = {}
        exec(open(os.path.join(root, "version.py")).read().split("try:")[0], scope)
        info["torch"] = root
        info["build"] = str(scope["__version__"])
        info["version"] = ".".join(info["build"].split(".")[:2])
        break
print(json.dumps(info))
"""

# Directories are single inputs: symbolic links for thousands of headers would add
# seconds to every compilation.
_PYTHON = """
cc_library(
    name = "python",
    hdrs = ["python_include"],
    includes = ["python_include"],
)
"""

_TORCH = """
cc_library(
    name = "torch-{version}",
    hdrs = ["torch-{version}_include/" + d for d in {directories}],
    defines = ["LOCAL_TORCH={stamp}"],
    includes = ["torch-{version}_include", "torch-{version}_include/torch/csrc/api/include"],
    linkopts = ["-L{root}/lib", "-ltorch_cpu", "-lc10"],
)
"""

# The oldest version that the adapter supports.
_OLDEST = (1, 13)

def _probe(rctx, python):
    if not rctx.path(python).exists:
        return None
    r = rctx.execute([python, "-I", "-c", _PROBE])
    if r.return_code != 0:
        fail("cannot determine the configuration of {}:\n{}".format(python, r.stderr))
    return json.decode(r.stdout)

def _number(version):
    major, minor = version.split(".")
    return (int(major), int(minor))

def _add_torch(rctx, info):
    # Debian's include directory contains symbolic links, some of them broken.
    directories = [
        d
        for d in ["ATen", "c10", "caffe2", "torch"]
        if rctx.path(info["torch"] + "/include/" + d).exists
    ]
    include = "torch-{}_include/".format(info["version"])
    for d in directories:
        rctx.symlink(info["torch"] + "/include/" + d, include + d)
    return _TORCH.format(
        directories = repr(directories),
        root = info["torch"],
        stamp = hash(info["torch"] + info["build"]) & 0x7fffffff,
        version = info["version"],
    )

def _impl(rctx):
    root = rctx.path(rctx.attr._workspace).dirname
    has_python, torches = False, {}
    build = 'package(default_visibility = ["//visibility:public"])\n'
    for python in [str(root) + "/.venv/bin/python", "/usr/bin/python3"]:
        info = _probe(rctx, python)
        if not info:
            continue
        if info["python"] and not has_python:
            has_python = True
            rctx.symlink(info["python"], "python_include")
            build += _PYTHON
        version = info["version"]
        if version and version not in torches and _number(version) >= _OLDEST:
            torches[version] = info["torch"] + "/lib"
            build += _add_torch(rctx, info)
    rctx.file("BUILD.bazel", build)
    rctx.file("defs.bzl", "HAS_PYTHON = {}\nTORCH_VERSIONS = {}\nTORCH_LIBS = {}\n".format(
        has_python,
        repr(torches.keys()),
        repr(torches),
    ))

python_configure = repository_rule(
    implementation = _impl,
    attrs = {"_workspace": attr.label(default = "//:WORKSPACE")},
    local = True,
    configure = True,
)
