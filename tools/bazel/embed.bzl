"""embed_blob: embeds a file in the program as  extern "C" const unsigned char SYM[]; const uint64 SYM_size.

The genrule assembles the object, instead of a cc_library that compiles a .S file:
.incbin is not recorded in the compiler's .d file, so Bazel would remove the blob
from the inputs of that action and continue to link the old bytes after a change.
"""

def embed_blob(name, src, symbol, align = 16, **kwargs):
    native.genrule(
        name = name + "_obj",
        srcs = [src],
        outs = [name + ".o"],
        toolchains = ["@bazel_tools//tools/cpp:current_cc_toolchain"],
        cmd = """cat > $(@D)/{name}.tmp.s <<'EOT'
    .section .rodata.{s},"a",@progbits
    .balign {align}
    .globl {s}
    .type {s}, @object
{s}:
    .incbin "$(location {src})"
1:  .byte 0
    .size {s}, . - {s}
    .balign 8
    .globl {s}_size
    .type {s}_size, @object
{s}_size:
    .quad 1b - {s}
    .size {s}_size, 8
    .section .note.GNU-stack,"",@progbits
EOT
$(CC) -c $(@D)/{name}.tmp.s -o $@ && rm -f $(@D)/{name}.tmp.s""".format(name = name, s = symbol, src = src, align = align),
    )
    native.cc_library(name = name, srcs = [name + ".o"], linkstatic = True, **kwargs)
