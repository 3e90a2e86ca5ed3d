"""debian_source: the source package of an installed -dev package, fetched with apt-get.

The version equals that of the installed package, so headers, generated code and
the rebuilt archive are consistent; Debian's security patches are applied. Requires
dpkg-dev, and access to the apt mirror when the repository is first fetched (only if
a target that needs it is built). Uses its own lists directory, so it needs no root
privileges and does not change the system's apt configuration.
"""

_SCRIPT = """set -e
mkdir -p lists/partial parts
for f in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do [ -f $f ] && sed 's/^Types:.*/Types: deb-src/' $f > parts/${f##*/}; done
if [ -s /etc/apt/sources.list ]; then grep -h '^deb ' /etc/apt/sources.list | sed 's/^deb /deb-src /' > parts/debian.list; fi
O="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$PWD/parts -o Dir::State::Lists=$PWD/lists -o APT::Sandbox::User= -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache="
apt-get $O -qq update
apt-get $O -qq --download-only source $1=$2
dpkg-source --no-check -x *.dsc src >/dev/null
find src -regex ".*/BUILD" -delete; find src -name "BUILD.bazel" -delete; find src -name "WORKSPACE*" -delete
rm -rf lists parts *.tar.* *.dsc
"""

def _impl(rctx):
    q = rctx.execute(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", rctx.attr.dev_package])
    if q.return_code != 0:
        fail("package {0} is not installed; run: apt-get install {0}".format(rctx.attr.dev_package))
    pkg, version = q.stdout.split(" ")
    rctx.file("fetch.sh", _SCRIPT)
    r = rctx.execute(["sh", "fetch.sh", pkg, version], timeout = 600)
    if r.return_code != 0:
        fail("apt-get source {}={} failed:\n{}".format(pkg, version, r.stderr))
    rctx.template("BUILD.bazel", rctx.attr.build_file, {})

debian_source = repository_rule(
    implementation = _impl,
    attrs = {"dev_package": attr.string(mandatory = True), "build_file": attr.label(mandatory = True)},
)
