"""embed_blob: put one file in the program as  extern "C" const unsigned char SYM[]; const uint64 SYM_size.

The object is assembled inside the genrule, not by a cc_library compiling a .S:
.incbin leaves no trace in the compiler's .d file, so Bazel would prune the blob
from that action's inputs and go on linking the old bytes after it changed.
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
