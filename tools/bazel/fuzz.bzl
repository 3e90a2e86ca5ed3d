"""fuzz_target: a libFuzzer program, and a test that replays its corpus."""

def fuzz_target(name, srcs, deps = [], corpus = [], copts = [], **kwargs):
    """NAME is the libFuzzer program (--config=fuzz); NAME_replay runs the corpus.

    `tools/dev fuzz` finds the programs by their tag. A replay fails if one input
    takes more than a second of CPU time."""
    native.cc_library(
        name = name + "_lib",
        testonly = True,
        srcs = srcs,
        copts = copts,
        alwayslink = True,
        deps = deps,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"],
        tags = [
            "fuzz",
            "manual",
        ],
        deps = [":" + name + "_lib"],
    )
    native.cc_test(
        name = name + "_replay",
        size = "small",
        srcs = ["//tests/fuzz:replay_main.cc"],
        args = ["$(location %s)" % c for c in corpus],
        data = corpus,
        deps = [":" + name + "_lib"],
        **kwargs
    )
