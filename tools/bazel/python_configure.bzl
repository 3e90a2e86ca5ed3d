"""@local_python: headers of the project's Python and of its PyTorch.

Reads the virtual environment in <workspace>/.venv (tools/dev setup makes it).
Always makes a valid repository:
  //:have_torch   config_setting: there is a PyTorch to compile against
  //:headers      Python.h
  //:torch        PyTorch's C++ headers and libraries (nothing without torch)
  //:defs.bzl     TORCH_VERSION, TORCH_LIB, PYTHON_TAG
"""

_PROBE = """
import json, os, sysconfig
info = dict(include=sysconfig.get_path("include"), tag=sysconfig.get_config_var("SOABI"), torch="", version="", abi=1)
site = sysconfig.get_path("purelib")
root = os.path.join(site, "torch")
if os.path.exists(os.path.join(root, "include", "ATen", "record_function.h")):
    info["torch"] = root
    scope = {}
    exec(open(os.path.join(root, "version.py")).read().split("try:")[0], scope)
    info["version"] = str(scope["__version__"])
print(json.dumps(info))
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])
load("@graphdbg//tools/bazel:flags.bzl", "bool_flag")
bool_flag(name = "torch_found", build_setting_default = {have})
config_setting(name = "have_torch", flag_values = {{":torch_found": "True"}})
exports_files(["versions.txt"])
cc_library(
    name = "headers",
    # A directory as one input: a link for each of its thousands of headers
    # would cost every compilation seconds.
    hdrs = [{python_headers}],
    defines = ["{stamp}"],
    includes = ["python_include"],
)
cc_library(
    name = "torch",
    hdrs = [{torch_headers}],
    defines = ["{stamp}"],
    includes = ["torch_include", "torch_include/torch/csrc/api/include"],
    linkopts = [{linkopts}],
    deps = [":headers"],
)
"""

def _impl(rctx):
    root = rctx.path(rctx.attr._workspace).dirname
    python = str(root) + "/.venv/bin/python"
    include, tag, torch, version = "", "", "", ""
    if rctx.path(python).exists:
        r = rctx.execute([python, "-I", "-c", _PROBE])
        if r.return_code != 0:
            fail("cannot ask .venv/bin/python about itself:\n" + r.stderr)
        info = json.decode(r.stdout)
        include, tag, torch, version = info["include"], info["tag"], info["torch"], info["version"]
    if include:
        rctx.symlink(include, "python_include")
    linkopts = ""
    if torch:
        rctx.symlink(torch + "/include", "torch_include")
        linkopts = '"-L{}/lib", "-ltorch_cpu", "-lc10"'.format(torch)
    versions = "python {} torch {}".format(tag, version)
    rctx.file("versions.txt", versions + "\n")
    rctx.file("defs.bzl", "TORCH_VERSION = {}\nTORCH_LIB = {}\nPYTHON_TAG = {}\n".format(
        repr(version),
        repr(torch + "/lib" if torch else ""),
        repr(tag),
    ))
    rctx.file("BUILD.bazel", _BUILD.format(
        have = "True" if torch else "False",
        linkopts = linkopts,
        python_headers = '"python_include"' if include else "",
        torch_headers = '"torch_include"' if torch else "",
        stamp = "LOCAL_PYTHON={}".format(hash(versions) & 0x7fffffff),
    ))

python_configure = repository_rule(
    implementation = _impl,
    attrs = {"_workspace": attr.label(default = "//:WORKSPACE")},
    local = True,
    configure = True,
)
