"""C++ protobuf and gRPC code generation with the system's protoc.

    cc_proto(name = "x_proto", srcs = ["x.proto"], deps = [...])              # messages
    cc_proto(name = "y_proto", srcs = ["y.proto"], grpc = True, deps = [...]) # + service stubs

Imports and includes are spelled from the workspace root: import
"proto/graphdbg/v1/x.proto", #include "proto/graphdbg/v1/x.pb.h". Each also gives
NAME_pic, the same generated code against the rebuilt position independent
protobuf and gRPC, for the agent's shared object (see agent_library.bzl).
"""

load(":pic_library.bzl", "HIDDEN", "pic_library")

ProtoSourcesInfo = provider(fields = ["sources"])

def _gen_impl(ctx):
    direct = ctx.files.srcs
    transitive = depset(direct, transitive = [d[ProtoSourcesInfo].sources for d in ctx.attr.deps])
    exts = [".pb"] + ([".grpc.pb"] if ctx.attr.grpc else [])
    hdrs, srcs = [], []
    for src in direct:
        base = src.basename[:-len(".proto")]
        for ext in exts:
            hdrs.append(ctx.actions.declare_file(base + ext + ".h", sibling = src))
            srcs.append(ctx.actions.declare_file(base + ext + ".cc", sibling = src))
    args = ctx.actions.args()
    args.add("-I.")
    args.add(ctx.bin_dir.path, format = "--cpp_out=%s")
    if ctx.attr.grpc:
        args.add(ctx.bin_dir.path, format = "--grpc_out=%s")
        args.add("--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin")
    args.add_all(direct)
    ctx.actions.run(
        executable = "/usr/bin/protoc",
        arguments = [args],
        inputs = depset(ctx.files._version, transitive = [transitive]),
        outputs = hdrs + srcs,
        mnemonic = "ProtocCc",
        progress_message = "protoc " + str(ctx.label),
    )
    return [
        DefaultInfo(files = depset(hdrs + srcs)),
        OutputGroupInfo(hdrs = depset(hdrs), srcs = depset(srcs)),
        ProtoSourcesInfo(sources = transitive),
    ]

_gen = rule(
    implementation = _gen_impl,
    output_to_genfiles = False,
    attrs = {
        "srcs": attr.label_list(allow_files = [".proto"], mandatory = True),
        "deps": attr.label_list(providers = [ProtoSourcesInfo]),
        "grpc": attr.bool(),
        "_version": attr.label_list(
            default = ["@com_google_protobuf//:system_version.h", "@com_github_grpc_grpc//:system_version.h"],
            allow_files = True,
        ),
    },
)

def cc_proto(name, srcs, deps = [], grpc = False, **kwargs):
    _gen(name = name + "_gen", srcs = srcs, deps = [d + "_gen" for d in deps], grpc = grpc)
    native.filegroup(name = name + "_hdrs", srcs = [name + "_gen"], output_group = "hdrs")
    native.filegroup(name = name + "_srcs", srcs = [name + "_gen"], output_group = "srcs")
    native.cc_library(
        name = name,
        hdrs = [name + "_hdrs"],
        srcs = [name + "_srcs"],
        copts = ["-w"],
        deps = deps + (["@com_github_grpc_grpc//:grpc++"] if grpc else ["@com_google_protobuf//:protobuf"]),
        **kwargs
    )
    pic_library(
        name = name,
        hdrs = [name + "_hdrs"],
        srcs = [name + "_srcs"],
        copts = ["-w"] + HIDDEN,
        deps = [d + "_pic" for d in deps] + ["@protobuf_src//:agent_runtime"] + (["@com_github_grpc_grpc//:grpc++_pic"] if grpc else []),
        **kwargs
    )
