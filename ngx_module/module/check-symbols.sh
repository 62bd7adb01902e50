#!/bin/sh
# check-symbols.sh MODULE.so
#
# The module is linked without --no-undefined, because nginx provides its symbols at load time. This
# script therefore checks its undefined and exported symbols against lists.
set -eu

module=$1
allowed=$(dirname "$0")/symbols.allow
status=0

# Separate commands, not part of the pipes: a failure of nm would otherwise look like a file without
# symbols.
all_undefined=$(nm -D --undefined-only "$module")
all_defined=$(nm -D --defined-only "$module")

# Versioned symbols come from libraries that the module links to. Other undefined symbols must be
# listed.
undefined=$(echo "$all_undefined" | awk '$1 != "w" {print $NF}' | grep -v '@' |
            grep -Ev -f "$allowed" || true)
if [ -n "$undefined" ]; then
    echo "undefined symbols that $allowed does not list:" >&2
    echo "$undefined" >&2
    status=1
fi

exported=$(echo "$all_defined" | awk '{print $NF}' |
           grep -Ev '^(ngx_modules|ngx_module_names|ngx_module_order)$' |
           grep -Ev '^(_Zn[wa]m|_Zd[la]Pv)' |
           grep -Ev '^_Z(N|NK|TIN|TSN|TVN|TTN|GVN|Thn[0-9]+_N)11agent_graph' || true)
if [ -n "$exported" ]; then
    echo "exported symbols that are neither nginx's tables nor the SDK nor operators new and delete:" >&2
    echo "$exported" >&2
    status=1
fi
exit $status
