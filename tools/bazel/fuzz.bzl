def fuzz_target(name, srcs, deps = [], corpus = [], **kwargs):
    """A libFuzzer binary under --config=fuzz; otherwise a test that replays the corpus."""
    native.cc_library(name = name + "_lib", srcs = srcs, deps = deps, alwayslink = True, testonly = True)
    native.cc_binary(name = name, deps = [":" + name + "_lib"], linkopts = ["-fsanitize=fuzzer"], testonly = True, tags = ["manual"])
    native.cc_test(name = name + "_replay", srcs = ["//tests/fuzz:replay_main.cc"], deps = [":" + name + "_lib"], data = corpus, args = ["$(locations %s)" % c for c in corpus], size = "small", **kwargs)
