"""Refuses Bazel versions that the build files were not written for."""

def check_bazel_version():
    """Fails unless Bazel's major version is 4 to 7.

    Debian's Bazel 4 reports no version, so an empty one passes.
    """
    version = native.bazel_version
    if not version:
        return
    major = int(version.split(".")[0])
    if major < 4 or major > 7:
        fail("graphdbg builds with Bazel 4 to 7, but this is Bazel {}. ".format(version) +
             "On Debian and Ubuntu, tools/dev setup installs the right one (package bazel-bootstrap).")
