"""cuda_fatbin: compiles a .cu file to a fat binary and embeds it as a C symbol.

    cuda_fatbin(name = "kernels", srcs = ["kernels.cu"])
defines a cc_library with
    extern "C" const unsigned char kernels_fatbin[];
    extern "C" const unsigned long kernels_fatbin_size;   // 0 without a toolkit
No CUDA library is linked: the code is loaded by cuModuleLoadData of libcuda.so.1,
which is opened at run time.
"""

load("@local_cuda//:defs.bzl", "CUDA_HOME")
load("//tools/bazel:embed.bzl", "embed_blob")

# sm_80 runs on 8.x and sm_90 on 9.0; the driver compiles the PTX for newer devices.
_GENCODE = " ".join([
    "-gencode arch=compute_80,code=sm_80",
    "-gencode arch=compute_90,code=sm_90",
    "-gencode arch=compute_90,code=compute_90",
])

def cuda_fatbin(name, srcs, hdrs = [], copts = "-O3 -std=c++17 -Xfatbin -compress-all", **kwargs):
    if len(srcs) != 1:
        fail("cuda_fatbin takes exactly one .cu file")
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

    # The agent's shared library uses the same object.
    native.alias(name = name + "_pic", actual = ":" + name, **kwargs)
