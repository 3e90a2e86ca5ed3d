"""pic_library: the variant of a library that the agent's shared object contains."""

HIDDEN = [
    "-O2",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffunction-sections",
    "-fdata-sections",
]

def pic_library(name, visibility = None, **kwargs):
    """A cc_library named NAME_pic, which is NAME itself in the demo."""
    native.cc_library(
        name = name + "_hidden",
        linkstatic = True,
        tags = ["manual"],
        visibility = visibility,
        **kwargs
    )
    native.alias(
        name = name + "_pic",
        actual = select({
            "//tools/bazel:demo": ":" + name,
            "//conditions:default": ":" + name + "_hidden",
        }),
        tags = ["manual"],
        visibility = visibility,
    )
