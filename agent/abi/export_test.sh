#!/bin/sh
# The shared object shows the functions of the public header and nothing else,
# and needs nothing but the C and C++ runtimes.
set -eu
library=$1
header=$2
failed=0

wanted=$(tr '\n' ' ' < "$header" | grep -o 'GRAPHDBG_EXPORT [^(;]*(' |
  sed 's/.*\(graphdbg_[a-z_]*\)($/\1/' | grep '^graphdbg_' | sort)
shown=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' |
  sed 's/@.*//' | sort)
if [ -z "$wanted" ] || [ "$wanted" != "$shown" ]; then
  printf 'exported:\n%s\ndeclared:\n%s\n' "$shown" "$wanted" >&2
  failed=1
fi

for needed in $(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
  case $needed in
    libstdc++.so.6 | libgcc_s.so.1 | libm.so.6 | libc.so.6 | ld-linux*) ;;
    *)
      echo "needs $needed" >&2
      failed=1
      ;;
  esac
done
exit $failed
