"""@local_cuda: the CUDA toolkit, located when the repository is fetched.

Searches $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, then nvcc on PATH. Always
defines a valid repository:
  //:have_cuda       config_setting; disabled by --@local_cuda//:enabled=false
  //:headers         cuda.h and friends (headers only; nothing is linked)
  //:cudart_static   the static runtime (only for tools with <<<>>> launches)
  //:defs.bzl        CUDA_HOME, CUDA_VERSION
"""

_OFF = """package(default_visibility = ["//visibility:public"])
load("@{ws}//tools/bazel:flags.bzl", "bool_flag")
bool_flag(name = "enabled", build_setting_default = False)
config_setting(name = "have_cuda", flag_values = {{":enabled": "True"}})
cc_library(name = "headers")
cc_library(name = "cudart_static")
exports_files(["version.txt"])
"""

_ON = """package(default_visibility = ["//visibility:public"])
load("@{ws}//tools/bazel:flags.bzl", "bool_flag")
bool_flag(name = "enabled", build_setting_default = True)
config_setting(name = "have_cuda", flag_values = {{":enabled": "True"}})
cc_library(name = "headers", hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/*"]), includes = ["include"])
cc_library(name = "cudart_static", linkopts = ["{home}/lib64/libcudart_static.a", "-ldl", "-lrt", "-lpthread"], deps = [":headers"])
exports_files(["version.txt"])
"""

def _impl(rctx):
    home = None
    for cand in [rctx.os.environ.get("CUDA_HOME"), rctx.os.environ.get("CUDA_PATH"), "/usr/local/cuda"]:
        if cand and rctx.path(cand + "/bin/nvcc").exists:
            home = cand
            break
    if not home:
        nvcc = rctx.which("nvcc")
        if nvcc:
            home = str(nvcc.dirname.dirname)
    version = ""
    if home and rctx.os.environ.get("GRAPHDBG_NO_CUDA") != "1":
        r = rctx.execute([home + "/bin/nvcc", "--version"])
        if r.return_code == 0:
            for line in r.stdout.splitlines():
                if "release" in line:
                    version = line.split("release ")[1].split(",")[0]
    ok = version != ""
    rctx.file("version.txt", version + "\n")
    rctx.file("defs.bzl", "CUDA_HOME = {}\nCUDA_VERSION = {}\n".format(repr(home if ok else ""), repr(version)))
    rctx.file("BUILD.bazel", (_ON if ok else _OFF).format(ws = rctx.attr.main, home = home))
    if ok:
        rctx.symlink(home + "/include", "include")

cuda_configure = repository_rule(
    implementation = _impl,
    attrs = {"main": attr.string(mandatory = True)},
    environ = ["CUDA_HOME", "CUDA_PATH", "PATH", "GRAPHDBG_NO_CUDA"],
    local = True,
    configure = True,
)
