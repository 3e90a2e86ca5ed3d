load("//tools/bazel:embed.bzl", "embed_blob")

def web_assets(name, srcs, root, symbol, **kwargs):
    """Embeds srcs (paths below root/) in the program as one precompressed blob."""
    native.genrule(
        name = name + "_pack",
        srcs = srcs,
        outs = [name + ".pack"],
        tools = ["//tools/assets:asset_pack"],
        cmd = "$(location //tools/assets:asset_pack) {} $@ $(SRCS)".format(root),
    )
    embed_blob(name = name, src = name + ".pack", symbol = symbol, **kwargs)
