#!/bin/sh
# Checks that the shared object exports the functions of the public header and
# nothing else, and depends only on the C and C++ runtimes.
set -eu
library=$1
header=$2
failed=0

declared=$(tr '\n' ' ' < "$header" | grep -o 'GRAPHDBG_EXPORT [^(;]*(' |
  sed 's/.*\(graphdbg_[a-z_]*\)($/\1/' | grep '^graphdbg_' | sort)
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' |
  sed 's/@.*//' | sort)
if [ -z "$declared" ] || [ "$declared" != "$exported" ]; then
  printf 'exported:\n%s\ndeclared:\n%s\n' "$exported" "$declared" >&2
  failed=1
fi

for needed in $(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'); do
  case $needed in
    libstdc++.so.6 | libgcc_s.so.1 | libm.so.6 | libc.so.6 | ld-linux*) ;;
    *)
      echo "depends on $needed" >&2
      failed=1
      ;;
  esac
done
exit $failed
