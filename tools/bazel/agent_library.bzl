"""agent_library: C++17 code that runs inside the training process.

    agent_library(name = "core", srcs, hdrs, deps = ["//agent/tensor"],
                  system_deps = ["absl", "protobuf", "grpc", "highway"])

builds the same sources twice:
  core      with the system's shared libraries, for tests and the server
  core_pic  with hidden symbols and position-independent rebuilds of those
            libraries, for the agent's self-contained shared object, which is
            optimized when it is linked
`deps` are agent_library or cc_proto targets; core_pic depends on their _pic
variants. In the demo, which runs where it is built, core_pic is core: Abseil,
gRPC's dependencies and Protocol Buffers need not be rebuilt.
"""

load(":lto.bzl", "LTO_COPTS")
load(":pic_library.bzl", "HIDDEN", "pic_library")

_SYSTEM = {
    "absl": "@com_google_absl//:absl",
    "grpc": "@com_github_grpc_grpc//:grpc++",
    "highway": "@highway//:highway",
    "json": "@nlohmann_json//:json",
    "protobuf": "@com_google_protobuf//:protobuf",
    "re2": "@re2//:re2",
}

_REBUILT = {
    "absl": "@abseil_src//:absl",
    "grpc": "@com_github_grpc_grpc//:grpc++_pic",
    "highway": "@highway_src//:highway",
    "json": "@nlohmann_json//:json",
    "protobuf": "@protobuf_src//:agent_runtime",
    "re2": "@re2_src//:re2",
}

# Overrides the -std of .bazelrc, because the last one takes effect.
CXX17 = ["-std=c++17"]

def _pic(label):
    if ":" in label:
        return label + "_pic"
    return "{}:{}_pic".format(label, label.split("/")[-1])

def agent_library(name, srcs = [], hdrs = [], deps = [], system_deps = [], copts = [], **kwargs):
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = CXX17 + copts,
        deps = deps + [_SYSTEM[d] for d in system_deps],
        **kwargs
    )
    pic_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = CXX17 + HIDDEN + LTO_COPTS + copts,
        deps = [_pic(d) for d in deps] + [_REBUILT[d] for d in system_deps],
        **kwargs
    )
