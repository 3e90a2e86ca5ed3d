"""Which Debian packages stand behind each external repository."""

load("//tools/bazel:system_library.bzl", "system_library")

def _lib(name, packages, probe, archives = []):
    system_library(
        name = name,
        archives = archives,
        build_file = "//third_party/system:{}.BUILD".format(name),
        packages = packages,
        probe = ["/usr/include/" + p if not p.startswith("/") else p for p in probe],
    )

def system_packages():
    """Declares every library that the operating system provides."""
    _lib("com_google_protobuf", ["libprotobuf-dev", "protobuf-compiler"], ["google/protobuf/message.h", "/usr/bin/protoc"])
    _lib(
        "com_github_grpc_grpc",
        ["libgrpc++-dev", "libgrpc-dev", "protobuf-compiler-grpc", "libabsl-dev"],
        ["grpcpp/grpcpp.h", "/usr/bin/grpc_cpp_plugin"],
        archives = ["libgrpc++.a", "libgrpc.a", "libgpr.a", "libupb.a", "libaddress_sorting.a", "libcares.a", "libssl.a", "libcrypto.a", "libz.a"],
    )
    _lib("com_google_absl", ["libabsl-dev"], ["absl/base/config.h"])
    _lib("com_google_googletest", ["libgtest-dev", "libgmock-dev"], ["gtest/gtest.h", "gmock/gmock.h"])
    _lib("com_github_google_benchmark", ["libbenchmark-dev"], ["benchmark/benchmark.h"])
    _lib("boost", ["libboost1.81-dev", "libssl-dev"], ["boost/beast.hpp", "boost/url/src.hpp"])
    _lib("nlohmann_json", ["nlohmann-json3-dev"], ["nlohmann/json.hpp"])
    _lib("onnx", ["libonnx-dev"], ["onnx/checker.h"])
    _lib("highway", ["libhwy-dev"], ["hwy/highway.h"])
    _lib("cli11", ["libcli11-dev"], ["CLI/CLI.hpp"])
    _lib("re2", ["libre2-dev"], ["re2/re2.h"], archives = ["libre2.a"])
    _lib("sqlite3", ["libsqlite3-dev"], ["sqlite3.h"])
    _lib("openssl", ["libssl-dev"], ["openssl/rand.h"])
    _lib("brotli", ["libbrotli-dev"], ["brotli/encode.h"])
    _lib("zlib", ["zlib1g-dev"], ["zlib.h"])
