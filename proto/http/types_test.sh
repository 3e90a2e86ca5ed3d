#!/bin/sh
# usage: types_test.sh TYPESCRIPT_PY OPENAPI_YAML TYPES_TS
exec /usr/bin/python3 -I "$@"
