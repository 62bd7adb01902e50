#!/bin/sh
# check-symbols.sh MODULE.so
#
# A module is linked without --no-undefined, because nginx provides its symbols at load time. So what
# it may leave undefined and what it may export is checked here against lists.
set -eu

module=$1
allowed=$(dirname "$0")/symbols.allow
status=0

# Apart from the pipes, which would take a file that nm cannot read for one without symbols.
all_undefined=$(nm -D --undefined-only "$module")
all_defined=$(nm -D --defined-only "$module")

# Versioned symbols come from libraries the module names; of the rest only listed ones are allowed.
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
