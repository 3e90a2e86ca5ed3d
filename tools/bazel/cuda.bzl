"""cuda_fatbin: compile .cu files to one fat binary and embed it as a C symbol.

    cuda_fatbin(name = "kernels", srcs = ["kernels.cu"])
gives a cc_library with
    extern "C" const unsigned char kernels_fatbin[];
    extern "C" const unsigned long kernels_fatbin_size;   // 0 without a toolkit
No CUDA library is linked: the code is loaded with cuModuleLoadData from a
libcuda.so.1 opened at run time.
"""

load("@local_cuda//:defs.bzl", "CUDA_HOME")
load("//tools/bazel:embed.bzl", "embed_blob")

# sm_80 serves 8.x, sm_90 serves 9.0, the PTX is compiled by the driver on anything newer.
_GENCODE = " ".join([
    "-gencode arch=compute_80,code=sm_80",
    "-gencode arch=compute_90,code=sm_90",
    "-gencode arch=compute_90,code=compute_90",
])

def cuda_fatbin(name, srcs, hdrs = [], copts = "-O3 -std=c++17 -Xfatbin -compress-all", **kwargs):
    if len(srcs) != 1:
        fail("one .cu per cuda_fatbin")
    native.genrule(
        name = name + "_fatbin_gen",
        srcs = srcs + hdrs + ["@local_cuda//:version.txt"],
        outs = [name + ".fatbin"],
        cmd = select({
            "@local_cuda//:have_cuda": "{home}/bin/nvcc -fatbin {gc} {copts} -I. -I$(GENDIR) $(location {src}) -o $@".format(
                home = CUDA_HOME,
                gc = _GENCODE,
                copts = copts,
                src = srcs[0],
            ),
            "//conditions:default": ": > $@",
        }),
        message = "nvcc -fatbin",
    )
    embed_blob(name = name, src = name + ".fatbin", symbol = name + "_fatbin", **kwargs)

    # The same object in the agent's shared library.
    native.alias(name = name + "_pic", actual = ":" + name, **kwargs)
