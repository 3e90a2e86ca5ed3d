"""Link-time optimization, for shared objects whose speed counts for each op.

Functions are inlined across files, so that less code is loaded between two ops of the
program, which is most of what debugging costs on short steps (agent/docs/overhead.md).
"""

LTO_COPTS = ["-flto"]

# GNU ld, because gold lists hidden thread-local variables in .dynsym, and lld does not
# read what GCC writes. The warning is false: GCC takes null pointers that it cannot rule
# out for regions of size 0 (its bug 99578).
LTO_LINKOPTS = ["-fuse-ld=bfd", "-flto=auto", "-O2", "-Wno-stringop-overflow"]

# Bazel otherwise passes --start-lib, which GNU ld does not know.
LTO_FEATURES = ["-supports_start_end_lib"]
