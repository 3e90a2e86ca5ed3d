"""Repositories for libraries installed by the operating system.

system_library() defines an external repository with the upstream label names and
checks that the probe files exist (the error message names the Debian package). It
adds a hash of the package versions to `defines`, so that an upgrade recompiles the
library's users, although headers under /usr/include are not declared inputs. (A
stamp header in `hdrs` is not sufficient: no source includes it, and Bazel removes
inputs that the .d file does not name.)
"""

def _impl(rctx):
    missing = [p for p in rctx.attr.probe if not rctx.path(p).exists]
    if missing:
        fail("@{}: {} not found; install: apt-get install {}".format(
            rctx.name,
            ", ".join(missing),
            " ".join(rctx.attr.packages),
        ))
    versions = "unknown"
    dpkg = rctx.which("dpkg-query")
    if dpkg:
        r = rctx.execute([dpkg, "-W", "-f", "${Package}=${Version};"] + rctx.attr.packages)
        if r.return_code == 0:
            versions = r.stdout
    rctx.file("system_version.h", "// {}\n".format(versions))
    for a in rctx.attr.archives:
        for d in ["/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib/"]:
            if rctx.path(d + a).exists:
                rctx.symlink(d + a, a)
                break
    stamp = "SYSTEM_{}={}".format(rctx.name.upper(), hash(versions) & 0x7fffffff)
    rctx.template("BUILD.bazel", rctx.attr.build_file, {"%{stamp}": stamp})

system_library = repository_rule(
    implementation = _impl,
    attrs = {
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "packages": attr.string_list(mandatory = True),
        "probe": attr.string_list(),
        "archives": attr.string_list(),
    },
    local = True,
    configure = True,
)
